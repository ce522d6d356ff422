/* SPDX-License-Identifier: MIT */
/*
 * Sleep and wake of the synthetic clock: the arithmetic, for every length of sleep up to
 * SLEEP_MAX, every start of the counter, every error of the slow counter. Paper: T 4.6.3 (low-power
 * mode). C: core/clock/synthetic.c lull_synthetic_sleep(), lull_synthetic_wake().
 *
 *	before sleep          | asleep                       | wake
 *	mark cycles and ticks | the counter runs on, stops,  | the time nearest to what the slow
 *	                      | or starts again from nothing | counter expects that agrees with
 *	                      | the slow counter runs        | the narrow one; if that is further
 *	                      |                              | off than the slow counter can be,
 *	                      |                              | what the slow counter expects
 *
 * Bounds: a counter of BITS bits; one tick of the slow counter is one cycle, so that all error
 * is SKEW, either way; drift is part of it. Proved: a counter that ran on is exact after waking,
 * however often it overflowed; any other has the slow counter's precision; time never falls
 * behind the mark. RAN_ON_ASSUMED leaves the test of the distance out. Not modelled: the
 * multiplication of ticks_scale(), which core/clock/test checks; readers meanwhile, who
 * synthetic.c says may be late by periods.
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
