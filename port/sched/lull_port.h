/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sched port: what core and user ask of their surroundings, for exhaustive concurrency tests.
 *
 * Every access to shared memory hands control to the explorer, which runs the shipped core
 * sources through every interleaving and every store order that sched.h describes.
 * PORT.md lists each name's promise; memory.c gives each its meaning.
 * Paper: T 8.6.1 (what a model of the ring covers); docs/design/11-sched.md.
 */
#ifndef LULL_PORT_H
#define LULL_PORT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include "mutants.h"
#include "reservation.h"

/* A seeded fault, chosen when the test starts; mutants.h lists them. */
#define LULL_MUTANT(name) (sched_mutant == SCHED_MUTANT_##name)

uint64_t lull_load(const uint64_t *p);
uint64_t lull_load_acquire(const uint64_t *p);
void lull_store(uint64_t *p, uint64_t v);
void lull_store_release(uint64_t *p, uint64_t v);
uint32_t lull_load32(const uint32_t *p);
void lull_store32(uint32_t *p, uint32_t v);
uint32_t lull_load32_acquire(const uint32_t *p);
void lull_store32_release(uint32_t *p, uint32_t v);
void *lull_load_pointer(void *const *p);
void lull_store_pointer(void **p, void *v);
uint64_t lull_cas(uint64_t *p, uint64_t expect, uint64_t desired);
uint64_t lull_cas_relaxed(uint64_t *p, uint64_t expect, uint64_t desired);
uint32_t lull_cas32(uint32_t *p, uint32_t expect, uint32_t desired);
uint32_t lull_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired);
uint64_t lull_add(uint64_t *p, uint64_t v);
uint64_t lull_add_relaxed(uint64_t *p, uint64_t v);
uint32_t lull_add32_relaxed(uint32_t *p, uint32_t v);
void lull_copy(void *to, const void *from, size_t bytes);
void lull_zero(void *to, size_t bytes);
void lull_fetch(void *to, const void *from, size_t bytes);
int lull_equal(const void *shared, const void *own, size_t bytes);
void lull_barrier_light(void);
void lull_barrier_heavy(void);
int lull_publish(const struct lull_reservation *r);
int lull_publish_plain(const struct lull_reservation *r);
uint64_t lull_clock_cycles(void);
uint64_t lull_clock_cycles_ordered(void);
uint32_t lull_cpu(void);

static inline long lull_place(void)
{
	return 0;
}

void lull_port_stuck(void);

#endif
