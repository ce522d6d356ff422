/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The synthetic clock: a counter of 1 to 63 bits extended to 64 bits, wait-free, readable
 * from any context, NMIs that interrupt the update included.
 *
 * One instance per CPU. A periodic interrupt calls lull_synthetic_update(); readers call
 * lull_synthetic_read() with the same counter. synthetic.c tells how it works and why.
 *
 * Paper: T 4.6.3, figures 4.1 to 4.5; docs/design/30-clock.md.
 */
#ifndef LULL_SYNTHETIC_H
#define LULL_SYNTHETIC_H

#include <stdint.h>
#include "lull_port.h"

#define LULL_SYNTHETIC_BITS_MAX 63u
#define LULL_SYNTHETIC_SHIFT_MAX 32u

/*
 * Time at one update: a value of the 64-bit clock, and the counter's value at the same moment. Both
 * are in halves, because a 32-bit machine stores 64 bits in two steps, and the sched port must see
 * both steps.
 */
struct lull_synthetic_copy {
	uint32_t cycles_low;
	uint32_t cycles_high;
	uint32_t counter_low;
	uint32_t counter_high;
};

struct lull_synthetic {
	struct lull_synthetic_copy copy[2]; /* written by the update, in turn */
	uint32_t index; /* the copy to read; written by the update, last */
	uint64_t mask; /* ones where the counter has bits; constant */
	uint64_t backward_cycles; /* steps back up to here are jitter; constant */
};

/* Reads the counter; bits above its width are ignored. Must not write shared memory. */
typedef uint64_t lull_synthetic_counter(void);

/*
 * A wide, slow counter that runs while the CPU sleeps, and its value when the sleep began.
 * cycles = ticks * mult / 2^shift.
 */
struct lull_synthetic_wide {
	uint64_t mask; /* ones where the wide counter has bits */
	uint32_t mult;
	uint32_t shift; /* at most LULL_SYNTHETIC_SHIFT_MAX */
	uint32_t drift_shift; /* the two rates agree to one part in 2^drift_shift */
	uint32_t skew_cycles; /* error of one conversion: resolution and latency of a read */
	uint64_t mark_ticks; /* written by lull_synthetic_sleep() */
	uint64_t mark_cycles;
};

/* Joins the halves of one copy. An interrupt may come between the two loads. */
static inline uint64_t lull_synthetic_join(const uint32_t *low, const uint32_t *high)
{
	uint64_t upper = lull_load32(high);

	return upper << 32 | lull_load32(low);
}

/*
 * lull_synthetic_extend() - 64-bit time of a counter value seen soon after an update.
 * @cycles: time at the update; @then: the counter at the update; @now: the counter now
 *
 * The distance from @then to @now is taken modulo the counter's period. In the last quarter
 * of the period, where its two top bits are ones, it is a small step back and not a long
 * step forward: so a counter that reads a little low near an update does not make time jump
 * forward by a whole period.
 *
 * Context: any. Progress: wait-free. Return: the time in cycles. Paper: T 4.6.3, figure 4.2.
 */
static inline uint64_t lull_synthetic_extend(const struct lull_synthetic *clock, uint64_t cycles,
					     uint64_t then, uint64_t now)
{
	uint64_t forward = (now - then) & clock->mask;
	uint64_t backward = (then - now) & clock->mask;

	if (backward <= clock->backward_cycles && !LULL_MUTANT(CLOCK_NO_TOLERANCE))
		return cycles - backward;
	return cycles + forward;
}

/*
 * lull_synthetic_read() - the 64-bit time.
 * @counter: a constant function, so that the compiler inlines it
 *
 * Context: any, NMI-safe, on the instance's CPU and without migrating from it; may interrupt
 * an update. It must return before the update after next begins: keep preemption off.
 * Progress: wait-free, no loop.
 * Ordering: index, then copy, then counter, in program order; all are this CPU's own.
 * Return: the time in cycles; low by no more than the counter's own steps back.
 * Paper: T 4.6.3, figure 4.4.
 */
static inline __attribute__((always_inline)) uint64_t
lull_synthetic_read(const struct lull_synthetic *clock, lull_synthetic_counter *counter)
{
	const struct lull_synthetic_copy *copy;
	uint64_t cycles, then;

	/*
	 * [clock.read:A] load. Pairs with [clock.update:B].
	 * Orders: the load of the index before the loads of the copy [clock.read:B], by dependency.
	 * Else: an NMI reads the copy that an interrupted update is writing, half old and half new.
	 * Mutant: CLOCK_INDEX_EARLY.
	 */
	copy = &clock->copy[lull_load32(&clock->index) & 1];
	/*
	 * [clock.read:B] loads. Pair with [clock.update:A].
	 * Orders: the loads of the copy before that of the counter, as volatile accesses.
	 * Else: an update comes after the counter was read and before the copy is; the counter is
	 * then older than the copy, which only the tolerance for steps back makes good.
	 */
	cycles = lull_synthetic_join(&copy->cycles_low, &copy->cycles_high);
	then = lull_synthetic_join(&copy->counter_low, &copy->counter_high);
	return lull_synthetic_extend(clock, cycles, then, counter());
}

/*
 * lull_synthetic_start() - give an instance its first state.
 * @bits: width of the counter, 1 to LULL_SYNTHETIC_BITS_MAX
 * @cycles: the time now; raised to one period if lower, so that jitter passes no zero
 * Context: any, before the first read and update.
 * Return: 0; -EINVAL when @bits is out of range.
 */
int lull_synthetic_start(struct lull_synthetic *clock, unsigned int bits, uint64_t cycles,
			 lull_synthetic_counter *counter);

/*
 * lull_synthetic_period_cycles() - how often lull_synthetic_update() must run.
 *
 * Half a period of the counter: another quarter is left for interrupts that come late, and
 * the last quarter tells jitter from progress.
 * Context: any. Progress: wait-free. Return: the longest time between updates, in cycles.
 */
uint64_t lull_synthetic_period_cycles(const struct lull_synthetic *clock);

/*
 * lull_synthetic_update() - store the time, from which readers extend.
 * Context: a periodic interrupt of the instance's CPU, every
 * lull_synthetic_period_cycles(); one at a time: must not interrupt itself, sleep or wake.
 * Progress: wait-free, no loop.
 * Ordering: [clock.update:A] before [clock.update:B].
 * Paper: T 4.6.3, figure 4.5.
 */
void lull_synthetic_update(struct lull_synthetic *clock, lull_synthetic_counter *counter);

/*
 * lull_synthetic_sleep() - update for the last time before the CPU sleeps without its timer.
 * @wide: the slow counter; its mark is set; @ticks: its value now
 * Context: as lull_synthetic_update(); no update until lull_synthetic_wake().
 * Progress: wait-free, no loop. Paper: T 4.6.3 (low-power mode).
 */
void lull_synthetic_sleep(struct lull_synthetic *clock, lull_synthetic_counter *counter,
			  struct lull_synthetic_wide *wide, uint64_t ticks);

/*
 * lull_synthetic_wake() - resynchronise from the slow counter after sleep.
 * @ticks: the slow counter's value now
 *
 * If the counter ran on through the sleep, this function recognises that, however often the counter
 * overflowed, and time is exact again. If the counter stopped or restarted, time goes on from the
 * slow counter's value. Time never falls behind that of lull_synthetic_sleep(). Until this returns,
 * readers may be late by whole periods: call it first after the sleep.
 *
 * Context: as lull_synthetic_update(). Progress: wait-free, no loop.
 * Ordering: as lull_synthetic_update().
 * Return: 1 when the counter ran on; 0 when time has the slow counter's precision.
 * Paper: T 4.6.3 (low-power mode).
 */
int lull_synthetic_wake(struct lull_synthetic *clock, lull_synthetic_counter *counter,
			const struct lull_synthetic_wide *wide, uint64_t ticks);

#endif
