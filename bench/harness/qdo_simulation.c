// SPDX-License-Identifier: MIT
/*
 * More CPUs than there are: the library's core under timers that are numbers (Q tables 5.3, 5.6).
 *
 * Runs the code that runs in programs, without threads: each CPU is idle and steps when its timer
 * ends, or when a request is made there, as the host does in the thesis's mode; each callback makes
 * the next request. What is simulated is when steps come, and nothing else: timers end up to
 * LATE_US late, a callback runs EXECUTION_US after quiescence.
 *
 *	chain ALGORITHM PERIOD_US CPUS COUNT KEEP PAUSE
 *
 * KEEP: timers go on while nothing is pending; else they rest. PAUSE: each request comes at any
 * time of the period after the callback before; else at once.
 *
 *	snapshot CPUS ASKING COUNT BY_CPU
 *
 * COUNT requests on each of the first ASKING CPUs, for all CPUs: what all steps cost until all are
 * done, per request. BY_CPU:
 * as in Q 3.3.2 each CPU takes a snapshot of all others at each of its steps, and a request keeps a
 * copy of its CPU's; else as in the library, where a request reads the generations itself.
 */
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "timing.h"

#define CPUS_MAX 256u
#define LATE_US 100.0
#define EXECUTION_US 30.0
#define STEPS_MAX 100000000ul
#define ROUNDS_MAX 8
#define REQUESTS_PHASES 20 /* between two choices of phases */

struct simulation {
	struct qdo_core core;
	double due_us[CPUS_MAX]; /* infinite: it rests */
	double now_us, period_us;
	uint64_t seed;
	int is_kept, is_paused;
};

static struct simulation machine;
static unsigned int here;

/* What the core asks of its host and port. */

void qdo_port_prompt(struct qdo_core *core, unsigned int cpu)
{
	(void)core;
	(void)cpu;
}

void lull_qdo_fence_heavy(void)
{
}

unsigned int lull_qdo_cpu(void)
{
	return here;
}

int lull_qdo_count(unsigned int cpu, unsigned long *counter)
{
	(void)cpu;
	++*counter;
	return 1;
}

int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired)
{
	(void)cpu;
	if (*head != expect)
		return 0;
	*head = desired;
	return 1;
}

/* From 0 to below @most; the same numbers in every run. */
static double any(double most)
{
	machine.seed ^= machine.seed << 13;
	machine.seed ^= machine.seed >> 7;
	machine.seed ^= machine.seed << 17;
	return most * (double)(machine.seed >> 11) / 9007199254740992.0;
}

static double next_due_us(void)
{
	return machine.now_us + machine.period_us + any(LATE_US);
}

/* Return: whether the request is done. */
static int step(unsigned int cpu)
{
	struct qdo_step result;

	here = cpu;
	qdo_core_step(&machine.core, cpu, &result);
	machine.due_us[cpu] = result.pending || machine.is_kept ? next_due_us() : INFINITY;
	return result.done != NULL;
}

static unsigned int first_due(void)
{
	unsigned int first = 0;

	for (unsigned int cpu = 1; cpu < machine.core.cpu_count; cpu++)
		if (machine.due_us[cpu] < machine.due_us[first])
			first = cpu;
	return first;
}

/* Timers that end before @until_us, or before the request is done. Return: whether it is. */
static int pass_time(double until_us)
{
	for (unsigned long steps = 0; steps < STEPS_MAX; steps++) {
		unsigned int cpu = first_due();

		if (machine.due_us[cpu] >= until_us)
			break;
		machine.now_us = machine.due_us[cpu];
		if (step(cpu))
			return 1;
	}
	machine.now_us = until_us;
	return 0;
}

/* Return: its latency in microseconds, or a negative number: it is never done. */
static double request_one(struct qdo_request *request)
{
	unsigned int cpu, count = machine.core.cpu_count;
	double begin_us = machine.now_us;

	memset(request, 0, qdo_core_request_bytes(&machine.core));
	for (cpu = 0; cpu < count; cpu++)
		qdo_set_add(&request->quiescence, cpu);
	here = 0;
	qdo_core_submit(&machine.core, request);
	for (cpu = 0; cpu < count; cpu++)
		if (isinf(machine.due_us[cpu]))
			machine.due_us[cpu] = next_due_us();
	if (!step(0) && !pass_time(INFINITY))
		return -1;
	machine.now_us += EXECUTION_US;
	return machine.now_us - begin_us;
}

/* New phases, so that an average is not one of a few timers that happen to stand so. */
static int restart(void *memory)
{
	unsigned int cpu, count = machine.core.cpu_count;

	memset(memory, 0, qdo_core_bytes(count));
	machine.now_us = 0;
	for (cpu = 0; cpu < count; cpu++)
		machine.due_us[cpu] = machine.is_kept ? any(machine.period_us) : INFINITY;
	return qdo_core_start(&machine.core, memory);
}

/* Return: the average latency, or a negative number. */
static double run(unsigned int count, void *memory, struct qdo_request *request)
{
	double sum_us = 0, latency_us;

	for (unsigned int i = 0; i < count; i++) {
		if (i % REQUESTS_PHASES == 0 && restart(memory))
			return -1;
		if (machine.is_paused)
			pass_time(machine.now_us + any(machine.period_us));
		latency_us = request_one(request);
		if (latency_us < 0)
			return -1;
		sum_us += latency_us;
	}
	return sum_us / count;
}

/* The snapshot of each CPU, of all CPUs' generations: what Q's CPUs keep beside the core. */
static unsigned long *snapshots;

static int is_passed(const struct qdo_request *request, const unsigned long *snapshot)
{
	unsigned int cpu, count = machine.core.cpu_count;

	for (cpu = 0; cpu < count; cpu++)
		if (!qdo_number_reached(snapshot[cpu], request->generations[cpu] + QDO_GENERATIONS))
			return 0;
	return 1;
}

/* A step as Q has it. What is waited for is what the library's snapshot waits for. */
static void step_by_cpu(unsigned int index, struct qdo_step *result)
{
	struct qdo_core *core = &machine.core;
	struct qdo_cpu *cpu = &core->cpus[index];
	unsigned long *snapshot = &snapshots[(size_t)index * core->cpu_count];
	struct qdo_request *taken = qdo_submitted_take(core, index), *request, *next;
	unsigned int i;

	if (taken)
		lull_qdo_fence_heavy();
	for (i = 0; i < core->cpu_count; i++)
		snapshot[i] = lull_mem_load_acquire(&core->cpus[i].operations.generation);
	cpu->counts.communications += core->cpu_count - 1;
	qdo_generation_advance(core, index, QDO_GENERATIONS);
	result->done = NULL;
	result->done_end = &result->done;
	for (request = qdo_waiting_all(cpu); request; request = next) {
		next = request->next;
		if (is_passed(request, snapshot))
			qdo_done(cpu, request, result);
		else
			qdo_wait(cpu, request);
	}
	for (request = taken; request; request = next) {
		next = request->next;
		memcpy(request->generations, snapshot, core->cpu_count * sizeof(*snapshot));
		qdo_wait(cpu, request);
	}
}

static void submit(unsigned int cpu, unsigned int count)
{
	for (; count; count--) {
		struct qdo_request *request = calloc(1, qdo_core_request_bytes(&machine.core));

		if (!request)
			abort();
		for (unsigned int i = 0; i < machine.core.cpu_count; i++)
			qdo_set_add(&request->quiescence, i);
		here = cpu;
		qdo_core_submit(&machine.core, request);
	}
}

/* One step of each CPU. Return: how many requests are done. */
static unsigned int round_of_steps(unsigned int by_cpu)
{
	struct qdo_request *request, *next;
	unsigned int done = 0;

	for (unsigned int cpu = machine.core.cpu_count; cpu--;) {
		struct qdo_step result;

		here = cpu;
		if (by_cpu)
			step_by_cpu(cpu, &result);
		else
			qdo_core_step(&machine.core, cpu, &result);
		for (request = result.done; request; request = next, done++) {
			next = request->next;
			free(request);
		}
	}
	return done;
}

static int answer_snapshot(unsigned int cpus, unsigned int asking, unsigned int count,
			   unsigned int by_cpu)
{
	void *memory = aligned_alloc(64, qdo_core_bytes(cpus));
	unsigned int cpu, rounds, left = asking * count;
	unsigned long words = 0;
	uint64_t begin_ns, end_ns;

	machine.core = (struct qdo_core){ .cpu_count = cpus, .own_generation_only = 1 };
	snapshots = calloc((size_t)cpus * cpus, sizeof(*snapshots));
	if (!memory || !snapshots)
		return -1;
	memset(memory, 0, qdo_core_bytes(cpus));
	if (qdo_core_start(&machine.core, memory))
		return -1;
	for (cpu = 0; cpu < asking; cpu++)
		submit(cpu, count);
	begin_ns = timing_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (rounds = 0; left && rounds < ROUNDS_MAX; rounds++)
		left -= round_of_steps(by_cpu);
	end_ns = timing_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (cpu = 0; cpu < cpus; cpu++)
		words += machine.core.cpus[cpu].counts.communications;
	printf("rounds=%u words=%.3f step_ns=%.2f\n", rounds, (double)words / (asking * count),
	       (double)(end_ns - begin_ns) / (asking * count));
	free(snapshots);
	free(memory);
	return left ? -1 : 0;
}

static int answer(const char *line)
{
	unsigned int asking, by_cpu;
	unsigned int algorithm, period_us, cpus, count, is_kept, is_paused;
	struct qdo_request *request;
	double latency_us = -1;
	void *memory;

	if (sscanf(line, "snapshot %u %u %u %u", &cpus, &asking, &count, &by_cpu) == 4)
		return !asking || !count || asking > cpus || cpus > CPUS_MAX ?
			       -1 :
			       answer_snapshot(cpus, asking, count, by_cpu);
	if (sscanf(line, "chain %u %u %u %u %u %u", &algorithm, &period_us, &cpus, &count, &is_kept,
		   &is_paused) != 6 ||
	    !count || !period_us || !cpus || cpus > CPUS_MAX)
		return -1;
	machine.core = (struct qdo_core){
		.cpu_count = cpus,
		.algorithm = (enum qdo_algorithm)algorithm,
		.submission = QDO_SUBMIT_RESTARTABLE,
		.own_generation_only = 1,
	};
	machine.seed = 0x9e3779b97f4a7c15u;
	machine.period_us = period_us;
	machine.is_kept = (int)is_kept;
	machine.is_paused = (int)is_paused;
	memory = aligned_alloc(64, qdo_core_bytes(cpus));
	request = malloc(qdo_core_request_bytes(&machine.core));
	if (memory && request)
		latency_us = run(count, memory, request);
	free(request);
	free(memory);
	if (latency_us < 0) {
		fprintf(stderr, "bench qdo: a simulated request is never done\n");
		return -1;
	}
	printf("callback_ms=%.4f\n", latency_us / 1000);
	return 0;
}

int main(void)
{
	char line[256];

	printf("ready simulation=1\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (answer(line)) {
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr, "bench qdo: cannot run the command '%s'\n", line);
			return 2;
		}
		fflush(stdout);
	}
	return 0;
}
