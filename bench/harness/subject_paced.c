/* SPDX-License-Identifier: MIT */
/*
 * Events at a given rate: each thread wakes every millisecond and emits that millisecond's
 * share, so the CPU is free in between for whoever writes the trace to disk. A thread that
 * wakes late does not catch up, or it would emit at a much higher rate than asked for; it ends
 * later, and the answer says how long it took.
 */
#include <pthread.h>

#include "subject.h"

#define TICK_NS 1000000ull
#define TICKS_PER_SECOND 1000ull

struct pacer {
	pthread_t thread;
	subject_loop loop;
	unsigned int cpu;
	uint64_t events_per_tick;
	uint64_t tick_count;
	struct timing timing;
};

static void *pacer_main(void *argument)
{
	struct pacer *pacer = argument;
	uint64_t due_ns;

	timing_pin(pacer->cpu);
	timing_begin(&pacer->timing);
	due_ns = pacer->timing.wall_ns;
	for (uint64_t i = 0; i < pacer->tick_count; i++) {
		uint64_t now_ns = timing_read_ns(CLOCK_MONOTONIC);
		struct timespec due;

		if (now_ns > due_ns + TICK_NS)
			due_ns = now_ns;
		due.tv_sec = (time_t)(due_ns / 1000000000ull);
		due.tv_nsec = (long)(due_ns % 1000000000ull);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		pacer->loop(pacer->events_per_tick);
		due_ns += TICK_NS;
	}
	timing_end(&pacer->timing);
	return NULL;
}

int subject_paced(subject_loop loop, unsigned int thread_count, uint64_t rate, double seconds)
{
	static struct pacer pacers[SUBJECT_THREADS_MAX];
	uint64_t cpu_ns = 0, wall_ns = 0, written_count = 0;

	if (!loop || !thread_count || thread_count > SUBJECT_THREADS_MAX)
		return -1;
	for (unsigned int i = 0; i < thread_count; i++) {
		pacers[i] = (struct pacer){
			.loop = loop,
			.cpu = i,
			.events_per_tick = rate / TICKS_PER_SECOND,
			.tick_count = (uint64_t)(seconds * TICKS_PER_SECOND),
		};
		if (pthread_create(&pacers[i].thread, NULL, pacer_main, &pacers[i]))
			exit(2);
	}
	for (unsigned int i = 0; i < thread_count; i++) {
		pthread_join(pacers[i].thread, NULL);
		cpu_ns += pacers[i].timing.cpu_ns;
		written_count += pacers[i].events_per_tick * pacers[i].tick_count;
		if (pacers[i].timing.wall_ns > wall_ns)
			wall_ns = pacers[i].timing.wall_ns;
	}
	printf("written=%llu cpu_ns=%llu wall_ns=%llu\n", (unsigned long long)written_count,
	       (unsigned long long)cpu_ns, (unsigned long long)wall_ns);
	return 0;
}
