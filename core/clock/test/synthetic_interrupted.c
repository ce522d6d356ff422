// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Tests of the synthetic clock under interruption: one context nests over another at each
 * shared access in turn. Paper: T 4.6.3, figure 4.3 (an update interrupted by a read).
 *
 * Time moves by one cycle at each access. A read is right when its result lies between the
 * times at which it began and ended, less the counter's own jitter.
 */
#include <string.h>
#include "step.h"
#include "synthetic.h"

#define BITS 8 /* narrow enough to start from every phase, wide enough for one test's steps */
#define ACCESSES_MAX 64 /* more than any combination below makes */

static struct lull_synthetic instance;
static unsigned int wrong_count; /* reads that returned a time they did not see */
static uint64_t nested_at; /* where the interrupt of the interrupt comes; 0: none */
static struct lull_synthetic_wide wide = {
	.mask = ~0ull,
	.mult = 16,
	.shift = 0,
	.drift_shift = 12,
	.skew_cycles = 32,
};

static void read_checked(void)
{
	uint64_t begin = step_time;
	uint64_t cycles = lull_synthetic_read(&instance, step_counter);

	if (cycles + step_jitter < begin || cycles > step_time)
		wrong_count++;
}

static void update(void)
{
	lull_synthetic_update(&instance, step_counter);
}

/* An interrupt that updates, itself interrupted by an NMI that reads. */
static void update_interrupted(void)
{
	if (nested_at)
		step_interrupt_at(nested_at, read_checked);
	update();
}

static void read_interrupted(void)
{
	if (nested_at)
		step_interrupt_at(nested_at, read_checked);
	read_checked();
}

static void wake_late(void)
{
	lull_synthetic_wake(&instance, step_counter, &wide, step_time / 16);
}

/* A fresh clock at @phase of the counter, @gap after its last update, near a carry. */
static void prepare(uint64_t phase, uint64_t gap)
{
	uint64_t base = (1ull << 32) - (1ull << (BITS - 1)), jitter = step_jitter;

	step_interrupt_clear();
	step_jitter = 0; /* the clock is set right, then its counter begins to waver */
	step_time_per_access = 0;
	step_time = base + phase;
	step_offset = 0;
	wrong_count = 0;
	memset(&instance, 0x5a, sizeof(instance)); /* the free copy holds no time */
	lull_synthetic_start(&instance, BITS, step_time, step_counter);
	step_time += gap;
	step_time_per_access = 1;
	step_jitter = jitter;
}

/*
 * Runs @outer, interrupted by @inner before each of its accesses in turn, from each phase of
 * the counter and, where @nest, @inner interrupted by a read before each access of its own.
 */
static int interrupt_everywhere(void (*outer)(void), void (*inner)(void), int nest)
{
	static const uint64_t gaps[] = { 0, 1, 100, 127, 150 };
	uint64_t phase, access, nested;
	unsigned int i;

	for (phase = 0; phase < 1 << BITS; phase += nest ? 5 : 1) {
		for (i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
			for (nested = 0; nested < (nest ? ACCESSES_MAX : 1); nested++) {
				for (access = 1; access < ACCESSES_MAX; access++) {
					prepare(phase, gaps[i]);
					nested_at = nested;
					step_interrupt_at(access, inner);
					outer();
					if (step_interrupt_clear() && !nested)
						break;
					read_checked();
					STEP_CHECK(!wrong_count);
				}
			}
		}
	}
	return 0;
}

static int read_nests_over_update(void)
{
	return interrupt_everywhere(update, read_checked, 0);
}

static int update_nests_over_read(void)
{
	return interrupt_everywhere(read_checked, update_interrupted, 0);
}

static int read_nests_over_update_over_read(void)
{
	return interrupt_everywhere(read_checked, update_interrupted, 1);
}

static int read_nests_over_read_over_update(void)
{
	return interrupt_everywhere(update, read_interrupted, 1);
}

/* The same on the second copy: the parity that prepare() does not leave. */
static void update_twice(void)
{
	update();
	update();
}

static int read_nests_over_both_parities(void)
{
	return interrupt_everywhere(update_twice, read_checked, 0);
}

static int read_nests_over_wake(void)
{
	uint64_t phase, access;

	for (phase = 0; phase < 1 << BITS; phase++) {
		for (access = 1; access < ACCESSES_MAX; access++) {
			prepare(phase, 0);
			lull_synthetic_sleep(&instance, step_counter, &wide, step_time / 16);
			step_time += 60;
			step_interrupt_at(access, read_checked);
			wake_late();
			if (step_interrupt_clear())
				break;
			read_checked();
			STEP_CHECK(!wrong_count);
		}
	}
	return 0;
}

/* A counter that steps back, on both sides of every update and nested in it. */
static int jitter_under_interruption_stays_jitter(void)
{
	int line;

	step_jitter = 20; /* more than passes between two readings */
	line = interrupt_everywhere(update_twice, read_checked, 0);
	if (!line)
		line = interrupt_everywhere(read_checked, update_interrupted, 1);
	return line;
}

/* The reader's bound, invariant I3: one update during a read is harmless, two are allowed to
 * spoil it, and it is not spoilt for good. */
static int a_read_after_an_overtaken_one_is_right(void)
{
	uint64_t access;

	for (access = 1; access < ACCESSES_MAX; access++) {
		prepare(0, 100);
		step_interrupt_at(access, update_twice);
		lull_synthetic_read(&instance, step_counter);
		step_interrupt_clear();
		read_checked();
		STEP_CHECK(!wrong_count);
	}
	return 0;
}

int main(void)
{
	static const struct step_test tests[] = {
		{ "read_nests_over_update", read_nests_over_update,
		  "CLOCK_ONE_COPY CLOCK_INDEX_EARLY" },
		{ "read_nests_over_both_parities", read_nests_over_both_parities,
		  "CLOCK_ONE_COPY CLOCK_INDEX_EARLY CLOCK_NO_FLIP" },
		{ "update_nests_over_read", update_nests_over_read, "CLOCK_ONE_COPY" },
		{ "read_nests_over_update_over_read", read_nests_over_update_over_read,
		  "CLOCK_ONE_COPY CLOCK_INDEX_EARLY" },
		{ "read_nests_over_read_over_update", read_nests_over_read_over_update,
		  "CLOCK_ONE_COPY CLOCK_INDEX_EARLY" },
		{ "read_nests_over_wake", read_nests_over_wake,
		  "CLOCK_ONE_COPY CLOCK_INDEX_EARLY" },
		{ "jitter_under_interruption_stays_jitter", jitter_under_interruption_stays_jitter,
		  "CLOCK_NO_TOLERANCE" },
		{ "a_read_after_an_overtaken_one_is_right", a_read_after_an_overtaken_one_is_right,
		  0 },
	};

	return step_run(tests, sizeof(tests) / sizeof(tests[0]));
}
