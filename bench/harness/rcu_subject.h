/* SPDX-License-Identifier: MIT */
/*
 * The measured program of the RCU tables: the same source for each library, flavour and lock, of
 * which rcu_side.h shows one. It answers commands as subject.h's program does.
 */
#ifndef LULL_BENCH_RCU_SUBJECT_H
#define LULL_BENCH_RCU_SUBJECT_H

#include <stdint.h>

#include "subject.h"
#include "rcu_side.h"

/* A published object, on a cache line of its own: nobody shares it by accident. */
struct rcu_object {
	unsigned long live; /* 1 while published, 0 once reclaimed: readers sum it up */
} __attribute__((aligned(64)));

/* The object that readers read. Nothing else is on its line. */
struct rcu_shared {
	struct rcu_object *object;
} __attribute__((aligned(64)));

extern struct rcu_shared rcu_shared;

/* Where thread number @i of a sample runs: the CPUs this program may use, in turn. */
void rcu_subject_pin(unsigned int i);

/*
 * Turns of rcu_subject_spin() that take so many cycles of the counter. Turns and not time: a
 * thread that is not running is not getting on with its section either.
 */
uint64_t rcu_subject_turns(uint64_t cycles);

static inline void rcu_subject_spin(uint64_t turns)
{
	for (; turns; turns--)
		SUBJECT_OPAQUE(turns);
}

/* Each prints one answer line and returns 0, or -1 with a message on standard error. */
int rcu_answer_loop(const char *name, uint64_t count);
int rcu_answer_mix(const char *arguments);
int rcu_answer_latency(const char *arguments);
int rcu_answer_calls(const char *arguments);
int rcu_answer_rate(const char *arguments);

#endif
