/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port to user space: what core and user ask of their surroundings, for liblull and the
 * recorder.
 *
 * Rings are shared by processes and a thread may migrate between reserve and commit, so
 * commits are atomic against every CPU; reservations are restartable sequences. PORT.md
 * lists each name's promise. Paper: B 4.1 (local atomics), 4.4 (barrier promotion).
 */
#ifndef LULL_PORT_H
#define LULL_PORT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/rseq.h>
#include "clock_user.h"
#include "reservation.h"

#define LULL_MUTANT(name) 0 /* only the sched port builds mutants */

static inline uint64_t lull_load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint64_t lull_load_acquire(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void lull_store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline void lull_store_release(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline uint32_t lull_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void lull_store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline uint32_t lull_load32_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void lull_store32_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline void *lull_load_pointer(void *const *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void lull_store_pointer(void **p, void *v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline void *lull_load_pointer_acquire(void *const *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void lull_store_pointer_release(void **p, void *v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline uint64_t lull_cas(uint64_t *p, uint64_t expect, uint64_t desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return expect;
}

static inline uint64_t lull_cas_relaxed(uint64_t *p, uint64_t expect, uint64_t desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return expect;
}

static inline uint32_t lull_cas32(uint32_t *p, uint32_t expect, uint32_t desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return expect;
}

static inline uint32_t lull_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return expect;
}

static inline uint64_t lull_add(uint64_t *p, uint64_t v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_RELEASE);
}

static inline uint64_t lull_add_relaxed(uint64_t *p, uint64_t v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_RELAXED);
}

static inline uint32_t lull_add32_relaxed(uint32_t *p, uint32_t v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_RELAXED);
}

static inline uint32_t lull_add32(uint32_t *p, uint32_t v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST);
}

static inline void lull_copy(void *to, const void *from, size_t bytes)
{
	__builtin_memcpy(to, from, bytes);
}

static inline void lull_zero(void *to, size_t bytes)
{
	__builtin_memset(to, 0, bytes);
}

/* The compiler is kept from reading again what was copied. */
static inline void lull_fetch(void *to, const void *from, size_t bytes)
{
	__builtin_memcpy(to, from, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline int lull_equal(const void *shared, const void *own, size_t bytes)
{
	return !__builtin_memcmp(shared, own, bytes);
}

static inline void lull_barrier_light(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void lull_barrier_heavy(void); /* barrier_user.c: membarrier, where the machine needs it */

static inline void lull_port_stuck(void)
{
}

/* The calling thread's restartable-sequence area; NULL where the C library registers none. */
extern __thread struct rseq *lull_rseq_area;

#if defined(__x86_64__)
#include "arch/publish_x86_64.h"
#elif defined(__aarch64__)
#include "arch/publish_aarch64.h"
#else
static inline int lull_publish_rseq(const struct lull_reservation *r)
{
	(void)r;
	return 0; /* rings of this architecture are all plain */
}
#endif

/* The CPU the caller runs on; any value where there is no restartable sequence. */
static inline uint32_t lull_cpu(void)
{
	return lull_load32(&lull_rseq_area->cpu_id);
}

/* How far that area is from the thread pointer: in all threads of a process the same. */
static inline long lull_place(void)
{
	return (char *)lull_rseq_area - (char *)__builtin_thread_pointer();
}

/*
 * Memory of the calling thread at some distance from its thread pointer, and the CPU by that of
 * the restartable-sequence area. On x86-64 a segment register adds the pointer, which would have
 * to be loaded, from a line that nothing else needs.
 */
#ifdef __SEG_FS
#define THREAD_MEMORY __seg_fs
#define THREAD_AT(distance_bytes) ((void __seg_fs *)(long)(distance_bytes))
#else
#define THREAD_MEMORY
#define THREAD_AT(distance_bytes) ((void *)((char *)__builtin_thread_pointer() + (distance_bytes)))
#endif

static inline uint32_t lull_cpu_at(long place)
{
	const volatile struct rseq THREAD_MEMORY *area = THREAD_AT(place);

	return area->cpu_id;
}

static inline int lull_publish(const struct lull_reservation *r)
{
	return lull_publish_rseq(r);
}

static inline int lull_publish_plain(const struct lull_reservation *r)
{
	if (lull_cas(&r->shared->write_count, r->expect, r->until) != r->expect)
		return 0;
	lull_store32((uint32_t *)r->slot_low, r->mark_low);
	lull_store32((uint32_t *)r->slot_high, r->mark_high);
	return 1;
}

#endif
