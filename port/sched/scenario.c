// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What setup declares; and the run of a table of scenarios, reported in one line per scenario.
 */
#include <stdlib.h>
#include <string.h>
#include "world.h"

enum sched_mutant sched_mutant;

static void too_many(const char *what)
{
	sched_fail(__FILE__, __LINE__, what, "a scenario declares more than sched.h allows");
}

void *sched_alloc(size_t bytes, size_t align)
{
	uint32_t offset = (uint32_t)((fixture.arena_bytes + align - 1) / align * align);

	if (offset + bytes > SCHED_ARENA_BYTES)
		too_many("SCHED_ARENA_BYTES");
	fixture.arena_bytes = (uint32_t)((offset + bytes + 7) & ~7ul);
	return world.arena + offset;
}

void *sched_ghost(size_t bytes)
{
	uint32_t offset = fixture.ghost_bytes;

	if (offset + bytes > SCHED_GHOST_BYTES)
		too_many("SCHED_GHOST_BYTES");
	fixture.ghost_bytes = (uint32_t)((offset + bytes + 7) & ~7ul);
	return world.ghost + offset;
}

static int declare(const char *name, uint32_t cpu, void (*body)(long argument), long argument)
{
	uint32_t index = fixture.thread_count;
	struct thread *thread;

	if (index == SCHED_THREADS_MAX)
		too_many("SCHED_THREADS_MAX");
	if (cpu >= SCHED_CPUS_MAX)
		too_many("SCHED_CPUS_MAX");
	fixture.thread_count++;
	if (cpu >= fixture.cpu_count)
		fixture.cpu_count = cpu + 1;
	fixture.thread[index].name = name;
	fixture.thread[index].body = body;
	fixture.thread[index].argument = argument;
	thread = &world.thread[index];
	thread->cpu = (uint8_t)cpu;
	thread->host = NO_THREAD;
	thread->refusals_left = fixture.scenario->refusals;
	thread->state = THREAD_READY;
	return (int)index;
}

void sched_plain(const void *address, size_t bytes)
{
	uint32_t offset = arena_offset(address, bytes), index = fixture.plain_count;

	if (index == PLAIN_MAX)
		too_many("PLAIN_MAX");
	sched_check(offset % 8 == 0 && bytes % 8 == 0, "plain memory that is not whole words");
	fixture.plain[index].offset = offset;
	fixture.plain[index].bytes = (uint32_t)bytes;
	fixture.plain_count++;
}

int sched_thread(const char *name, uint32_t cpu, void (*body)(long argument), long argument)
{
	return declare(name, cpu, body, argument);
}

int sched_handler(const char *name, int host, uint32_t runs, void (*body)(long argument),
		  long argument)
{
	int index = declare(name, world.thread[host].cpu, body, argument);

	world.thread[index].host = (uint8_t)host;
	world.thread[index].runs_left = (uint8_t)runs;
	world.thread[index].state = THREAD_IDLE;
	return index;
}

void sched_may_die(int thread)
{
	world.thread[thread].may_die = 1;
}

void sched_may_migrate(int thread)
{
	world.thread[thread].may_migrate = 1;
}

/* The failing schedule with the fewest preemptions says most; look for it first. */
static void report_shortest(const struct sched_scenario *scenario)
{
	struct sched_scenario bounded = *scenario;
	struct sched_result result;

	for (bounded.preemptions = 0; bounded.preemptions < 4; bounded.preemptions++) {
		sched_explore(&bounded, &result, stdout);
		if (result.outcome == SCHED_FAILED)
			return;
	}
	sched_explore(scenario, &result, stdout);
}

static void print_line(const struct sched_scenario *scenario, const struct sched_result *result,
		       int as_expected)
{
	printf("%s %s: %llu states, %.3g schedules, %llu ends, depth %u, %.2f s%s%s\n",
	       as_expected ? "ok  " : "FAIL", scenario->name, (unsigned long long)result->states,
	       result->schedules, (unsigned long long)result->ends, result->depth, result->seconds,
	       result->outcome == SCHED_PASSED ? "" : ", ",
	       result->outcome == SCHED_TOO_LARGE ? "more states than its bound" : result->message);
	fflush(stdout);
}

int sched_run(const struct sched_scenario *scenarios, size_t count)
{
	struct sched_result result;
	int wrong = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		enum sched_outcome expected =
			scenarios[i].expect_failure ? SCHED_FAILED : SCHED_PASSED;

		sched_explore(&scenarios[i], &result, NULL);
		print_line(&scenarios[i], &result, result.outcome == expected);
		if (result.outcome == expected)
			continue;
		wrong++;
		if (result.outcome == SCHED_FAILED)
			report_shortest(&scenarios[i]);
	}
	return wrong;
}
