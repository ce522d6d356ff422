/* SPDX-License-Identifier: MIT */
/*
 * A machine for QDo's core without threads: CPUs are numbers, time is a count of steps.
 *
 * It stands in for the host and the port: the test says on which CPU the program is, and steps CPUs
 * itself, all in turn as a timer does or only those that were prompted. Paper: Q table 3.1.
 */
#ifndef QDO_SIMULATION_TEST_H
#define QDO_SIMULATION_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../check/test.h"
#include "core.h"

static struct qdo_core core;
static unsigned int here; /* the CPU on which the program runs */
/* Called where a program may be interrupted within enter and submit; may change the CPU. */
static void (*interruption)(void);
static int no_steps; /* 1: there are no restartable steps; 2: they always fail */
static unsigned char prompted[QDO_CPUS_MAX];
static unsigned char waits[QDO_CPUS_MAX];
static unsigned long prompt_count, fence_count;
static void *memory;
static int faults;

/* A condition that must always hold; if it does not, the case that is being checked fails. */
#define EXPECT(condition, ...)                                       \
	do {                                                         \
		if (!(condition) && faults++ < 5) {                  \
			printf("fault %s:%d: ", __func__, __LINE__); \
			printf(__VA_ARGS__);                         \
			printf("\n");                                \
		}                                                    \
	} while (0)

static void behaves(int condition, const char *name)
{
	check(condition && !faults, name);
	faults = 0;
}

void qdo_port_prompt(struct qdo_core *which, unsigned int cpu)
{
	EXPECT(which == &core && cpu < core.cpu_count, "a prompt of CPU %u", cpu);
	prompted[cpu] = 1;
	prompt_count++;
}

void lull_qdo_fence_heavy(void)
{
	fence_count++;
}

unsigned int lull_qdo_cpu(void)
{
	return here;
}

int lull_qdo_count(unsigned int cpu, unsigned long *counter)
{
	if (interruption)
		interruption();
	if (no_steps || cpu != here)
		return no_steps == 1 ? -1 : 0;
	++*counter;
	return 1;
}

int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired)
{
	if (interruption)
		interruption();
	if (no_steps || cpu != here || *head != expect)
		return no_steps == 1 ? -1 : 0;
	*head = desired;
	return 1;
}

/* @timer: as in Q, only a CPU's own step moves its generation, and no CPU is prompted. */
static void machine_start(unsigned int cpus, enum qdo_algorithm algorithm,
			  enum qdo_submission submission, int timer)
{
	int error;

	free(memory);
	memory = aligned_alloc(64, qdo_core_bytes(cpus));
	if (!memory)
		abort();
	memset(memory, 0, qdo_core_bytes(cpus));
	memset(prompted, 0, sizeof(prompted));
	memset(waits, 0, sizeof(waits));
	here = 0;
	no_steps = 0;
	interruption = NULL;
	prompt_count = 0;
	fence_count = 0;
	memset(&core, 0, sizeof(core));
	core.cpu_count = cpus;
	core.algorithm = algorithm;
	core.submission = submission;
	core.own_generation_only = timer;
	core.prompting = !timer;
	error = qdo_core_start(&core, memory);
	EXPECT(!error, "start says %d", error);
}

static struct qdo_request *request_make(void)
{
	struct qdo_request *request = calloc(1, qdo_core_request_bytes(&core));

	if (!request)
		abort();
	return request;
}

static struct qdo_request *request_of_all(void)
{
	struct qdo_request *request = request_make();
	unsigned int cpu;

	for (cpu = 0; cpu < core.cpu_count; cpu++)
		qdo_set_add(&request->quiescence, cpu);
	return request;
}

/* Submits a request on a CPU, and prompts that CPU's step as the host does. */
static void request_submit(struct qdo_request *request, unsigned int cpu)
{
	unsigned int said;

	here = cpu;
	said = qdo_core_submit(&core, request);
	EXPECT(said == cpu, "submitted on CPU %u, said %u", cpu, said);
	prompted[cpu] = 1;
}

/* Makes one step. Return: the requests that are done, oldest first. */
static struct qdo_request *machine_step(unsigned int cpu)
{
	struct qdo_step step;

	prompted[cpu] = 0;
	qdo_core_step(&core, cpu, &step);
	waits[cpu] = (unsigned char)step.waits;
	EXPECT(step.pending == core.pending, "pending %lu, said %lu", core.pending, step.pending);
	return step.done;
}

static struct qdo_request *list_append(struct qdo_request *list, struct qdo_request *more)
{
	struct qdo_request **end = &list;

	while (*end)
		end = &(*end)->next;
	*end = more;
	return list;
}

static unsigned int list_free(struct qdo_request *list)
{
	struct qdo_request *next;
	unsigned int count = 0;

	for (; list; list = next, count++) {
		next = list->next;
		free(list);
	}
	return count;
}

/*
 * Steps prompted CPUs until none is prompted, which is all that happens without a timer. Return:
 * the requests that are done. Bound: more steps than any algorithm needs are a failure.
 */
static __attribute__((unused)) struct qdo_request *machine_settle(void)
{
	struct qdo_request *done = NULL;
	unsigned long bound = 64ul * (core.cpu_count + 1) * (core.pending + 4);
	unsigned int cpu, idle;

	for (idle = 0, cpu = 0; idle <= core.cpu_count; cpu = (cpu + 1) % core.cpu_count, idle++) {
		if (!prompted[cpu])
			continue;
		if (!bound--) {
			EXPECT(0, "prompts without end");
			break;
		}
		idle = 0;
		done = list_append(done, machine_step(cpu));
	}
	return done;
}

static int machine_result(void)
{
	free(memory);
	return sums();
}

#endif
