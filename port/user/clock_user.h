/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The trace clock in user space: lull_clock_cycles(), inlined into the reserve loop.
 *
 * One kind serves the whole process; lull_clock_start() sets it before the first event and
 * it never changes, so the fast path reads it without order. Paper: T 4.6.3.
 *
 * Why rdtsc carries no fence. The stamps of one ring must not run backwards. An unfenced
 * rdtsc may take its value before older instructions complete, so the order that counts,
 *
 *	load of the write count  ->  read of the clock  ->  reservation
 *
 * is program order only (the asm keeps the compiler from changing it). On a per-CPU ring that is
 * enough. Another writer comes between load and reservation only by interrupting this thread
 * on this CPU, and interrupts are precise. If the load had retired before the interrupt, the write
 * count has moved, the reservation fails, and the loop reads the clock again; if not,
 * the write count and the clock are both read after the interrupt. There remains the assumption
 * that one CPU returns the values of two rdtsc in program order; clock_user_test.c checks it, and
 * the ring never stamps a slot lower than the one before. This argument does not hold for a ring
 * that several CPUs write to, which needs lull_clock_cycles_ordered().
 */
#ifndef LULL_CLOCK_USER_H
#define LULL_CLOCK_USER_H

#include <stdint.h>
#include "lull/abi/session.h"

#define LULL_CLOCK_ANY 0xffffffffu /* the kind that lull_clock_choose() says */

/* Written once by lull_clock_start(). Until then it reads CLOCK_MONOTONIC. */
struct lull_clock {
	uint32_t kind; /* enum lull_clock_kind */
	uint32_t started;
	int (*gettime)(int32_t, void *); /* the vDSO's clock_gettime; NULL: the system call */
};

extern struct lull_clock lull_clock __attribute__((visibility("hidden")));

/*
 * lull_clock_start() - make this process read the clock that its session names.
 * @kind: enum lull_clock_kind, or LULL_CLOCK_ANY
 *
 * Context: process, before the session's first event; one caller at a time. Calls the kernel.
 * Progress: wait-free.
 * Return: 0; -EOPNOTSUPP when this process cannot read such a clock (another architecture,
 * or prctl(PR_SET_TSC) forbids it); -EBUSY when it already reads another kind.
 */
int lull_clock_start(uint32_t kind);

/*
 * lull_clock_kind() - the kind this process reads; starts LULL_CLOCK_ANY if none is started.
 * Context, Progress: as lull_clock_start(). Return: enum lull_clock_kind.
 */
uint32_t lull_clock_kind(void);

/*
 * lull_clock_monotonic_ns() - CLOCK_MONOTONIC without the C library.
 * Context: any, async-signal-safe. Progress: as the kernel's vDSO: it retries while the
 * kernel updates its clock. Return: nanoseconds.
 */
uint64_t lull_clock_monotonic_ns(void);

#if defined(__x86_64__) || defined(__i386__)

static inline uint64_t lull_clock_counter(void)
{
	uint64_t low, high; /* the instruction clears the upper halves of both registers */

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return high << 32 | low;
}

/* The fence waits for older loads, so that none of them returns a value newer than the time. */
static inline uint64_t lull_clock_counter_ordered(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

#define LULL_CLOCK_COUNTER_KIND LULL_CLOCK_TSC

#elif defined(__aarch64__)

static inline uint64_t lull_clock_counter(void)
{
	uint64_t cycles;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(cycles) : : "memory");
	return cycles;
}

static inline uint64_t lull_clock_counter_ordered(void)
{
	uint64_t cycles;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(cycles) : : "memory");
	return cycles;
}

#define LULL_CLOCK_COUNTER_KIND LULL_CLOCK_CNTVCT

#else

static inline uint64_t lull_clock_counter(void)
{
	return lull_clock_monotonic_ns();
}

static inline uint64_t lull_clock_counter_ordered(void)
{
	return lull_clock_monotonic_ns();
}

#define LULL_CLOCK_COUNTER_KIND LULL_CLOCK_MONOTONIC

#endif

/*
 * lull_clock_cycles() - the trace clock, for rings that one CPU writes to.
 * Context: any, async-signal-safe. Progress: wait-free where the kind is a counter.
 * Ordering: program order towards this CPU's interrupts; none towards other CPUs.
 * Return: cycles; nanoseconds where the kind is LULL_CLOCK_MONOTONIC.
 * Paper: T 4.6.3.
 */
static inline uint64_t lull_clock_cycles(void)
{
	if (__builtin_expect(lull_clock.kind != LULL_CLOCK_COUNTER_KIND, 0))
		return lull_clock_monotonic_ns();
	return lull_clock_counter();
}

/*
 * lull_clock_cycles_ordered() - the trace clock, for rings that any CPU writes to.
 * Context, Progress, Return: as lull_clock_cycles().
 * Ordering: the clock is read after older loads: a write count loaded before is not newer.
 */
static inline uint64_t lull_clock_cycles_ordered(void)
{
	if (__builtin_expect(lull_clock.kind != LULL_CLOCK_COUNTER_KIND, 0))
		return lull_clock_monotonic_ns();
	return lull_clock_counter_ordered();
}

#endif
