/* SPDX-License-Identifier: MIT */
/*
 * The measured program: reads commands, one a line, and answers each with one line.
 *
 *	pin CPU                        run on that CPU only
 *	loop NAME COUNT                time COUNT iterations
 *	threads NAME THREADS COUNT     the same in THREADS threads, thread i on CPU i
 *	handoff MASK EVENTS TURNS      two threads take turns of EVENTS events (bit i: thread i)
 *	signals EVENTS ALARM_US PROFILE_US   events in nested handlers over events in main
 *	paced NAME THREADS RATE SECONDS      RATE events a second in each thread
 *	worst SAMPLES FILLER_BYTES 0|1       one cold event at a time (1: evict the caches)
 *	place                          tell the process, and where its sequence area is
 *	lines EVENTS FILLER_BYTES      events between breakpoints, for a tracer that steps them
 *	busy THREADS                   so many threads emit events from now on, 20 each millisecond
 *	mark NUMBER                    one event that says the number
 */
#include <string.h>

#include "subject.h"
#include SUBJECT_EMIT

static int answer_loop(const char *name, uint64_t count)
{
	subject_loop loop = subject_loop_find(name);
	struct timing timing;

	if (!loop)
		return -1;
	timing_begin(&timing);
	loop(count);
	timing_end(&timing);
	printf("cpu_ns=%llu wall_ns=%llu count=%llu\n", (unsigned long long)timing.cpu_ns,
	       (unsigned long long)timing.wall_ns, (unsigned long long)count);
	return 0;
}

static int answer(const char *line)
{
	char name[32];
	unsigned int first, second, third;
	unsigned long long count;
	double seconds;

	if (sscanf(line, "pin %u", &first) == 1) {
		timing_pin(first);
		printf("pinned=%u\n", first);
		return 0;
	}
	if (sscanf(line, "loop %31s %llu", name, &count) == 2)
		return answer_loop(name, count);
	if (sscanf(line, "threads %31s %u %llu", name, &first, &count) == 3)
		return subject_threads(subject_loop_find(name), first, count);
	if (sscanf(line, "handoff %u %u %llu", &first, &second, &count) == 3)
		return subject_handoff(first, second, count);
	if (sscanf(line, "signals %llu %u %u", &count, &first, &second) == 3)
		return subject_signals(count, first, second);
	if (sscanf(line, "paced %31s %u %llu %lf", name, &first, &count, &seconds) == 4)
		return subject_paced(subject_loop_find(name), first, count, seconds);
	if (sscanf(line, "worst %u %u %u", &first, &second, &third) == 3)
		return subject_worst(first, second, third != 0);
	if (strncmp(line, "place", 5) == 0)
		return subject_place();
	if (sscanf(line, "lines %u %u", &first, &second) == 2)
		return subject_lines(first, second);
	if (sscanf(line, "busy %u", &first) == 1)
		return subject_busy(first);
	if (sscanf(line, "mark %u", &first) == 1)
		return subject_mark(first);
	return -1;
}

int main(void)
{
	char line[256];

	printf("ready tracer=%s\n", SUBJECT_TRACER);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (answer(line)) {
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr, "bench subject: cannot run the command '%s'\n", line);
			return 2;
		}
		fflush(stdout);
	}
	return 0;
}
