// SPDX-License-Identifier: MIT
/*
 * The measured program of the QDo tables: reads commands, one a line, and answers each with one.
 * INSTANCE stands for ALGORITHM SUBMISSION PERIOD_US TIMER_ONLY CPUS, of struct qdo_config; with
 * TIMER_ONLY 2 the instance is the default one, but for a monitor on each CPU.
 *
 *	chain INSTANCE COUNT SCRIPTS PAUSE KEEP  each callback makes the next request (qdo_chain.c)
 *	overhead INSTANCE THREADS WHAT      threads one after the other (qdo_overhead.c)
 *	operations INSTANCE COUNT           operations one after the other (qdo_overhead.c)
 *	server INSTANCE SCRIPTS GUARD PASSES RUNS  scripts on a shared table (qdo_server.c)
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/prctl.h>

#include "host.h"
#include "qdo_subject.h"

unsigned int qdo_subject_cpus[QDO_CPUS_MAX];
unsigned int qdo_subject_cpu_count;

static cpu_set_t allowed; /* as the program was started, before any pin */

void qdo_subject_pin(unsigned int cpu)
{
	timing_pin(cpu);
}

void qdo_subject_unpin(void)
{
	if (sched_setaffinity(0, sizeof(allowed), &allowed)) {
		perror("bench: sched_setaffinity");
		exit(2);
	}
}

/* An instance of thesis mode that made no request yet keeps its monitors, and nothing else. */
static void become_ordinary(struct qdo *instance)
{
	instance->timer_only = 0;
	instance->core.own_generation_only = 0;
	instance->core.prompting = 1;
}

struct qdo *qdo_subject_instance(const char *arguments, const char **rest)
{
	unsigned int algorithm, submission, period_us, timer_only, cpus;
	struct qdo_config config;
	struct qdo *instance;
	int length, error;

	if (sscanf(arguments, "%u %u %u %u %u %n", &algorithm, &submission, &period_us, &timer_only,
		   &cpus, &length) != 5)
		return NULL;
	config = (struct qdo_config){
		.algorithm = (enum qdo_algorithm)algorithm,
		.submission = (enum qdo_submission)submission,
		.period_us = period_us,
		.timer_only = timer_only != 0,
		.cpu_count = cpus,
	};
	error = qdo_create(&config, &instance);
	if (error) {
		fprintf(stderr, "bench qdo: no instance: %s\n", strerror(-error));
		return NULL;
	}
	if (timer_only == 2)
		become_ordinary(instance);
	*rest = arguments + length;
	return instance;
}

static int prepare(void)
{
	unsigned int cpu;

	/* Timers as exact as the paper's: Linux would end each sleep up to 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
	/* Memory stays with the program: no sample pays for pages that another gave back. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		perror("bench: sched_getaffinity");
		return -1;
	}
	for (cpu = 0; cpu < QDO_CPUS_MAX && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			qdo_subject_cpus[qdo_subject_cpu_count++] = cpu;
	return 0;
}

static int answer(const char *line)
{
	static const struct {
		const char *name;
		int (*answer)(const char *arguments);
	} commands[] = {
		{ "chain ", qdo_answer_chain },
		{ "overhead ", qdo_answer_overhead },
		{ "operations ", qdo_answer_operations },
		{ "server ", qdo_answer_server },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strncmp(line, commands[i].name, strlen(commands[i].name)))
			return commands[i].answer(line + strlen(commands[i].name));
	return -1;
}

int main(void)
{
	char line[256];

	if (prepare())
		return 2;
	printf("ready cpus=%u\n", qdo_subject_cpu_count);
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
