/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Accesses to shared words for rcu's freestanding parts, each a step of the explorer.
 *
 * Stands in the place of rcu/include/lull/rcu/memory.h, which says what each name promises;
 * port/sched/rcu/rcu_port.c gives them to the explorer. What is here promises no more than the
 * weakest machine that memory.h is for: a full store is a release store and then a fence.
 * Each access names the function that makes it: so a seeded fault can weaken one barrier of a
 * public header, which has no LULL_MUTANT() of its own.
 */
#ifndef LULL_RCU_MEMORY_H
#define LULL_RCU_MEMORY_H

#include <stdint.h>

#define LULL_MEM_STORE_FULL_DIVISIBLE 1

unsigned long lull_mem_load(const unsigned long *p);
unsigned long lull_mem_load_acquire(const unsigned long *p);
void lull_mem_store(unsigned long *p, unsigned long v);
void lull_mem_fence(void);
unsigned long lull_mem_exchange(unsigned long *p, unsigned long v);
unsigned long lull_mem_cas(unsigned long *p, unsigned long expect, unsigned long desired);
unsigned long lull_mem_add(unsigned long *p, unsigned long v);
uint32_t lull_mem_load32(const uint32_t *p);
#define lull_mem_is_zero32(p) (lull_mem_load32(p) == 0)
void lull_mem_store32(uint32_t *p, uint32_t v);
uint32_t lull_mem_add32(uint32_t *p, uint32_t v);
uint32_t lull_mem_cas32(uint32_t *p, uint32_t expect, uint32_t desired);
unsigned long lull_mem_or(unsigned long *p, unsigned long bits);
void lull_mem_store64(uint64_t *p, uint64_t v);
uint32_t lull_mem_load32_acquire(const uint32_t *p);
void lull_mem_store32_release(uint32_t *p, uint32_t v);
void lull_mem_store32_full(uint32_t *p, uint32_t v);
/* Of the port's own: what is left of an access when models/barriers takes its order away. */
unsigned long lull_mem_exchange_relaxed(unsigned long *p, unsigned long v);
unsigned long lull_mem_cas_relaxed(unsigned long *p, unsigned long expect, unsigned long desired);
unsigned long lull_mem_add_relaxed(unsigned long *p, unsigned long v);
uint32_t lull_mem_add32_relaxed(uint32_t *p, uint32_t v);
uint32_t lull_mem_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired);
uint32_t lull_mem_exchange32_relaxed(uint32_t *p, uint32_t v);
unsigned long lull_mem_or_relaxed(unsigned long *p, unsigned long bits);
#define lull_mem_word(p) ((unsigned long *)(p))
#define lull_mem_load_pointer(p) ((__typeof__(*(p)))lull_mem_load(lull_mem_word(p)))
#define lull_mem_load_pointer_acquire(p) ((__typeof__(*(p)))lull_mem_load_acquire(lull_mem_word(p)))
#define lull_mem_store_pointer(p, v) lull_mem_store(lull_mem_word(p), (unsigned long)(v))
#define lull_mem_store_pointer_release(p, v) \
	lull_mem_store_release(lull_mem_word(p), (unsigned long)(v))
#define lull_mem_exchange_pointer_relaxed(p, v) \
	((__typeof__(*(p)))lull_mem_exchange_relaxed(lull_mem_word(p), (unsigned long)(v)))
#define lull_mem_cas_pointer_relaxed(p, expect, desired)                  \
	(lull_mem_cas_relaxed(lull_mem_word(p), (unsigned long)*(expect), \
			      (unsigned long)(desired)) == (unsigned long)*(expect))

void sched_mem_store_release(unsigned long *p, unsigned long v, const char *function);
void sched_mem_store_full(unsigned long *p, unsigned long v, const char *function);
void sched_mem_fence_light(const char *function);
#define lull_mem_store_release(p, v) sched_mem_store_release((p), (v), __func__)
/* Two steps: a handler may run in between. */
#define lull_mem_decrement_release(p) lull_mem_store_release((p), lull_mem_load(p) - 1)
#define lull_mem_store_full(p, v) sched_mem_store_full((p), (v), __func__)
#define lull_mem_fence_light() sched_mem_fence_light(__func__)

#endif
