// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The synthetic clock in the sched port: every way in which a thread, its timer interrupt, an
 * NMI on top of either and the advance of time can interleave. Paper: T 4.6.3, figure 4.3.
 *
 * Time is a word that another CPU advances; the counter shows its low 8 bits. A read is right
 * when its result lies between the times before and after it. The clock's source is
 * included, because its faults are chosen here and are no concern of the ring's tests.
 */
#include <string.h>
#include "sched.h"

enum clock_mutant {
	MUTANT_NONE,
	MUTANT_CLOCK_ONE_COPY,
	MUTANT_CLOCK_INDEX_EARLY,
	MUTANT_CLOCK_NO_FLIP,
	MUTANT_CLOCK_NO_TOLERANCE,
};

static const struct sched_scenario *scenario;

#undef LULL_MUTANT
#define LULL_MUTANT(name) (scenario->parameter[0] == MUTANT_##name)
#include "synthetic.c"

#define BITS 8
#define PERIOD (1u << BITS)

static struct lull_synthetic *instance;
static uint64_t *now;

static uint64_t counter_now(void)
{
	return lull_load(now);
}

static void read_checked(long argument)
{
	uint64_t begin = lull_load(now), cycles;

	(void)argument;
	cycles = lull_synthetic_read(instance, counter_now);
	sched_check(cycles >= begin, "time fell behind: %llx", (unsigned long long)cycles);
	sched_check(cycles <= lull_load(now), "time ran ahead: %llx", (unsigned long long)cycles);
}

static void update(long argument)
{
	(void)argument;
	lull_synthetic_update(instance, counter_now);
}

static void update_twice_then_read(long argument)
{
	update(argument);
	update(argument);
	read_checked(argument);
}

/* Time advances in large steps, over an overflow of the counter and of its 32 low bits. */
static void time_passes(long steps)
{
	uint64_t start = lull_load(now);
	long i;

	for (i = 1; i <= steps; i++)
		lull_store(now, start + (uint64_t)i * (PERIOD / 8 * 5 / (uint64_t)steps));
}

static void prepare(const struct sched_scenario *chosen)
{
	scenario = chosen;
	instance = sched_alloc(sizeof(*instance), 64);
	now = sched_alloc(sizeof(*now), 64);
	sched_name(instance, sizeof(*instance), "clock");
	sched_name(now, sizeof(*now), "now");
	memset(instance, 0x5a, sizeof(*instance)); /* the free copy holds no time */
	lull_store(now, (1ull << 32) - PERIOD / 4);
	lull_synthetic_start(instance, BITS, lull_load(now), counter_now);
}

static void nmi_over_update(const struct sched_scenario *chosen)
{
	prepare(chosen);
	sched_thread("timer", 0, update_twice_then_read, 0);
	sched_handler("nmi", 0, 2, read_checked, 0);
	sched_thread("time", 1, time_passes, 2);
}

static void nmi_over_timer_over_read(const struct sched_scenario *chosen)
{
	int timer;

	prepare(chosen);
	sched_thread("reader", 0, read_checked, 0);
	timer = sched_handler("timer", 0, 1, update, 0);
	sched_handler("nmi", timer, 1, read_checked, 0);
	sched_thread("time", 1, time_passes, 3);
}

/* The thread reads across the overflow; time passes whole quarters between its reads. */
static void read_read(long argument)
{
	read_checked(argument);
	read_checked(argument);
}

static void timer_over_reads(const struct sched_scenario *chosen)
{
	prepare(chosen);
	sched_thread("reader", 0, read_read, 0);
	sched_handler("timer", 0, 1, update, 0);
	sched_thread("time", 1, time_passes, 4);
}

#define U .preemptions = SCHED_UNBOUNDED
#define BROKEN(name) .parameter = { MUTANT_##name }, .expect_failure = 1

/* CLOCK_NO_FLIP and CLOCK_NO_TOLERANCE need no interruption: synthetic_arithmetic.c. */
static const struct sched_scenario scenarios[] = {
	{ "nmi_over_update", nmi_over_update, .memory = SCHED_PSO, U },
	{ "nmi_over_timer_over_read", nmi_over_timer_over_read, .memory = SCHED_PSO, U },
	{ "timer_over_reads", timer_over_reads, .memory = SCHED_PSO, U },
	{ "nmi_sees_the_only_copy_change", nmi_over_update, .memory = SCHED_PSO, U,
	  BROKEN(CLOCK_ONE_COPY) },
	{ "timer_changes_the_only_copy", timer_over_reads, .memory = SCHED_PSO, U,
	  BROKEN(CLOCK_ONE_COPY) },
	{ "nmi_sees_an_index_that_came_early", nmi_over_update, .memory = SCHED_PSO, U,
	  BROKEN(CLOCK_INDEX_EARLY) },
	{ "nested_nmi_sees_an_index_that_came_early", nmi_over_timer_over_read, .memory = SCHED_PSO,
	  U, BROKEN(CLOCK_INDEX_EARLY) },
};

int main(void)
{
	int count = (int)(sizeof(scenarios) / sizeof(scenarios[0]));
	int wrong = sched_run(scenarios, (size_t)count);

	printf("%d passed, %d failed, 0 skipped\n", count - wrong, wrong);
	return wrong != 0;
}
