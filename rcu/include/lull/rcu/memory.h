/* SPDX-License-Identifier: MIT */
/*
 * Accesses to words that several threads share, as all of rcu/ makes them.
 *
 * They have a header of their own so that tests can put another one in its place:
 * port/sched/rcu/lull/rcu/memory.h makes every access a step of the explorer, which then runs the
 * same sources through every interleaving. Programs use pointer.h instead.
 *
 * A word is an unsigned long: 64 or 32 bits, as many as the machine moves at once. Futex words are
 * uint32_t. A full access orders all earlier accesses of the caller before all its later ones. The
 * name of an access says its order; an access whose name says none, and no comment either, is
 * relaxed: it orders nothing.
 * Paper: T 6.4.1 (notation).
 */
#ifndef LULL_RCU_MEMORY_H
#define LULL_RCU_MEMORY_H

#include <stdint.h>

/* ThreadSanitizer, of gcc or clang, does not see what assembly does. */
#ifdef __SANITIZE_THREAD__
#define LULL_MEM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LULL_MEM_SANITIZED 1
#endif
#endif

static inline unsigned long lull_mem_load(const unsigned long *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline unsigned long lull_mem_load_acquire(const unsigned long *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void lull_mem_store(unsigned long *p, unsigned long v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline void lull_mem_store_release(unsigned long *p, unsigned long v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/*
 * Release: subtracts 1 from a word that only the calling thread writes. On x86-64 it is one
 * instruction, because with a load, a subtraction and a store the read side takes longer.
 */
static inline void lull_mem_decrement_release(unsigned long *p)
{
#if defined(__x86_64__) && !defined(LULL_MEM_SANITIZED)
	__asm__ __volatile__("subq $1, %0" : "+m"(*p)::"memory", "cc");
#else
	__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) - 1, __ATOMIC_RELEASE);
#endif
}

/* A full fence. ThreadSanitizer knows none, and gcc warns of the compiler's under it. */
static inline void lull_mem_fence(void)
{
#if defined(__x86_64__)
	/* A locked instruction on the stack: as strong as mfence for ordinary memory, cheaper. */
	__asm__ __volatile__("lock; orl $0, -64(%%rsp)" ::: "memory", "cc");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * The light half of an asymmetric barrier: keeps the compiler from moving accesses across it. The
 * processor may still move them, until the other thread runs the heavy half (rcu_port.h), which
 * forces a full barrier on this one.
 */
static inline void lull_mem_fence_light(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Not 0 when a handler can run within lull_mem_store_full(), between its store and its fence. */
#if defined(__x86_64__) || defined(__i386__)
#define LULL_MEM_STORE_FULL_DIVISIBLE 0
#else
#define LULL_MEM_STORE_FULL_DIVISIBLE 1
#endif

/*
 * Makes a sequentially consistent step full. On x86 such a step is one locked instruction, which is
 * full by itself. Elsewhere a later relaxed load may be made before the step's store is visible, as
 * between the two exclusive instructions of aarch64.
 */
static inline void lull_mem_fence_step(void)
{
#if !defined(__x86_64__) && !defined(__i386__)
	lull_mem_fence();
#endif
}

/* Full. Return: the value before. */
static inline unsigned long lull_mem_exchange(unsigned long *p, unsigned long v)
{
	unsigned long found = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);

	lull_mem_fence_step();
	return found;
}

/* Full: earlier accesses stay before the store, later ones behind it. */
static inline void lull_mem_store_full(unsigned long *p, unsigned long v)
{
#if LULL_MEM_STORE_FULL_DIVISIBLE
	lull_mem_store_release(p, v);
	lull_mem_fence();
#else
	(void)lull_mem_exchange(p, v);
#endif
}

/* Full. Return: the value found, which is @expect when it was replaced. */
static inline unsigned long lull_mem_cas(unsigned long *p, unsigned long expect,
					 unsigned long desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	lull_mem_fence_step();
	return expect;
}

/* Full. Return: the sum. */
static inline unsigned long lull_mem_add(unsigned long *p, unsigned long v)
{
	unsigned long sum = __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST);

	lull_mem_fence_step();
	return sum;
}

/* Full: sets bits. Return: the value before. */
static inline unsigned long lull_mem_or(unsigned long *p, unsigned long bits)
{
	unsigned long found = __atomic_fetch_or(p, bits, __ATOMIC_SEQ_CST);

	lull_mem_fence_step();
	return found;
}

/* Relaxed. Return: the sum. */
static inline unsigned long lull_mem_add_relaxed(unsigned long *p, unsigned long v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_RELAXED);
}

static inline uint32_t lull_mem_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Whether a word is 0. The caller's jump uses the comparison's flags, where a load needs a test. */
static inline int lull_mem_is_zero32(const uint32_t *p)
{
#if defined(__x86_64__) && !defined(LULL_MEM_SANITIZED)
	int is_zero;

	__asm__ __volatile__("cmpl $0, %1" : "=@ccz"(is_zero) : "m"(*p));
	return is_zero;
#else
	return lull_mem_load32(p) == 0;
#endif
}

static inline void lull_mem_store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline uint32_t lull_mem_load32_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void lull_mem_store32_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Full. Return: the sum. */
static inline uint32_t lull_mem_add32(uint32_t *p, uint32_t v)
{
	uint32_t sum = __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST);

	lull_mem_fence_step();
	return sum;
}

/* Relaxed. Return: the sum. */
static inline uint32_t lull_mem_add32_relaxed(uint32_t *p, uint32_t v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_RELAXED);
}

/* Full. Return: the value before. */
static inline uint32_t lull_mem_exchange32(uint32_t *p, uint32_t v)
{
	uint32_t found = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);

	lull_mem_fence_step();
	return found;
}

/* Full: earlier accesses stay before the store, later ones behind it. */
static inline void lull_mem_store32_full(uint32_t *p, uint32_t v)
{
	(void)lull_mem_exchange32(p, v);
}

/* Full. Return: the value found, which is @expect when it was replaced. */
static inline uint32_t lull_mem_cas32(uint32_t *p, uint32_t expect, uint32_t desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	lull_mem_fence_step();
	return expect;
}

/* Relaxed. Return: the value before. */
static inline uint32_t lull_mem_exchange32_relaxed(uint32_t *p, uint32_t v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
}

/* Relaxed. Return: the value found, which is @expect when it was replaced. */
static inline uint32_t lull_mem_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired)
{
	__atomic_compare_exchange_n(p, &expect, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return expect;
}

/* Counts have 64 bits, also where words have 32. */
static inline uint64_t lull_mem_load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint64_t lull_mem_load64_acquire(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void lull_mem_store64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

/* Full. Return: the sum. */
static inline uint64_t lull_mem_add64(uint64_t *p, uint64_t v)
{
	uint64_t sum = __atomic_add_fetch(p, v, __ATOMIC_SEQ_CST);

	lull_mem_fence_step();
	return sum;
}

/* Relaxed. Return: the sum. */
static inline uint64_t lull_mem_add64_relaxed(uint64_t *p, uint64_t v)
{
	return __atomic_add_fetch(p, v, __ATOMIC_RELAXED);
}

/* Pointers of any type: @p is the address of the pointer. */
#define lull_mem_load_pointer(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define lull_mem_load_pointer_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define lull_mem_store_pointer(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define lull_mem_store_pointer_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* Relaxed. The value before. */
#define lull_mem_exchange_pointer_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
/* Relaxed. @expect is the address of a variable, which may change. Not 0 if it was replaced. */
#define lull_mem_cas_pointer_relaxed(p, expect, desired) \
	__atomic_compare_exchange_n((p), (expect), (desired), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

#endif
