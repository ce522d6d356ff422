/* SPDX-License-Identifier: MIT */
/*
 * A domain's grace periods: what grace.c works on, and what it asks of its host.
 *
 * grace.c is freestanding; the files of host/ give it threads, signals and system calls, and the
 * sched tests give it the explorer's. Paper: T 6.4.2-6.4.4.
 */
#ifndef LULL_RCU_GRACE_H
#define LULL_RCU_GRACE_H

#include <limits.h>
#include "lull/rcu/domain.h"
#include "rcu_port.h"

/*
 * How the counter names a grace period. With one bit, a grace period has two phases: else a
 * reader that is delayed between reading the counter and storing its word is passed over by
 * every second grace period (T 6.4.3). A number of 40 bits comes back after 2^40 grace periods, at
 * one per microsecond twelve days.
 */
#if ULONG_MAX > 0xffffffffUL && !defined(RCU_TWO_PHASES)
#define RCU_PERIOD_MASK (~RCU_NEST_MASK)
#define RCU_PHASES 1u
#else
#define RCU_PERIOD_MASK (1UL << RCU_NEST_BITS)
#define RCU_PHASES 2u
#endif

struct rcu_grace {
	struct rcu_domain *domain;
	struct lull_lock lock; /* over all below but the futex words */
	unsigned long seq; /* even: no grace period runs; also read without the lock */
	struct rcu_reader readers; /* list head: those the grace period need not wait for */
	struct rcu_reader pending; /* list head: those not yet seen outside old sections */
	unsigned long reader_count; /* in both lists */
	uint32_t phase; /* of the grace period that runs, from 0 */
	uint32_t driven; /* a thread waits for readers on behalf of all callers */
	uint32_t asleep; /* and sleeps */
	uint32_t sleepers; /* callers that wait for the driver */
	uint32_t left; /* futex: counts readers that left while waited for */
	uint32_t ended; /* futex: counts what sleepers wait for */
};

#define RCU_GRACE_INITIALIZER(g, d)                                            \
	{                                                                      \
		.domain = (d), .lock = LULL_LOCK_INITIALIZER,                  \
		.readers = { .next = &(g).readers, .previous = &(g).readers }, \
		.pending = { .next = &(g).pending, .previous = &(g).pending }, \
	}

/* Whether a sequence number has come to another; both wrap. */
static inline int rcu_seq_reached(unsigned long seq, unsigned long target)
{
	return (long)(seq - target) >= 0;
}

/* grace.c */
void rcu_grace_link(struct rcu_grace *grace, struct rcu_reader *reader, int online);
void rcu_grace_link_visitor(struct rcu_grace *grace, struct rcu_reader *reader);
void rcu_grace_unlink(struct rcu_grace *grace, struct rcu_reader *reader);
void rcu_grace_synchronize(struct rcu_grace *grace, int expedited);
unsigned long rcu_grace_start(struct rcu_grace *grace);
int rcu_grace_poll(struct rcu_grace *grace, unsigned long target);
void rcu_grace_keep_only(struct rcu_grace *grace, struct rcu_reader *reader);

/*
 * Asked of the host, with the lock held: every reader of the domain has executed a full barrier
 * at some point between the call and the return; the caller too, before and after.
 */
void rcu_grace_fence_heavy(struct rcu_grace *grace);

/*
 * Asked of the host: registers the calling thread in a domain for a while, if it is not registered.
 * Return: what to pass to rcu_visit_end(): not 0 if it was not.
 */
int rcu_visit_begin(struct rcu_domain *domain);
void rcu_visit_end(struct rcu_domain *domain, int visits);

#endif
