/* SPDX-License-Identifier: MIT */
/*
 * Callbacks at a fixed rate: what one costs the process, and how long it takes to be called.
 *
 * A thread allocates an object and calls call_rcu() for it, whose callback frees it, so many times
 * a second: it sleeps until the next turn, and makes all calls of the turn at once. The cost is the
 * CPU time of all threads, but for that of this thread between its turns; the harness takes off
 * what the same turns cost with free() in the place of call_rcu(). A latency is the time from
 * call_rcu() to the beginning of the callback. Paper: T 6.4.5.
 */
#include <stddef.h>

#include "rcu_subject.h"

#if SIDE_IS_RCU

/* Turns a second at most: at higher rates, a turn has several calls. */
#define RATE_TURNS_PER_S 10000u
/* How long the last callbacks may take before the program gives up. */
#define RATE_PATIENCE_MS 10000

struct rate_object {
	struct rcu_head head;
	uint64_t begin_cycles;
	uint64_t *latency_cycles;
};

static unsigned long rate_called;

static void give_back(struct rcu_head *head)
{
	struct rate_object *object =
		(struct rate_object *)((char *)head - offsetof(struct rate_object, head));

	*object->latency_cycles = timing_cycles_ordered() - object->begin_cycles;
	free(object);
	__atomic_add_fetch(&rate_called, 1, __ATOMIC_RELEASE);
}

static int call_one(uint64_t *latency_cycles, int calls)
{
	struct rate_object *object = malloc(sizeof(*object));

	if (!object)
		return -1;
	object->latency_cycles = latency_cycles;
	object->begin_cycles = timing_cycles_ordered();
	if (calls) {
		call_rcu(&object->head, give_back);
	} else {
		SUBJECT_OPAQUE(object);
		free(object);
	}
	return 0;
}

static void sleep_until(uint64_t until_ns)
{
	struct timespec until = { (time_t)(until_ns / 1000000000u),
				  (long)(until_ns % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Not by rcu_barrier(), which would hurry the worker. Return: 0, or -1 after too long a time. */
static int wait_for(unsigned long count)
{
	for (int i = 0; i < RATE_PATIENCE_MS; i++) {
		if (__atomic_load_n(&rate_called, __ATOMIC_ACQUIRE) == count)
			return 0;
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return -1;
}

/* Return: the caller's CPU time in its turns, or -1. */
static int64_t make_calls(uint64_t *latency_cycles, unsigned int count, unsigned int rate,
			  int calls)
{
	unsigned int turns = rate < RATE_TURNS_PER_S ? rate : RATE_TURNS_PER_S;
	unsigned int of_turn = rate / turns, made = 0;
	uint64_t next_ns = timing_read_ns(CLOCK_MONOTONIC), turns_ns = 0, begin_ns;

	while (made < count) {
		next_ns += 1000000000u / turns;
		rcu_thread_offline();
		sleep_until(next_ns);
		rcu_thread_online();
		begin_ns = timing_read_ns(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned int i = 0; i < of_turn && made < count; i++)
			if (call_one(&latency_cycles[made++], calls))
				return -1;
		turns_ns += timing_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	}
	return (int64_t)turns_ns;
}

/* CPU time of all threads but the calling one. */
static uint64_t others_read_ns(void)
{
	return timing_read_ns(CLOCK_PROCESS_CPUTIME_ID) - timing_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int rcu_answer_rate(const char *arguments)
{
	static uint64_t latency_cycles[SUBJECT_SAMPLES_MAX];
	static double cycles_per_ns;
	unsigned int rate, count, calls;
	uint64_t others_ns;
	int64_t turns_ns;
	int late;

	if (sscanf(arguments, "%u %u %u", &rate, &count, &calls) != 3 || !rate || !count ||
	    count > SUBJECT_SAMPLES_MAX)
		return -1;
	if (cycles_per_ns == 0)
		cycles_per_ns = timing_cycles_per_ns();
	rate_called = 0;
	rcu_register_thread();
	others_ns = others_read_ns();
	turns_ns = make_calls(latency_cycles, count, rate, calls != 0);
	rcu_thread_offline();
	late = calls && wait_for(count);
	others_ns = others_read_ns() - others_ns;
	rcu_thread_online();
	rcu_unregister_thread();
	if (turns_ns < 0 || late)
		return -1;
	printf("cpu_ns=%.1f", (double)(others_ns + (uint64_t)turns_ns) / count);
	if (calls)
		subject_print_quantiles("", latency_cycles, count, cycles_per_ns);
	printf("\n");
	return 0;
}

#endif
