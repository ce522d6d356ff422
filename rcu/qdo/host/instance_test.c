// SPDX-License-Identifier: MIT
/*
 * QDo's interface: operations, requests, sets, barriers, forks, and what is refused.
 *
 * What must not have happened yet is judged after the monitor has looked several times, by its
 * own count. Paper: Q 3.2, 4.5, 4.6.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../../check/test.h"
#include "host.h"
#include "qdo_port.h"

static int called;
static struct qdo *instance;

static void count(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

static int calls(void)
{
	return __atomic_load_n(&called, __ATOMIC_SEQ_CST);
}

static void moment(void)
{
	struct timespec time = { 0, 1000000 };

	nanosleep(&time, NULL);
}

static void wait_calls(int wanted)
{
	while (calls() < wanted)
		moment();
}

/* Until the monitor has looked at the operations @number times more. */
static void wait_checks(uint64_t number)
{
	struct qdo_statistics now;

	qdo_statistics_read(instance, &now);
	for (number += now.checks; now.checks < number; qdo_statistics_read(instance, &now))
		moment();
}

static void begin(struct qdo_config config)
{
	if (!config.period_us)
		config.period_us = 1000;
	if (qdo_create(&config, &instance))
		abort();
	called = 0;
}

static void end(void)
{
	if (qdo_destroy(instance))
		abort();
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void configurations(void)
{
	struct qdo *made = NULL;

	check(qdo_create(&(struct qdo_config){ .algorithm = (enum qdo_algorithm)4 }, &made) ==
			      -EINVAL &&
		      qdo_create(&(struct qdo_config){ .submission = (enum qdo_submission)3 },
				 &made) == -EINVAL &&
		      qdo_create(&(struct qdo_config){ .cpu_count = QDO_CPUS_MAX + 1 }, &made) ==
			      -EINVAL &&
		      !made,
	      "what_is_unknown_or_too_much_is_refused");
	check(!qdo_create(NULL, &made) && made && qdo_cpu_count(made) >= 1 &&
		      qdo_cpu_current(made) < qdo_cpu_count(made) && !qdo_destroy(made) &&
		      !qdo_destroy(NULL),
	      "without_a_configuration_the_default_is_taken");
	check(!qdo_create(&(struct qdo_config){ .cpu_count = QDO_CPUS_MAX }, &made) &&
		      qdo_cpu_count(made) == QDO_CPUS_MAX &&
		      !qdo_request(made, count, NULL, NULL, NULL) && !qdo_barrier(made) &&
		      calls() == 1 && !qdo_destroy(made),
	      "an_instance_may_have_1024_cpus");
	check(qdo_default() && qdo_default() == qdo_default() &&
		      qdo_destroy(qdo_default()) == -EINVAL,
	      "there_is_one_default_instance_which_stays");
}

static void refusals(void)
{
	struct qdo_set none, unknown, all;

	begin((struct qdo_config){ .cpu_count = 70 });
	qdo_set_zero(&none);
	qdo_set_zero(&unknown);
	qdo_set_add(&unknown, 70);
	qdo_set_all(&all);
	qdo_set_remove(&all, 3);
	check(qdo_request(instance, NULL, NULL, NULL, NULL) == -EINVAL &&
		      qdo_request(instance, count, NULL, &none, NULL) == -EINVAL &&
		      qdo_request(instance, count, NULL, NULL, &none) == -EINVAL &&
		      qdo_request(instance, count, NULL, &unknown, NULL) == -EINVAL &&
		      qdo_request(instance, count, NULL, NULL, &unknown) == -EINVAL,
	      "a_request_needs_a_callback_and_cpus_that_the_instance_knows");
	check(!qdo_set_has(&none, 3) && qdo_set_has(&all, 2) && !qdo_set_has(&all, 3) &&
		      qdo_set_has(&all, QDO_CPUS_MAX - 1) && qdo_set_has(&unknown, 70),
	      "sets_are_what_was_put_into_them");
	qdo_set_add(&unknown, 69);
	check(!qdo_request(instance, count, NULL, &all, &unknown) && !qdo_barrier(instance) &&
		      calls() == 1,
	      "of_a_set_the_cpus_are_taken_that_the_instance_knows");
	end();
}

static void waiting(enum qdo_algorithm algorithm)
{
	static const char *const names[] = { "snapshot", "token", "multi_token", "tree" };
	struct qdo_operation outer, inner;
	struct qdo_statistics statistics;
	char name[80];
	int early;

	begin((struct qdo_config){ .algorithm = algorithm });
	qdo_request(instance, count, NULL, NULL, NULL);
	qdo_barrier(instance);
	qdo_statistics_read(instance, &statistics);
	snprintf(name, sizeof(name), "%s_an_idle_system_needs_no_timer", names[algorithm]);
	check(calls() == 1 && !statistics.checks && statistics.requests == 1 &&
		      statistics.completed == 1,
	      name);
	qdo_enter(instance, &outer);
	qdo_enter(instance, &inner);
	qdo_request(instance, count, NULL, NULL, NULL);
	wait_checks(3);
	early = calls() > 1;
	qdo_leave(&inner);
	wait_checks(3);
	early |= calls() > 1;
	snprintf(name, sizeof(name), "%s_the_outermost_operation_is_waited_for", names[algorithm]);
	check(!early && qdo_barrier(instance) == -EDEADLK && qdo_destroy(instance) == -EDEADLK,
	      name);
	qdo_leave(&outer);
	qdo_barrier(instance);
	snprintf(name, sizeof(name), "%s_after_it_the_callback_runs_once", names[algorithm]);
	check(calls() == 2, name);
	qdo_statistics_read(instance, &statistics);
	moment();
	moment();
	moment();
	early = (int)statistics.checks;
	qdo_statistics_read(instance, &statistics);
	snprintf(name, sizeof(name), "%s_with_nothing_pending_nothing_is_checked",
		 names[algorithm]);
	check((int)statistics.checks == early, name);
	end();
}

static void *overlapping(void *argument)
{
	struct qdo_operation operations[2];
	int i = 0, *stop = argument;

	qdo_enter(instance, &operations[0]);
	for (i = 1; !__atomic_load_n(stop, __ATOMIC_RELAXED); i ^= 1) {
		qdo_enter(instance, &operations[i]);
		sched_yield();
		qdo_leave(&operations[i ^ 1]);
	}
	qdo_leave(&operations[i ^ 1]);
	return NULL;
}

static void operations(void)
{
	struct qdo_operation a, b, c;
	struct qdo_set one;
	pthread_t thread;
	int stop = 0;

	begin((struct qdo_config){ .cpu_count = 2 });
	qdo_enter(instance, &a);
	qdo_enter(instance, &b);
	qdo_enter(instance, &c);
	qdo_leave(&b);
	qdo_leave(&a);
	qdo_leave(&c);
	check(!qdo_request(instance, count, NULL, NULL, NULL) && !qdo_barrier(instance) &&
		      calls() == 1,
	      "operations_may_end_in_any_order");
	pthread_create(&thread, NULL, overlapping, &stop);
	qdo_request(instance, count, NULL, NULL, NULL);
	qdo_barrier(instance);
	check(calls() == 2, "operations_that_overlap_without_end_delay_a_callback_not_for_ever");
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	pin(0);
	qdo_enter(instance, &a);
	qdo_set_zero(&one);
	qdo_set_add(&one, 1);
	qdo_request(instance, count, NULL, &one, NULL);
	wait_calls(3);
	check(calls() == 3, "an_operation_outside_the_quiescence_set_is_not_waited_for");
	qdo_leave(&a);
	end();
	begin((struct qdo_config){ .cpu_count = 2, .algorithm = QDO_MULTI_TOKEN });
	qdo_enter(instance, &a);
	qdo_request(instance, count, NULL, &one, NULL);
	wait_calls(1);
	check(calls() == 1, "nor_is_it_with_multiple_token_rings");
	qdo_leave(&a);
	end();
	begin((struct qdo_config){ .cpu_count = 1 });
	pin(1);
	qdo_enter(instance, &a);
	check(lull_qdo_ticket(a.place).cpu == 0,
	      "an_operation_on_a_cpu_beyond_those_of_the_instance_counts_on_one_of_them");
	qdo_leave(&a);
	end();
}

static struct qdo_operation of_handler;

static void on_signal(int number)
{
	struct qdo_operation operation;

	qdo_enter(instance, &operation);
	if (number == SIGUSR2)
		qdo_enter(instance, &of_handler);
	qdo_leave(&operation);
}

static void handlers(void)
{
	struct qdo_operation around;
	int early;

	begin((struct qdo_config){ 0 });
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	errno = 77;
	qdo_enter(instance, &around);
	raise(SIGUSR1);
	raise(SIGUSR2);
	qdo_leave(&around);
	qdo_request(instance, count, NULL, NULL, NULL);
	check(errno == 77, "errno_stays_as_it_was");
	wait_checks(3);
	early = calls();
	qdo_leave(&of_handler);
	check(!qdo_barrier(instance) && !early && calls() == 1,
	      "an_operation_that_a_handler_left_open_is_waited_for");
	end();
}

static int status_of(void (*main)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(20);
		if (!freopen("/dev/null", "w", stderr))
			_exit(9);
		main();
		_exit(failed);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void leave_twice(void)
{
	struct qdo_operation operation;

	signal(SIGABRT, SIG_DFL);
	qdo_enter(instance, &operation);
	qdo_leave(&operation);
	qdo_leave(&operation);
}

static void enter_only(void *argument)
{
	qdo_enter(instance, argument);
}

static void leave_never(void)
{
	struct qdo_operation operation;

	signal(SIGABRT, SIG_DFL);
	qdo_request(instance, enter_only, &operation, NULL, NULL);
	qdo_barrier(instance);
}

static struct qdo_operation parent_operation;

static void child(void)
{
	struct qdo_statistics statistics;

	qdo_statistics_read(instance, &statistics);
	failed = statistics.requests || statistics.completed || statistics.executors || calls();
	called = 0;
	qdo_request(instance, count, NULL, NULL, NULL);
	wait_checks(3);
	failed += calls() != 0;
	qdo_leave(&parent_operation);
	failed += qdo_barrier(instance) != 0;
	failed += calls() != 1;
	failed += qdo_destroy(instance) != 0;
	failed += !qdo_default() || qdo_request(qdo_default(), count, NULL, NULL, NULL) ||
		  qdo_barrier(qdo_default()) || calls() != 2;
}

static void no_child(void)
{
	failed = qdo_barrier(instance) || qdo_request(instance, count, NULL, NULL, NULL) ||
		 qdo_barrier(instance) || calls() != 1 || qdo_destroy(instance);
}

/* In a child, so that a list of instances that is broken does not end the other tests. */
static void end_older_first(void)
{
	struct qdo *older, *newer;

	called = 0;
	if (qdo_create(NULL, &older) || qdo_create(NULL, &newer))
		_exit(1);
	if (qdo_request(older, count, NULL, NULL, NULL) || qdo_destroy(older))
		_exit(2);
	if (qdo_request(newer, count, NULL, NULL, NULL) || qdo_destroy(newer))
		_exit(3);
	_exit(calls() == 2 ? 0 : 4);
}

static void forking(void *argument)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		return; /* and with it the child ends */
	waitpid(pid, &status, 0);
	*(int *)argument = status;
}

static void forks(void)
{
	int status = -1;

	begin((struct qdo_config){ 0 });
	check(WIFSIGNALED(status_of(leave_twice)) && WTERMSIG(status_of(leave_twice)) == SIGABRT,
	      "an_operation_that_is_left_twice_ends_the_program");
	check(WIFSIGNALED(status_of(leave_never)) && WTERMSIG(status_of(leave_never)) == SIGABRT,
	      "so_does_one_that_a_callback_does_not_leave");
	check(!status_of(end_older_first), "instances_end_in_the_order_in_which_they_were_made");
	check(!status_of(no_child), "a_child_of_an_instance_that_was_never_used_may_use_it");
	qdo_enter(instance, &parent_operation);
	qdo_request(instance, count, NULL, NULL, NULL);
	check(!status_of(child),
	      "a_child_has_its_own_operations_and_default_instance_and_no_requests");
	qdo_leave(&parent_operation);
	qdo_barrier(instance);
	check(calls() == 1, "the_parent_keeps_its_request");
	qdo_request(instance, forking, &status, NULL, NULL);
	check(!qdo_barrier(instance) && !status, "a_callback_may_fork_its_child_ends_with_it");
	end();
}

static void port(void)
{
	cpu_set_t before, after;
	unsigned long words[2] = { 4, 0 };
	void *word = words, *head = NULL;
	int done;

	lull_qdo_port_start();
	sched_getaffinity(0, sizeof(before), &before);
	check(!lull_qdo_fence_by_visits(), "a_fence_by_visits_reaches_every_cpu");
	sched_getaffinity(0, sizeof(after), &after);
	check(CPU_EQUAL(&before, &after), "a_fence_by_visits_leaves_the_thread_where_it_may_run");
	pin(0);
	done = lull_qdo_count(0, words);
	check((done == 1 && words[0] == 5) || (done <= 0 && words[0] == 4),
	      "a_step_counts_when_it_says_so");
	done = lull_qdo_count(1, words + 1);
	check(done <= 0 && !words[1], "a_step_on_another_cpu_is_refused");
	done = lull_qdo_replace(0, &head, word, word) == 1;
	check(!done && !head, "a_word_that_is_not_as_expected_is_not_replaced");
	done = lull_qdo_replace(0, &head, NULL, word);
	check(done == 1 ? head == word : !head, "a_word_that_is_as_expected_is_replaced");
	sched_setaffinity(0, sizeof(before), &before);
}

int main(void)
{
	cpu_set_t all;
	int algorithm;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(100);
	sched_getaffinity(0, sizeof(all), &all);
	configurations();
	refusals();
	for (algorithm = QDO_SNAPSHOT; algorithm <= QDO_TREE; algorithm++)
		waiting((enum qdo_algorithm)algorithm);
	handlers();
	forks();
	operations();
	sched_setaffinity(0, sizeof(all), &all);
	port();
	return sums();
}
