// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Tests of the synthetic clock's arithmetic, without interruption: widths, overflows, jitter
 * and sleep. synthetic_interrupted.c interrupts it. Paper: T 4.6.3, figures 4.1 and 4.2.
 *
 * The counter is the simulated time plus an offset, cut to its width by the clock; a read is
 * right when it returns the simulated time.
 */
#include "step.h"
#include "synthetic.h"

#define BITS_EXHAUSTIVE_MAX 10 /* every phase with every distance: 2^20 pairs */
#define BITS_WALK_MAX 18 /* every value of the counter, three times around */
#define BITS_REAL_MIN 8
#define BITS_REAL_MAX 32

static uint64_t read_now(const struct lull_synthetic *clock)
{
	return lull_synthetic_read(clock, step_counter);
}

/* Starts the clock with a counter that has nothing to do with the time. */
static void start_at(struct lull_synthetic *clock, unsigned int bits, uint64_t cycles,
		     uint64_t counter)
{
	step_time = cycles;
	step_offset = counter - cycles;
	lull_synthetic_start(clock, bits, cycles, step_counter);
}

/* From each counter value at an update, each distance a reader may see. */
static int every_distance_from_every_phase(void)
{
	struct lull_synthetic clock;
	unsigned int bits;
	uint64_t phase, distance;

	for (bits = BITS_REAL_MIN; bits <= BITS_EXHAUSTIVE_MAX; bits++) {
		uint64_t period = 1ull << bits, base = (1ull << 32) - period / 2;

		for (phase = 0; phase < period; phase++) {
			start_at(&clock, bits, base + phase, phase);
			for (distance = 0; distance <= period - period / 4; distance++) {
				step_time = base + phase + distance;
				STEP_CHECK(read_now(&clock) == step_time);
			}
		}
	}
	return 0;
}

/* From each counter value, an update after each distance, and reads on both sides of it. */
static int every_update_after_every_phase(void)
{
	struct lull_synthetic start, clock;
	unsigned int bits;
	uint64_t phase, distance;

	for (bits = BITS_REAL_MIN; bits <= BITS_EXHAUSTIVE_MAX; bits++) {
		uint64_t period = 1ull << bits, base = (1ull << 32) - period / 2;

		for (phase = 0; phase < period; phase++) {
			start_at(&start, bits, base + phase, phase);
			for (distance = 0; distance <= period - period / 4; distance++) {
				clock = start;
				step_time = base + phase + distance;
				lull_synthetic_update(&clock, step_counter);
				STEP_CHECK(read_now(&clock) == step_time);
				step_time += period / 2 + distance % (period / 4);
				STEP_CHECK(read_now(&clock) == step_time);
			}
		}
	}
	return 0;
}

/* Three times around the counter in steps of @stride, updating every @interval. */
static int walk(unsigned int bits, uint64_t base, uint64_t stride, uint64_t interval)
{
	struct lull_synthetic clock;
	uint64_t period = 1ull << bits, end = base + 3 * period, updated = base;

	start_at(&clock, bits, base, step_random());
	for (; step_time < end; step_time += stride) {
		if (step_time - updated >= interval) {
			lull_synthetic_update(&clock, step_counter);
			updated = step_time;
		}
		STEP_CHECK(read_now(&clock) == step_time);
	}
	return 0;
}

static int every_counter_value_in_order(void)
{
	unsigned int bits;
	int line;

	for (bits = BITS_REAL_MIN; bits <= BITS_WALK_MAX; bits++) {
		uint64_t period = 1ull << bits;

		line = walk(bits, period, 1, period / 2);
		if (!line)
			line = walk(bits, (1ull << 32) - period, 1, period / 2 + period / 4 - 1);
		if (!line)
			line = walk(bits, (1ull << 40) - 7, 1, 1);
		STEP_CHECK(!line);
	}
	return 0;
}

/* Counters too wide to walk through: strided, and each count around the corners. */
static int wide_counters_in_strides(void)
{
	static const uint64_t corners_quarter[] = { 0, 1, 2, 3 };
	struct lull_synthetic clock;
	unsigned int bits, i, j;
	uint64_t offset;
	int line;

	for (bits = BITS_WALK_MAX + 1; bits <= BITS_REAL_MAX; bits++) {
		uint64_t period = 1ull << bits, stride = (period >> 16) + 1;

		line = walk(bits, period + 12345, stride, period / 2 - stride);
		STEP_CHECK(!line);
		for (i = 0; i < 4; i++) {
			for (j = 0; j < 3; j++) {
				uint64_t corner = corners_quarter[i] * (period / 4);

				for (offset = 0; offset < 64; offset++) {
					uint64_t phase = (corner + offset - 32) & (period - 1);

					start_at(&clock, bits, period + phase, phase);
					step_time += corners_quarter[j] * (period / 4) + offset;
					STEP_CHECK(read_now(&clock) == step_time);
				}
			}
		}
	}
	return 0;
}

/* All widths the interface allows, the odd ones included. */
static int any_width_extends(void)
{
	struct lull_synthetic clock;
	unsigned int bits, turn;

	for (bits = 1; bits <= LULL_SYNTHETIC_BITS_MAX; bits++) {
		start_at(&clock, bits, 1ull << 63 | step_random() >> 2, step_random());
		for (turn = 0; turn < 100; turn++) {
			uint64_t period = lull_synthetic_period_cycles(&clock);

			step_time += bits < 55 ? 1 + step_random() % period : period / 256;
			STEP_CHECK(read_now(&clock) == step_time);
			lull_synthetic_update(&clock, step_counter);
			STEP_CHECK(read_now(&clock) == step_time);
		}
	}
	return 0;
}

static int impossible_widths_are_refused(void)
{
	struct lull_synthetic clock;

	STEP_CHECK(lull_synthetic_start(&clock, 0, 0, step_counter) == -EINVAL);
	STEP_CHECK(lull_synthetic_start(&clock, 64, 0, step_counter) == -EINVAL);
	STEP_CHECK(lull_synthetic_start(&clock, 63, 0, step_counter) == 0);
	return 0;
}

/* From each phase, each step back within the tolerance, read and updated from. */
static int steps_back_are_not_overflows(void)
{
	struct lull_synthetic start, clock;
	unsigned int bits;
	uint64_t phase, jitter;

	for (bits = BITS_REAL_MIN; bits <= BITS_EXHAUSTIVE_MAX; bits++) {
		uint64_t period = 1ull << bits;

		for (phase = 0; phase < period; phase++) {
			start_at(&start, bits, period + phase, phase);
			for (jitter = 0; jitter < period / 4; jitter++) {
				clock = start;
				step_time = period + phase - jitter;
				STEP_CHECK(read_now(&clock) == step_time);
				lull_synthetic_update(&clock, step_counter);
				step_time = period + phase + period / 4;
				STEP_CHECK(read_now(&clock) == step_time);
			}
		}
	}
	return 0;
}

/* The first reading of all may be a step back, too, and must not pass zero. */
static int time_does_not_start_near_zero(void)
{
	struct lull_synthetic clock;
	unsigned int bits;

	for (bits = 3; bits <= BITS_REAL_MAX; bits++) {
		step_offset = 0;
		step_time = 0;
		lull_synthetic_start(&clock, bits, 0, step_counter);
		STEP_CHECK(read_now(&clock) == 1ull << bits);
		step_time -= 1; /* the counter shows all ones */
		STEP_CHECK(read_now(&clock) == (1ull << bits) - 1);
		lull_synthetic_start(&clock, bits, (1ull << bits) - 1, step_counter);
		STEP_CHECK(read_now(&clock) == 1ull << bits);
	}
	return 0;
}

/* A slow counter of 32768 Hz under a counter of 100 MHz: 3051.7578125 cycles a tick. */
#define TICK_MULT 3125000u
#define TICK_SHIFT 10u

static uint64_t ticks_now(uint64_t mask)
{
	return (uint64_t)((double)step_time / (TICK_MULT / 1024.0)) & mask;
}

static struct lull_synthetic_wide wide_counter(uint64_t mask)
{
	return (struct lull_synthetic_wide){
		.mask = mask,
		.mult = TICK_MULT,
		.shift = TICK_SHIFT,
		.drift_shift = 13,
		.skew_cycles = 2 * 3052,
	};
}

/* The counter overflowed any number of times while nobody looked. */
static int sleep_is_bridged_exactly_when_the_counter_ran_on(void)
{
	uint64_t wide_mask = (1ull << 32) - 1;
	struct lull_synthetic_wide wide = wide_counter(wide_mask);
	struct lull_synthetic clock;
	unsigned int bits, turn;

	for (bits = 16; bits <= BITS_REAL_MAX; bits++) {
		uint64_t longest = 1ull << (bits + 10); /* drift stays below half a period */

		start_at(&clock, bits, 1ull << 33, step_random());
		for (turn = 0; turn < 200; turn++) {
			if (turn & 2) /* sleep begins from either copy */
				lull_synthetic_update(&clock, step_counter);
			step_time += turn;
			lull_synthetic_sleep(&clock, step_counter, &wide, ticks_now(wide_mask));
			step_time += step_random() % longest;
			STEP_CHECK(lull_synthetic_wake(&clock, step_counter, &wide,
						       ticks_now(wide_mask)) == 1);
			STEP_CHECK(read_now(&clock) == step_time);
			step_time += step_random() % lull_synthetic_period_cycles(&clock);
			STEP_CHECK(read_now(&clock) == step_time);
		}
	}
	return 0;
}

/* The counter stopped or restarted: time goes on at the slow counter's precision. */
static int sleep_is_bridged_closely_when_the_counter_restarted(void)
{
	uint64_t wide_mask = (1ull << 24) - 1;
	struct lull_synthetic_wide wide = wide_counter(wide_mask);
	struct lull_synthetic clock;
	unsigned int bits, turn;

	for (bits = BITS_REAL_MIN; bits <= BITS_REAL_MAX; bits++) {
		for (turn = 0; turn < 200; turn++) {
			uint64_t asleep = step_random() >> 30, before, now, allowed;

			start_at(&clock, bits, 1ull << 40, step_random());
			before = read_now(&clock);
			lull_synthetic_sleep(&clock, step_counter, &wide, ticks_now(wide_mask));
			step_time += asleep;
			step_offset = turn & 1 ? step_offset - asleep : step_random();
			lull_synthetic_wake(&clock, step_counter, &wide, ticks_now(wide_mask));
			now = read_now(&clock);
			allowed = wide.skew_cycles + (asleep >> wide.drift_shift);
			STEP_CHECK(now >= before);
			STEP_CHECK(now + allowed >= step_time && now <= step_time + allowed);
			step_time += lull_synthetic_period_cycles(&clock);
			STEP_CHECK(read_now(&clock) == now + lull_synthetic_period_cycles(&clock));
		}
	}
	return 0;
}

/* A slow counter of 64 bits, with a tick per cycle. */
static struct lull_synthetic_wide wide_exact(uint32_t skew_cycles)
{
	return (struct lull_synthetic_wide){
		.mask = ~0ull,
		.mult = 1,
		.drift_shift = 63,
		.skew_cycles = skew_cycles,
	};
}

/* The slow counter is off by as much as it may be, behind the time and ahead of it. */
static int sleep_is_bridged_exactly_within_the_error_of_the_slow_counter(void)
{
	struct lull_synthetic clock;
	unsigned int bits;
	int ahead;

	for (bits = BITS_REAL_MIN; bits <= BITS_REAL_MAX; bits++) {
		uint64_t error = (1ull << bits) / 2 - 1;
		struct lull_synthetic_wide wide = wide_exact((uint32_t)error);

		for (ahead = 0; ahead < 2; ahead++) {
			start_at(&clock, bits, 1ull << 40, step_random());
			lull_synthetic_sleep(&clock, step_counter, &wide, step_time);
			step_time += (1ull << 36) + step_random() % (1ull << 36);
			STEP_CHECK(lull_synthetic_wake(&clock, step_counter, &wide,
						       ahead ? step_time + error :
							       step_time - error) == 1);
			STEP_CHECK(read_now(&clock) == step_time);
		}
	}
	return 0;
}

/* The counter is further from the slow one than that can err, though by less than a period. */
static int a_counter_that_restarted_is_not_believed(void)
{
	struct lull_synthetic clock;
	unsigned int bits;

	for (bits = BITS_REAL_MIN; bits <= BITS_REAL_MAX; bits++) {
		uint64_t period = 1ull << bits;
		struct lull_synthetic_wide wide = wide_exact((uint32_t)(period / 8));

		start_at(&clock, bits, 1ull << 40, step_random());
		lull_synthetic_sleep(&clock, step_counter, &wide, step_time);
		step_time += 1ull << 36;
		step_offset += period / 4;
		STEP_CHECK(lull_synthetic_wake(&clock, step_counter, &wide, step_time) == 0);
		STEP_CHECK(read_now(&clock) == step_time);
	}
	return 0;
}

/* The counter steps back a little, and the slow one did not tick at all. */
static int time_does_not_fall_behind_in_a_sleep_of_no_tick(void)
{
	struct lull_synthetic clock;
	unsigned int bits;

	for (bits = BITS_REAL_MIN; bits <= BITS_REAL_MAX; bits++) {
		struct lull_synthetic_wide wide = wide_exact(16);

		start_at(&clock, bits, 1ull << 40, step_random());
		lull_synthetic_sleep(&clock, step_counter, &wide, step_time);
		step_offset -= 5;
		STEP_CHECK(lull_synthetic_wake(&clock, step_counter, &wide, step_time) == 0);
		STEP_CHECK(read_now(&clock) == 1ull << 40);
	}
	return 0;
}

int main(void)
{
	static const struct step_test tests[] = {
		{ "every_distance_from_every_phase", every_distance_from_every_phase, 0 },
		{ "every_update_after_every_phase", every_update_after_every_phase,
		  "CLOCK_NO_FLIP" },
		{ "every_counter_value_in_order", every_counter_value_in_order, "CLOCK_NO_FLIP" },
		{ "wide_counters_in_strides", wide_counters_in_strides, "CLOCK_NO_FLIP" },
		{ "any_width_extends", any_width_extends, "CLOCK_NO_FLIP" },
		{ "impossible_widths_are_refused", impossible_widths_are_refused, 0 },
		{ "steps_back_are_not_overflows", steps_back_are_not_overflows,
		  "CLOCK_NO_TOLERANCE" },
		{ "time_does_not_start_near_zero", time_does_not_start_near_zero,
		  "CLOCK_NO_TOLERANCE" },
		{ "sleep_is_bridged_exactly_when_the_counter_ran_on",
		  sleep_is_bridged_exactly_when_the_counter_ran_on, "CLOCK_NO_FLIP" },
		{ "sleep_is_bridged_closely_when_the_counter_restarted",
		  sleep_is_bridged_closely_when_the_counter_restarted, "CLOCK_NO_FLIP" },
		{ "sleep_is_bridged_exactly_within_the_error_of_the_slow_counter",
		  sleep_is_bridged_exactly_within_the_error_of_the_slow_counter, "CLOCK_NO_FLIP" },
		{ "a_counter_that_restarted_is_not_believed",
		  a_counter_that_restarted_is_not_believed, "CLOCK_NO_FLIP" },
		{ "time_does_not_fall_behind_in_a_sleep_of_no_tick",
		  time_does_not_fall_behind_in_a_sleep_of_no_tick, 0 },
	};

	return step_run(tests, sizeof(tests) / sizeof(tests[0]));
}
