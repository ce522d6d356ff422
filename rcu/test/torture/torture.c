// SPDX-License-Identifier: MIT
/*
 * torture FLAVOUR SECONDS SEED [WITHOUT]: tortures one flavour; ends with the sums.
 *
 * WITHOUT: letters of what to leave out: f forks, s signals; e sections in threads that are ending;
 * m membarrier, from the middle on; t the hash table; d all that delays or disturbs but signals
 * (tight.c); r all but what a table that is resized without rest may disturb (resized.c). The first
 * fault ends it. A minute without an update is a fault too: a wake-up was lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../../../check/test.h"
#include "deny.h"
#include "torture.h"

#ifndef END_LIMIT_S
#define END_LIMIT_S 60
#endif
#define THREADS (READERS + UPDATERS + FORKERS + 2)
#define FREED 0x5a /* what memory that was freed is overwritten with */

struct torture *torture;
const struct flavour *flavour;
static uint32_t seed;
static int faulty; /* some fault was found, here or in a child */

void random_start(struct random *random, uint32_t index)
{
	int i;

	random->state = ((uint64_t)seed << 32 | index) * 0x9e3779b97f4a7c15u + 1;
	for (i = 0; i < 4; i++)
		random_below(random, 2);
}

void fault_found(enum fault fault)
{
	__atomic_fetch_add(&torture->fault[fault], 1, __ATOMIC_RELAXED);
	__atomic_store_n(&faulty, 1, __ATOMIC_RELAXED);
}

int stopped(void)
{
	return __atomic_load_n(&torture->stop, __ATOMIC_RELAXED);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

pthread_t thread_start(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, argument);

	if (error) {
		fprintf(stderr, "torture: cannot start a thread: %s\n", strerror(error));
		exit(2);
	}
	return thread;
}

/* In a child too, which has less time. */
static void end_stuck(int number)
{
	static const char text[] = "FAIL threads_go_on_and_end: a grace period or a wake-up is "
				   "missing\n0 passed, 1 failed, 0 skipped\n";

	(void)number;
	_exit(write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

/* Until the time is over, or a fault is found. From the middle on, membarrier is taken away. */
static void disturb(double begin, double seconds, int deny)
{
	struct timespec moment = { .tv_nsec = 5000000 };
	unsigned long seen = 0, updates;

	while (now_s() - begin < seconds && !__atomic_load_n(&faulty, __ATOMIC_RELAXED)) {
		nanosleep(&moment, NULL);
		updates = __atomic_load_n(&torture->updates, __ATOMIC_RELAXED);
		if (updates != seen)
			alarm(END_LIMIT_S);
		seen = updates;
		if (now_s() - begin > seconds / 2 && deny) {
			deny = 0;
			check(!system_call_deny(SYS_membarrier), "membarrier_can_be_taken_away");
		}
	}
}

static int report(double seconds)
{
	static const char *const fault[FAULTS] = {
		[FAULT_OLD] = "no_section_lives_through_a_grace_period",
		[FAULT_CONTENT] = "no_section_reads_reclaimed_content",
		[FAULT_LATE_STORE] = "no_store_of_a_section_comes_after_the_grace_period",
		[FAULT_MISSED] = "every_lookup_finds_a_key_that_is_always_in_the_table",
		[FAULT_CHILD] = "children_of_forks_go_on_and_end",
		[FAULT_CALL] = "a_callback_that_was_queued_before_a_fork_is_called_once",
	};
	const unsigned long *count = torture->count;
	char text[160];
	int i;

	printf("%s: %.1f s, seed %u: %lu sections, %lu nested, %lu in handlers, "
	       "%lu by threads that end\n",
	       flavour->name, seconds, seed, count[COUNT_SECTIONS], count[COUNT_NESTED],
	       count[COUNT_HANDLED], count[COUNT_LATE]);
	printf("%s: %lu synchronized, %lu expedited, %lu polled, %lu polls left, %lu called; "
	       "%lu threads, %lu forks\n",
	       flavour->name, count[COUNT_SYNCHRONIZED], count[COUNT_EXPEDITED],
	       count[COUNT_POLLED], count[COUNT_POLLS_LEFT], count[COUNT_CALLED],
	       count[COUNT_STARTED], count[COUNT_FORKED]);
	printf("%s: %lu lookups in a table, %lu resizes\n", flavour->name, count[COUNT_LOOKED_UP],
	       count[COUNT_RESIZED]);
	printf("%s: ages", flavour->name);
	for (i = 0; i < AGES; i++)
		printf(" %lu", count[COUNT_AGE + i]);
	printf("\n");
	for (i = 0; i < FAULTS; i++) {
		snprintf(text, sizeof(text), "%s: %lu", fault[i], torture->fault[i]);
		check(!torture->fault[i], text);
	}
	check(count[COUNT_SECTIONS] && count[COUNT_SYNCHRONIZED],
	      "sections_and_grace_periods_were_many");
	return sums();
}

/* Return: how many threads it has started; one that sends signals is the last. */
static int start_all(pthread_t *thread, const char *without)
{
	struct sigaction action = { .sa_handler = section_in_handler, .sa_flags = SA_RESTART };
	int count = 0;
	uintptr_t i;

	sigaction(SIGUSR1, &action, NULL);
	churn_start(!strchr(without, 'e'));
	for (i = 0; i < READERS; i++)
		thread[count++] = thread_start(reader_thread, (void *)(100 + i));
	for (i = 0; i < UPDATERS; i++)
		thread[count++] = thread_start(updater_thread, (void *)(200 + i));
	thread[count++] = thread_start(churn_thread, (void *)300);
	for (i = 0; i < FORKERS && !strchr(without, 'f'); i++)
		thread[count++] = thread_start(fork_thread, (void *)(400 + i));
	if (!strchr(without, 's'))
		thread[count++] = thread_start(signal_thread, NULL);
	return count;
}

static void run(double seconds, const char *without)
{
	static pthread_t thread[THREADS];
	int count;

	signal(SIGALRM, end_stuck);
	alarm(END_LIMIT_S);
	if (strchr(without, 'd'))
		count = tight_start(thread);
	else if (strchr(without, 'r'))
		count = resized_start(thread, !strchr(without, 'f'));
	else
		count = start_all(thread, without);
	disturb(now_s(), seconds, !!strchr(without, 'm'));
	alarm(END_LIMIT_S);
	__atomic_store_n(&torture->stop, 1, __ATOMIC_RELAXED);
	while (count) /* from the last, which sends to others */
		pthread_join(thread[--count], NULL);
}

int main(int count, char **argument)
{
	if (count < 4 || !(flavour = flavour_find(argument[1]))) {
		fprintf(stderr, "usage: torture qsbr|mb|signal|memb|bp SECONDS SEED [WITHOUT]\n");
		return 2;
	}
	mallopt(M_PERTURB, FREED);
	torture = calloc(1, sizeof(*torture));
	if (!torture)
		return 2;
	seed = (uint32_t)strtoul(argument[3], NULL, 0);
	elements_make(torture);
	if (count < 5 || !strchr(argument[4], 't'))
		table_make(torture);
	run(strtod(argument[2], NULL), count > 4 ? argument[4] : "");
	flavour->barrier();
	return report(strtod(argument[2], NULL)) != 0;
}
