/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port to the Linux kernel: what core asks of its surroundings, for lull.ko.
 *
 * Rings are written by one CPU each, with preemption disabled from reserve to commit. The
 * writers of a ring are then contexts that nest (thread, softirq, interrupt, NMI), so atomic
 * operations local to the CPU suffice: no lock prefix, no barrier on the writer's side.
 * PORT.md lists each name's promise. Paper: B 4.1 (local atomics), 4.4 (barrier promotion).
 */
#ifndef LULL_PORT_H
#define LULL_PORT_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/local.h>
#include "reservation.h"

#ifndef CONFIG_64BIT
#error "the ring's counters are 64 bits wide: this port needs a 64-bit kernel"
#endif

#define LULL_MUTANT(name) 0 /* only the sched port builds mutants */

static inline uint64_t lull_load(const uint64_t *p)
{
	return READ_ONCE(*p);
}

static inline uint64_t lull_load_acquire(const uint64_t *p)
{
	return smp_load_acquire(p);
}

static inline void lull_store(uint64_t *p, uint64_t v)
{
	WRITE_ONCE(*p, v);
}

static inline void lull_store_release(uint64_t *p, uint64_t v)
{
	smp_store_release(p, v);
}

static inline uint32_t lull_load32(const uint32_t *p)
{
	return READ_ONCE(*p);
}

static inline void lull_store32(uint32_t *p, uint32_t v)
{
	WRITE_ONCE(*p, v);
}

static inline uint32_t lull_load32_acquire(const uint32_t *p)
{
	return smp_load_acquire(p);
}

static inline void lull_store32_release(uint32_t *p, uint32_t v)
{
	smp_store_release(p, v);
}

static inline void *lull_load_pointer(void *const *p)
{
	return READ_ONCE(*p);
}

static inline void lull_store_pointer(void **p, void *v)
{
	WRITE_ONCE(*p, v);
}

static inline uint64_t lull_cas(uint64_t *p, uint64_t expect, uint64_t desired)
{
	return cmpxchg(p, expect, desired);
}

static inline uint64_t lull_cas_relaxed(uint64_t *p, uint64_t expect, uint64_t desired)
{
	return cmpxchg_relaxed(p, expect, desired);
}

static inline uint32_t lull_cas32(uint32_t *p, uint32_t expect, uint32_t desired)
{
	return cmpxchg(p, expect, desired);
}

static inline uint32_t lull_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired)
{
	return cmpxchg_relaxed(p, expect, desired);
}

/*
 * Commits and lost counts of a ring come from its own CPU only. On x86 the local addition
 * keeps the processor's store order; elsewhere local_t is an ordinary atomic, fully ordered.
 */
static inline uint64_t lull_add(uint64_t *p, uint64_t v)
{
	return local_add_return(v, (local_t *)p);
}

static inline uint64_t lull_add_relaxed(uint64_t *p, uint64_t v)
{
	return (uint64_t)atomic64_add_return_relaxed((long long)v, (atomic64_t *)p);
}

static inline uint32_t lull_add32_relaxed(uint32_t *p, uint32_t v)
{
	return (uint32_t)atomic_add_return_relaxed((int)v, (atomic_t *)p);
}

/* The built-in, because core copies spans of several fields, which memcpy()'s checks forbid. */
static inline void lull_copy(void *to, const void *from, size_t bytes)
{
	__builtin_memcpy(to, from, bytes);
}

static inline void lull_zero(void *to, size_t bytes)
{
	memset(to, 0, bytes);
}

static inline void lull_fetch(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	barrier();
}

static inline int lull_equal(const void *shared, const void *own, size_t bytes)
{
	return !memcmp(shared, own, bytes);
}

static inline void lull_barrier_light(void)
{
	barrier();
}

void lull_barrier_heavy(void); /* barrier_kernel.c: an interrupt to every CPU; may sleep */
uint64_t lull_clock_cycles(void); /* clock_kernel.c */
uint64_t lull_clock_cycles_ordered(void);

static inline void lull_port_stuck(void)
{
}

static inline uint32_t lull_cpu(void)
{
	return raw_smp_processor_id();
}

static inline long lull_place(void)
{
	return 0;
}

/*
 * The run and what is valid with it go first: a context that nests between them and the compare
 * and swap overwrites them and makes the swap fail, and run names the write count it is valid for
 * (I4). The physical index goes after run: before, it could be taken for that of another's run.
 * The mark goes last: only a walk over an incomplete sub-buffer reads it, and kernel writers do
 * not die in one.
 */
static inline int lull_publish(const struct lull_reservation *r)
{
	if (lull_cpu() != r->cpu)
		return 0;
	WRITE_ONCE(r->shared->last_cycles, r->cycles);
	barrier();
	WRITE_ONCE(r->shared->run, r->run);
	barrier();
	WRITE_ONCE(r->shared->physical, r->physical);
	if (local_cmpxchg((local_t *)&r->shared->write_count, r->expect, r->until) != r->expect)
		return 0;
	WRITE_ONCE(*(uint32_t *)r->slot_low, r->mark_low);
	WRITE_ONCE(*(uint32_t *)r->slot_high, r->mark_high);
	return 1;
}

static inline int lull_publish_plain(const struct lull_reservation *r)
{
	if (cmpxchg(&r->shared->write_count, r->expect, r->until) != r->expect)
		return 0;
	WRITE_ONCE(*(uint32_t *)r->slot_low, r->mark_low);
	WRITE_ONCE(*(uint32_t *)r->slot_high, r->mark_high);
	return 1;
}

#endif
