// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The simulated machine and the runner of the clock's tests. See step.h.
 */
#include <stdio.h>
#include <string.h>
#include "../../../check/test.h"
#include "lull_port.h"
#include "step.h"

#define MUTANT_NAME_BYTES 32

uint64_t step_time;
uint64_t step_time_per_access;
uint64_t step_offset;
uint64_t step_jitter;

static char mutant[MUTANT_NAME_BYTES]; /* empty: the shipped code */
static uint64_t interrupt_countdown; /* 0: none */
static void (*interrupt_handler)(void);
static uint64_t random_state;

int step_mutant_is(const char *name)
{
	return mutant[0] && !strcmp(mutant, name);
}

void step_access(void)
{
	step_time += step_time_per_access;
	if (interrupt_countdown && !--interrupt_countdown)
		interrupt_handler();
}

uint64_t step_counter(void)
{
	step_access();
	return step_time + step_offset - (step_jitter ? step_random() % (step_jitter + 1) : 0);
}

void step_interrupt_at(uint64_t access, void (*handler)(void))
{
	interrupt_countdown = access;
	interrupt_handler = handler;
}

int step_interrupt_clear(void)
{
	int pending = interrupt_countdown != 0;

	interrupt_countdown = 0;
	return pending;
}

uint64_t step_random(void)
{
	random_state += 0x9e3779b97f4a7c15ull;
	return (random_state ^ random_state >> 29) * 0xbf58476d1ce4e5b9ull;
}

static int run_one(const struct step_test *test)
{
	step_time = 0;
	step_time_per_access = 0;
	step_offset = 0;
	step_jitter = 0;
	random_state = 1;
	step_interrupt_clear();
	return test->run();
}

int step_run(const struct step_test *tests, unsigned int count)
{
	char name[160];
	unsigned int i;
	int line;

	for (i = 0; i < count; i++) {
		const char *from = tests[i].mutants;

		mutant[0] = 0;
		line = run_one(&tests[i]);
		if (line)
			printf("  line %d\n", line);
		check(!line, tests[i].name);
		while (from && *from) {
			size_t bytes = strcspn(from, " ");

			snprintf(mutant, sizeof(mutant), "%.*s", (int)bytes, from);
			snprintf(name, sizeof(name), "%s catches %s", tests[i].name, mutant);
			check(run_one(&tests[i]), name);
			from += bytes + strspn(from + bytes, " ");
		}
	}
	return sums();
}
