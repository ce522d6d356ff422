/* SPDX-License-Identifier: MIT */
/*
 * Sleep and wake-up of the synthetic clock: the arithmetic, for every length of sleep up to
 * SLEEP_MAX, every start of the counter, every error of the slow counter. Paper: T 4.6.3 (low-power
 * mode). C: core/clock/synthetic.c lull_synthetic_sleep(), lull_synthetic_wake().
 *
 *	before sleep          | asleep                       | wake-up
 *	store cycles and      | the counter runs on, stops,  | of the times that agree with the
 *	ticks as the mark     | or starts again at zero      | narrow counter, the one nearest to
 *	                      | the slow counter runs        | the slow counter's estimate; if it
 *	                      |                              | is further off than the slow counter
 *	                      |                              | can err, the estimate itself
 *
 * Bounds: a counter of BITS bits. One tick of the slow counter is one cycle, so that SKEW, the
 * largest error in either direction, covers drift too.
 *
 * Proved, by assertions: if the counter ran on, the time is exact after wake-up, however often the
 * counter overflowed; if not, the time has the slow counter's precision; time never falls behind
 * the mark. The mutant RAN_ON_ASSUMED leaves out the comparison of the distance; an assertion
 * catches it, because a counter that stopped is then taken for one that ran on.
 *
 * Not modelled: the multiplication of ticks_scale(), which core/clock/test checks; readers during
 * the wake-up, whose time may be late by whole periods, as synthetic.c says.
 */
#define BITS 4
#define MASK ((1 << BITS) - 1)
#define HALF (MASK >> 1)
#ifndef SKEW
#define SKEW 3 /* less than half of the period, or what agrees proves nothing */
#endif
#define SLEEP_MAX 70

init
{
	int mark, slept, expected, then, counter, candidate, distance;
	bit ran_on, exact;

	atomic {
		select (then : 0 .. MASK);
		select (slept : 0 .. SLEEP_MAX);
		mark = MASK + 1 + then;
		if
		:: ran_on = 1; counter = (then + slept) & MASK
		:: select (counter : 0 .. MASK) /* it stopped, or began again some time ago */
		fi;
		/* The slow counter does not run backwards. */
		select (expected : 0 .. 2 * SKEW);
		expected = expected - SKEW + slept;
		expected = mark + (expected < 0 -> 0 : expected);

		candidate = mark + ((counter - then) & MASK);
		if
		:: expected + HALF > candidate ->
			candidate = candidate + ((expected + HALF - candidate) & ~MASK)
		:: else
		fi;
		distance = (candidate > expected -> candidate - expected : expected - candidate);
#ifdef MUTANT_RAN_ON_ASSUMED
		exact = 1;
#else
		exact = distance <= SKEW;
#endif
		candidate = (exact -> candidate : expected);

		assert(!ran_on || candidate == mark + slept); /* exact again */
		assert(candidate >= mark); /* events after sleep follow those before it */
		distance = candidate - mark - slept;
		assert(-2 * SKEW <= distance && distance <= 2 * SKEW)
	}
}
