/* SPDX-License-Identifier: MIT */
/* The measured program's loops, in one thread and in several; see subject.h. */
#include <pthread.h>
#include <string.h>

#include "subject.h"
#include SUBJECT_EMIT

/* Loops start on their own cache line, so that code placement favours none of them. */
#define SUBJECT_LOOP static __attribute__((noinline, aligned(64))) void

static char pointee;

static inline void emit_nothing(long value, void *pointer)
{
	__asm__ volatile("" ::"r"(value), "r"(pointer));
}

SUBJECT_LOOP loop_empty(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		emit_nothing((long)i, &pointee);
}

SUBJECT_LOOP loop_cycles(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t cycles = timing_cycles();

		SUBJECT_OPAQUE(cycles);
	}
}

SUBJECT_LOOP loop_clock(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t now_ns = timing_read_ns(CLOCK_MONOTONIC);

		SUBJECT_OPAQUE(now_ns);
	}
}

SUBJECT_LOOP loop_two_words(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		emit_two_words((long)i, &pointee);
}

SUBJECT_LOOP loop_one_int(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		emit_one_int((int)i);
}

#ifdef SUBJECT_HAS_TEXT
static const char text[] = "/api/users/1234567";

SUBJECT_LOOP loop_text(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		emit_text(text);
}
#endif

/* For tracers that put a breakpoint on a function: the same values as two_words. */
__attribute__((noinline)) void subject_point(long value, void *pointer)
{
	emit_nothing(value, pointer);
}

SUBJECT_LOOP loop_points(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		subject_point((long)i, &pointee);
}

/* Not static: the bench of disabled sites looks these two up in the disassembly. */
__attribute__((noinline, aligned(64))) void subject_loop_sites(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
		emit_two_words((long)i, &pointee);
	}
}

__attribute__((noinline, aligned(64))) void subject_loop_no_sites(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
		emit_nothing((long)i, &pointee);
	}
}

static const struct {
	const char *name;
	subject_loop loop;
} loops[] = {
	{ "empty", loop_empty },	 { "cycles", loop_cycles },
	{ "clock", loop_clock },	 { "two_words", loop_two_words },
	{ "one_int", loop_one_int },	 { "points", loop_points },
#ifdef SUBJECT_HAS_TEXT
	{ "text", loop_text },
#endif
	{ "sites", subject_loop_sites }, { "no_sites", subject_loop_no_sites },
};

subject_loop subject_loop_find(const char *name)
{
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (!strcmp(loops[i].name, name))
			return loops[i].loop;
	}
	return NULL;
}

struct runner {
	pthread_t thread;
	pthread_barrier_t *start;
	subject_loop loop;
	unsigned int cpu;
	uint64_t count;
	struct timing timing;
};

static void *runner_main(void *argument)
{
	struct runner *runner = argument;

	timing_pin(runner->cpu);
	runner->loop(1000); /* a thread's first event initialises its tracer */
	pthread_barrier_wait(runner->start);
	timing_begin(&runner->timing);
	runner->loop(runner->count);
	timing_end(&runner->timing);
	return NULL;
}

int subject_threads(subject_loop loop, unsigned int thread_count, uint64_t count)
{
	static struct runner runners[SUBJECT_THREADS_MAX];
	pthread_barrier_t start;
	double by_cpu = 0, by_wall = 0;

	if (!loop || !thread_count || thread_count > SUBJECT_THREADS_MAX)
		return -1;
	pthread_barrier_init(&start, NULL, thread_count);
	for (unsigned int i = 0; i < thread_count; i++) {
		runners[i] =
			(struct runner){ .start = &start, .loop = loop, .cpu = i, .count = count };
		if (pthread_create(&runners[i].thread, NULL, runner_main, &runners[i]))
			exit(2);
	}
	for (unsigned int i = 0; i < thread_count; i++) {
		pthread_join(runners[i].thread, NULL);
		by_cpu += (double)count / (double)runners[i].timing.cpu_ns;
		by_wall += (double)count / (double)runners[i].timing.wall_ns;
	}
	pthread_barrier_destroy(&start);
	printf("cpu_events_per_us=%.4f wall_events_per_us=%.4f\n", by_cpu * 1e3, by_wall * 1e3);
	return 0;
}
