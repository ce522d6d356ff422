// SPDX-License-Identifier: MIT
/*
 * Callbacks: where, in what order and in what threads they run, and that none hurts another.
 *
 * Paper: Q 4.9.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../../check/test.h"
#include "lull/qdo.h"

#define BLOCKED 40
#define ORDERED 300

static struct qdo *instance;
static int called;
static sem_t blocked, unblocked;

static int calls(void)
{
	return __atomic_load_n(&called, __ATOMIC_SEQ_CST);
}

static void begin(struct qdo_config config)
{
	if (qdo_create(&config, &instance))
		abort();
	called = 0;
}

static void end(void)
{
	if (qdo_destroy(instance))
		abort();
}

static void count(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

/* Where callbacks ran, in their order. */
static int places[QDO_CPUS_MAX];

static void note_place(void *argument)
{
	(void)argument;
	places[called++] = sched_getcpu();
}

static void placed(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), i, is_right = 1;
	struct qdo_set set;
	cpu_set_t allowed;

	begin((struct qdo_config){ 0 });
	sched_getaffinity(0, sizeof(allowed), &allowed);
	qdo_set_zero(&set);
	for (i = 0; i < cpus; i++)
		qdo_set_add(&set, (unsigned int)i);
	qdo_request(instance, note_place, NULL, NULL, &set);
	qdo_barrier(instance);
	for (i = 0; i < cpus; i++)
		is_right &= places[i] == i || !CPU_ISSET((size_t)i, &allowed);
	check(is_right && called == cpus, "a_callback_runs_on_each_cpu_of_its_set_in_order");
	end();
	begin((struct qdo_config){ .cpu_count = 1000 });
	qdo_set_zero(&set);
	qdo_set_add(&set, 997);
	qdo_set_add(&set, 998);
	qdo_request(instance, count, NULL, NULL, &set);
	qdo_barrier(instance);
	check(calls() == 2, "for_cpus_that_are_not_there_it_runs_anywhere");
	end();
}

/* In a process that may use CPU 0 alone, from its start. */
static int confined(void)
{
	struct qdo_set set;

	begin((struct qdo_config){ .cpu_count = 2 });
	qdo_set_zero(&set);
	qdo_set_add(&set, 1);
	qdo_request(instance, note_place, NULL, NULL, &set);
	qdo_barrier(instance);
	return called == 1 && !places[0] ? 0 : 1;
}

static void confinement(void)
{
	int status = -1;
	cpu_set_t set;
	pid_t pid = fork();

	if (!pid) {
		CPU_ZERO(&set);
		CPU_SET(0, &set);
		sched_setaffinity(0, sizeof(set), &set);
		execl("/proc/self/exe", "executor_test", "confined", (char *)NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	check(!status, "a_cpu_that_the_process_may_not_use_is_replaced");
}

static void move_away(void *argument)
{
	cpu_set_t set;

	(void)argument;
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	called++;
}

/* The pool has one thread, which was on the right CPU when its last callback began. */
static void moved(void)
{
	const char *name = "a_callback_that_moves_its_thread_does_not_move_the_next_one";
	struct qdo_set set;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (!CPU_ISSET(0, &allowed) || !CPU_ISSET(1, &allowed)) {
		skip(name, "needs CPUs 0 and 1");
		return;
	}
	begin((struct qdo_config){ .executors_max = 1 });
	qdo_set_zero(&set);
	qdo_set_add(&set, 0);
	qdo_request(instance, move_away, NULL, NULL, &set);
	qdo_request(instance, note_place, NULL, NULL, &set);
	qdo_barrier(instance);
	check(called == 2 && !places[1], name);
	end();
}

static int order[ORDERED];

static void note_order(void *argument)
{
	order[called++] = (int)(long)argument;
}

static void ordered(void)
{
	struct qdo_operation operation;
	cpu_set_t set, before;
	long i;
	int is_right = 1;

	begin((struct qdo_config){ .executors_max = 1 });
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	qdo_enter(instance, &operation);
	for (i = 0; i < ORDERED; i++)
		qdo_request(instance, note_order, (void *)i, NULL, NULL);
	qdo_leave(&operation);
	qdo_barrier(instance);
	for (i = 0; i < ORDERED; i++)
		is_right &= order[i] == (int)i;
	check(is_right && called == ORDERED, "requests_of_one_cpu_start_in_order");
	sched_setaffinity(0, sizeof(before), &before);
	end();
}

static void block(void *argument)
{
	(void)argument;
	sem_post(&blocked);
	sem_wait(&unblocked);
	count(NULL);
}

static void blocking(void)
{
	struct qdo_statistics statistics;
	int i;

	begin((struct qdo_config){ 0 });
	for (i = 0; i < BLOCKED; i++)
		qdo_request(instance, block, NULL, NULL, NULL);
	for (i = 0; i < BLOCKED; i++)
		sem_wait(&blocked);
	qdo_request(instance, block, NULL, NULL, NULL);
	sem_wait(&blocked);
	qdo_statistics_read(instance, &statistics);
	check(!calls() && statistics.executors > BLOCKED && statistics.executors <= 256,
	      "callbacks_that_block_delay_no_other");
	for (i = 0; i <= BLOCKED; i++)
		sem_post(&unblocked);
	qdo_barrier(instance);
	check(calls() == BLOCKED + 1, "they_end_when_they_can");
	end();
	begin((struct qdo_config){ .executors_max = 3 });
	for (i = 0; i < BLOCKED; i++)
		qdo_request(instance, block, NULL, NULL, NULL);
	for (i = 0; i < BLOCKED; i++)
		sem_post(&unblocked);
	qdo_barrier(instance);
	qdo_statistics_read(instance, &statistics);
	check(calls() == BLOCKED && statistics.executors <= 3, "no_more_threads_than_allowed_run");
	end();
	/* The monitor that looks after the pool may find nothing to do just before each request. */
	begin((struct qdo_config){ .timer_only = 1, .cpu_count = 2, .period_us = 1 });
	sem_init(&blocked, 0, 0);
	for (i = 0; i < BLOCKED; i++) {
		qdo_request(instance, block, NULL, NULL, NULL);
		sem_wait(&blocked);
	}
	for (i = 0; i < BLOCKED; i++)
		sem_post(&unblocked);
	qdo_barrier(instance);
	check(calls() == BLOCKED, "nor_do_they_where_each_cpu_has_a_monitor");
	end();
}

static void exit_thread(void *argument)
{
	count(NULL);
	pthread_exit(argument);
}

static void cancel_now(void *argument)
{
	(void)argument;
	count(NULL);
	pthread_cancel(pthread_self());
	pthread_testcancel();
	abort();
}

static void cancel_later(void *argument)
{
	(void)argument;
	count(NULL);
	pthread_cancel(pthread_self());
}

static void ending(void (*callback)(void *argument), unsigned int executors, const char *name)
{
	struct qdo_set set;
	int i;

	begin((struct qdo_config){ .cpu_count = 5, .executors_max = executors });
	qdo_set_all(&set);
	for (i = 0; i < 10; i++) {
		qdo_request(instance, callback, NULL, NULL, &set);
		qdo_request(instance, count, NULL, NULL, &set);
	}
	qdo_barrier(instance);
	check(calls() == 100, name);
	end();
}

static int refused, made;

static void request_within(void *argument)
{
	refused = qdo_barrier(instance) == -EDEADLK && qdo_destroy(instance) == -EDEADLK;
	if (argument)
		made = !qdo_request(instance, request_within, (char *)argument - 1, NULL, NULL);
	count(NULL);
}

static void within(void)
{
	begin((struct qdo_config){ 0 });
	qdo_request(instance, request_within, (void *)5, NULL, NULL);
	end(); /* waits for what callbacks request */
	check(refused && made && calls() == 6, "a_callback_may_request_but_not_wait_for_itself");
}

static int signals_right, name_right;

static void inspect(void *argument)
{
	char name[16] = "";
	sigset_t set;

	(void)argument;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	signals_right = sigismember(&set, SIGUSR1) && sigismember(&set, SIGTERM) &&
			sigismember(&set, SIGCHLD) && !sigismember(&set, SIGSEGV);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	name_right = !strcmp(name, "qdo-call");
}

static void threads(void)
{
	begin((struct qdo_config){ 0 });
	qdo_request(instance, inspect, NULL, NULL, NULL);
	qdo_barrier(instance);
	check(signals_right, "signals_are_for_the_program's_own_threads");
	check(name_right, "threads_have_names");
	end();
}

static void exit_process(void *argument)
{
	(void)argument;
	exit(0);
}

/* Several times, as what it is about is two threads. */
static void exits(void)
{
	int i, status = 0, all = 0;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			alarm(20);
			qdo_request(qdo_default(), i % 2 ? exit_process : count, NULL, NULL, NULL);
			if (i % 2)
				pause();
			exit(0);
		}
		waitpid(pid, &status, 0);
		all |= status;
	}
	check(!all, "a_program_may_end_while_callbacks_run_and_in_one");
}

int main(int word_count, char **words)
{
	(void)words;
	if (word_count > 1)
		return confined();
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(100);
	sem_init(&blocked, 0, 0);
	sem_init(&unblocked, 0, 0);
	placed();
	confinement();
	moved();
	ordered();
	blocking();
	ending(exit_thread, 0, "a_callback_that_ends_its_thread_runs_on_the_other_cpus");
	ending(exit_thread, 1, "so_it_does_where_there_is_one_thread");
	ending(cancel_now, 2, "so_does_one_that_is_cancelled");
	ending(cancel_later, 2, "one_that_is_cancelled_late_does_not_end_another");
	within();
	threads();
	exits();
	return sums();
}
