// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Tests of the trace clock in user space, on the machine at hand. Each runs in a child, since
 * a process chooses its clock once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../check/test.h"
#include "clock_user.h"
#include "lull/clock.h"

#define READINGS 2000000 /* back to back; enough to see one reordering in a million */

static uint64_t library_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Is @clock the C library's CLOCK_MONOTONIC? */
static int is_monotonic(uint64_t (*clock)(void))
{
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t before = library_ns(), ns = clock(), after = library_ns();

		if (ns < before || ns > after)
			return 0;
	}
	return 1;
}

static uint64_t cycles_now(void)
{
	return lull_clock_cycles();
}

static uint64_t cycles_ordered_now(void)
{
	return lull_clock_cycles_ordered();
}

static int clock_not_started_reads_monotonic(void)
{
	CHECK(is_monotonic(cycles_now));
	CHECK(is_monotonic(cycles_ordered_now));
	return 0;
}

static int monotonic_kind_reads_monotonic_through_the_vdso(void)
{
	CHECK(lull_clock_start(LULL_CLOCK_MONOTONIC) == 0);
	CHECK(lull_clock_kind() == LULL_CLOCK_MONOTONIC);
	CHECK(is_monotonic(cycles_now));
#if defined(__x86_64__)
	CHECK(lull_clock.gettime); /* every x86-64 kernel has one */
#endif
	return 0;
}

static int without_vdso_the_system_call_serves(void)
{
	CHECK(lull_clock_start(LULL_CLOCK_MONOTONIC) == 0);
	lull_clock.gettime = NULL;
	CHECK(is_monotonic(cycles_now));
	return 0;
}

static int refusing_vdso(int32_t clock, void *now)
{
	(void)clock;
	memset(now, 0xff, sizeof(struct timespec));
	return -EINVAL;
}

static int vdso_that_fails_is_not_believed(void)
{
	CHECK(lull_clock_start(LULL_CLOCK_MONOTONIC) == 0);
	lull_clock.gettime = refusing_vdso;
	CHECK(is_monotonic(cycles_now));
	return 0;
}

static int kind_is_chosen_once(void)
{
	uint32_t kind = lull_clock_kind();
	uint32_t other = kind == LULL_CLOCK_MONOTONIC ? LULL_CLOCK_TSC : LULL_CLOCK_MONOTONIC;

	CHECK(lull_clock_name(kind));
	CHECK(lull_clock_start(kind) == 0);
	CHECK(lull_clock_start(LULL_CLOCK_ANY) == 0);
	CHECK(lull_clock_start(other) == -EBUSY);
	CHECK(lull_clock_kind() == kind);
	return 0;
}

static int clock_of_another_architecture_is_refused(void)
{
	uint32_t foreign =
		LULL_CLOCK_COUNTER_KIND == LULL_CLOCK_TSC ? LULL_CLOCK_CNTVCT : LULL_CLOCK_TSC;

	CHECK(lull_clock_start(foreign) == -EOPNOTSUPP);
	CHECK(lull_clock_start(1234) == -EOPNOTSUPP);
	CHECK(!lull_clock.started);
	CHECK(is_monotonic(cycles_now));
	return 0;
}

static int forbidden_tsc_is_refused(void)
{
#if defined(__x86_64__)
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		return 0; /* cannot be forbidden here */
	CHECK(lull_clock_start(LULL_CLOCK_TSC) == -EOPNOTSUPP);
	CHECK(lull_clock_kind() == LULL_CLOCK_MONOTONIC);
	CHECK(lull_clock_cycles() > 0); /* rdtsc, and the vDSO's, would have killed us */
#endif
	return 0;
}

/* What rdtsc without a fence rests on: one CPU returns values in program order. */
static int counter_never_steps_back_on_one_cpu(void)
{
	uint64_t last, first, second;
	cpu_set_t cpus;
	int i;

	CHECK(lull_clock_start(LULL_CLOCK_COUNTER_KIND) == 0);
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	last = lull_clock_cycles();
	for (i = 0; i < READINGS; i++) {
		first = lull_clock_cycles();
		second = lull_clock_cycles();
		CHECK(first >= last && second >= first);
		last = lull_clock_cycles_ordered();
		CHECK(last >= second);
	}
	return 0;
}

/* Each test has a process of its own. Return: did it pass? */
static int passes(int (*test)(void))
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		int result = test();

		fflush(stdout);
		_exit(result);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
	static const struct {
		const char *name;
		int (*test)(void);
	} tests[] = {
#define TEST(name) { #name, name }
		TEST(clock_not_started_reads_monotonic),
		TEST(monotonic_kind_reads_monotonic_through_the_vdso),
		TEST(without_vdso_the_system_call_serves),
		TEST(vdso_that_fails_is_not_believed),
		TEST(kind_is_chosen_once),
		TEST(clock_of_another_architecture_is_refused),
		TEST(forbidden_tsc_is_refused),
		TEST(counter_never_steps_back_on_one_cpu),
	};
	unsigned int count = sizeof(tests) / sizeof(tests[0]), i;

	for (i = 0; i < count; i++)
		check(passes(tests[i].test), tests[i].name);
	return sums();
}
