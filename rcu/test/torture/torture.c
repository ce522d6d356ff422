// SPDX-License-Identifier: MIT
/*
 * torture FLAVOUR SECONDS SEED [WITHOUT]: tortures one flavour; ends with the sums.
 *
 * WITHOUT: letters of what to leave out: f forks, s signals; m membarrier, from the middle on. The
 * first fault ends it. A thread that does not end within a minute is a fault too: a wake-up was
 * lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../../../check/test.h"
#include "deny.h"
#include "torture.h"

#define END_LIMIT_S 60
#define THREADS (READERS + UPDATERS + 2)

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

static pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, argument);

	if (error) {
		fprintf(stderr, "torture: cannot start a thread: %s\n", strerror(error));
		exit(2);
	}
	return thread;
}

static void end_all(const pthread_t *thread, int count)
{
	struct timespec limit;
	int i;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += END_LIMIT_S;
	for (i = 0; i < count; i++) {
		if (!pthread_timedjoin_np(thread[i], NULL, &limit))
			continue;
		printf("thread %d does not end: a grace period or a wake-up is missing\n", i);
		check(0, "threads_end");
		sums();
		fflush(stdout);
		_exit(1);
	}
}

static int report(double seconds)
{
	static const char *const fault[FAULTS] = {
		[FAULT_OLD] = "no_section_lives_through_a_grace_period",
		[FAULT_CONTENT] = "no_section_reads_reclaimed_content",
		[FAULT_LATE_STORE] = "no_store_of_a_section_comes_after_the_grace_period",
		[FAULT_CHILD] = "children_of_forks_go_on_and_end",
	};
	const unsigned long *count = torture->count;
	char text[160];
	int i;

	printf("%s: %.1f s, seed %u: %lu sections, %lu nested, %lu in handlers\n", flavour->name,
	       seconds, seed, count[COUNT_SECTIONS], count[COUNT_NESTED], count[COUNT_HANDLED]);
	printf("%s: %lu synchronized, %lu expedited, %lu polled, %lu polls left, %lu called; "
	       "%lu threads, %lu forks\n",
	       flavour->name, count[COUNT_SYNCHRONIZED], count[COUNT_EXPEDITED],
	       count[COUNT_POLLED], count[COUNT_POLLS_LEFT], count[COUNT_CALLED],
	       count[COUNT_STARTED], count[COUNT_FORKED]);
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

static void run(double seconds, const char *without)
{
	static pthread_t thread[THREADS];
	struct sigaction action = { .sa_handler = section_in_handler, .sa_flags = SA_RESTART };
	struct timespec moment = { .tv_nsec = 5000000 };
	double begin = now_s();
	int signals = !strchr(without, 's'), deny = !!strchr(without, 'm'), count = 0;
	pthread_t sender = 0;
	uintptr_t i;

	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < READERS; i++)
		thread[count++] = start(reader_thread, (void *)(100 + i));
	for (i = 0; i < UPDATERS; i++)
		thread[count++] = start(updater_thread, (void *)(200 + i));
	if (signals)
		sender = start(signal_thread, thread);
	thread[count++] = start(churn_thread, (void *)300);
	if (!strchr(without, 'f'))
		thread[count++] = start(fork_thread, (void *)301);
	while (now_s() - begin < seconds && !__atomic_load_n(&faulty, __ATOMIC_RELAXED)) {
		nanosleep(&moment, NULL);
		if (now_s() - begin > seconds / 2 && deny) {
			deny = 0;
			if (membarrier_deny())
				perror("torture: cannot take membarrier away");
		}
	}
	begin = now_s() - begin;
	__atomic_store_n(&torture->stop, 1, __ATOMIC_RELAXED);
	if (signals)
		pthread_join(sender, NULL); /* before those that it sends to */
	end_all(thread, count);
}

int main(int count, char **argument)
{
	if (count < 4 || !(flavour = flavour_find(argument[1]))) {
		fprintf(stderr, "usage: torture qsbr|mb|signal|memb|bp SECONDS SEED [WITHOUT]\n");
		return 2;
	}
	torture = calloc(1, sizeof(*torture));
	if (!torture)
		return 2;
	seed = (uint32_t)strtoul(argument[3], NULL, 0);
	elements_make(torture);
	run(strtod(argument[2], NULL), count > 4 ? argument[4] : "");
	flavour->barrier();
	return report(strtod(argument[2], NULL)) != 0;
}
