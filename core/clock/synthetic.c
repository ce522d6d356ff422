// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The synthetic clock. Papers: T 4.6.3, figures 4.1 to 4.5.
 *
 * There are two copies of the time at an update; the index says which one is complete:
 *
 *	 index  copy 0          copy 1
 *	   0    time at U1      (free)           readers extend from U1
 *	   0    time at U1      being written    update U2 begins; readers still extend from U1
 *	   1    (free)          time at U2       [clock.update:B] U2 done; readers that hold
 *	                                         copy 0 finish before U3 writes it
 *
 * Writers and readers of each field:
 *
 *	 field    written by               read by
 *	 copy     update, [clock.update:A] readers [clock.read:B], the next update
 *	 index    update, [clock.update:B] readers [clock.read:A], the next update
 *	 mask, backward_cycles  start      all; constant
 *
 * Pairs:
 *
 *	 [clock.update:A] copy stores     [clock.read:B] copy loads
 *	 [clock.update:B] index store     [clock.read:A] index load
 *
 * Both sides are one CPU, which sees its own stores in program order, so keeping the
 * compiler in order is enough on every architecture: that is what the light barrier does.
 * No access is wider than 32 bits.
 *
 * Invariants:
 * I1 copy[index] is complete at every instruction, also inside an update.
 * I2 at any read, less than three quarters of the counter's period have passed since the
 *    update it extends from, what the counter reads low by then included.
 * I3 a reader holds one copy for less than the time between two updates.
 * I1 is this file's; I2 and I3 are the caller's timer and preemption rules.
 *
 * Progress: every function is straight-line code: wait-free.
 *
 * Rejected: a sequence lock (a nested reader would wait for the writer it interrupted); one
 * 64-bit word (not atomic where this is needed); updating from the reader (needs a bit of
 * the result and two calls per period from every reader's path); storing only the high bits,
 * as figure 4.4 does (the counter's value beside the time allows a counter that restarts).
 */
#include "synthetic.h"

/* Makes a new time visible, and keeps invariant I1. */
static void copy_publish(struct lull_synthetic *clock, uint64_t cycles, uint64_t counter)
{
	uint32_t free = LULL_MUTANT(CLOCK_ONE_COPY) ? 0 : 1;
	uint32_t next = (lull_load32(&clock->index) & 1) ^ free;
	struct lull_synthetic_copy *copy = &clock->copy[next];

	if (LULL_MUTANT(CLOCK_INDEX_EARLY))
		lull_store32(&clock->index, next);
	/*
	 * [clock.update:A] stores. Pair with [clock.read:B].
	 * Orders: the four stores before that of the index [clock.update:B], by the barrier.
	 * Else: a reader that interrupts the update follows the new index to a copy of which some
	 * words are still old. Mutants: CLOCK_ONE_COPY, CLOCK_NO_LIGHT.
	 */
	lull_store32(&copy->cycles_low, (uint32_t)cycles);
	lull_store32(&copy->cycles_high, (uint32_t)(cycles >> 32));
	lull_store32(&copy->counter_low, (uint32_t)counter);
	lull_store32(&copy->counter_high, (uint32_t)(counter >> 32));
	lull_barrier_light();
	/*
	 * [clock.update:B] store. Pairs with [clock.read:A].
	 * Orders: nothing that follows; it makes the new copy the one that readers use.
	 * Else: readers extend from the first update for ever. Mutant: CLOCK_NO_FLIP.
	 */
	if (!LULL_MUTANT(CLOCK_NO_FLIP))
		lull_store32(&clock->index, next);
}

int lull_synthetic_start(struct lull_synthetic *clock, unsigned int bits, uint64_t cycles,
			 lull_synthetic_counter *counter)
{
	if (!bits || bits > LULL_SYNTHETIC_BITS_MAX)
		return -EINVAL;
	clock->mask = (1ull << bits) - 1;
	clock->backward_cycles = clock->mask >> 2;
	if (cycles <= clock->mask)
		cycles = clock->mask + 1;
	lull_store32(&clock->index, 0);
	copy_publish(clock, cycles, counter());
	return 0;
}

uint64_t lull_synthetic_period_cycles(const struct lull_synthetic *clock)
{
	return (clock->mask >> 1) + 1;
}

/* Store the time of now. Return: that time. */
static uint64_t time_note(struct lull_synthetic *clock, lull_synthetic_counter *counter)
{
	const struct lull_synthetic_copy *copy = &clock->copy[lull_load32(&clock->index) & 1];
	uint64_t cycles = lull_synthetic_join(&copy->cycles_low, &copy->cycles_high);
	uint64_t then = lull_synthetic_join(&copy->counter_low, &copy->counter_high);
	uint64_t now = counter();

	cycles = lull_synthetic_extend(clock, cycles, then, now);
	copy_publish(clock, cycles, now);
	return cycles;
}

void lull_synthetic_update(struct lull_synthetic *clock, lull_synthetic_counter *counter)
{
	time_note(clock, counter);
}

void lull_synthetic_sleep(struct lull_synthetic *clock, lull_synthetic_counter *counter,
			  struct lull_synthetic_wide *wide, uint64_t ticks)
{
	wide->mark_ticks = ticks;
	wide->mark_cycles = time_note(clock, counter);
}

/* ticks * mult / 2^shift without a 96-bit product; rounds down. */
static uint64_t ticks_scale(uint64_t ticks, uint32_t mult, uint32_t shift)
{
	uint64_t high = (ticks >> 32) * mult;
	uint64_t low = (ticks & 0xffffffffu) * mult;

	return (high << (LULL_SYNTHETIC_SHIFT_MAX - shift)) + (low >> shift);
}

int lull_synthetic_wake(struct lull_synthetic *clock, lull_synthetic_counter *counter,
			const struct lull_synthetic_wide *wide, uint64_t ticks)
{
	const struct lull_synthetic_copy *copy = &clock->copy[lull_load32(&clock->index) & 1];
	uint64_t then = lull_synthetic_join(&copy->counter_low, &copy->counter_high);
	uint64_t elapsed =
		ticks_scale((ticks - wide->mark_ticks) & wide->mask, wide->mult, wide->shift);
	uint64_t expected = wide->mark_cycles + elapsed;
	uint64_t uncertain = wide->skew_cycles + (elapsed >> wide->drift_shift);
	uint64_t now = counter();
	uint64_t candidate = wide->mark_cycles + ((now - then) & clock->mask);
	uint64_t half = clock->mask >> 1;
	uint64_t distance;

	/* Add whole periods, up to the time that is nearest to the slow counter's. */
	if (expected + half > candidate)
		candidate += (expected + half - candidate) & ~clock->mask;
	distance = candidate > expected ? candidate - expected : expected - candidate;
	if (distance <= uncertain) {
		copy_publish(clock, candidate, now);
		return 1;
	}
	copy_publish(clock, expected, now);
	return 0;
}
