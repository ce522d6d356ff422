// SPDX-License-Identifier: MIT
/*
 * How workers begin and how programs end: threads that cannot be started, exit() with callbacks
 * pending and workers at work. Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "call_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>

#define EXITS 10

static int refused; /* not 0: threads are refused, as when a process has too many */

/* This takes the place of the C library's function, for the library under test too. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		   void *argument)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *found = dlsym(RTLD_NEXT, "pthread_create");

	memcpy(&create, &found, sizeof(create));
	if (__atomic_load_n(&refused, __ATOMIC_ACQUIRE))
		return EAGAIN;
	return create(thread, attributes, run, argument);
}

static void refuse(int refuses)
{
	__atomic_store_n(&refused, refuses, __ATOMIC_RELEASE);
}

/* Allows threads again after a while, in which a barrier mostly waits for one. */
static void *allow_later(void *argument)
{
	int i;

	comes_to(argument, 1);
	for (i = 0; i < 20; i++)
		moment();
	refuse(0);
	return argument;
}

static void without_threads(void)
{
	unsigned long count = 0, waits = 0;
	pthread_t allows = start(allow_later, &waits);

	refuse(1);
	errno = 0;
	named(!create_call_rcu_data(domain, 0, -1) && errno == EAGAIN,
	      "a_worker_that_cannot_be_started_is_an_error");
	errno = 0;
	named(!get_default_call_rcu_data(domain) && errno == EAGAIN &&
		      create_all_cpu_call_rcu_data(domain, 0) == -EAGAIN &&
		      rcu_domain_defer_register_thread(domain) == -EAGAIN,
	      "the_default_worker_cpus_workers_and_the_background_too");
	errno = 0;
	call_counted(&count);
	named(errno == 0 && counted(&count) == 0, "a_callback_without_a_worker_is_kept");
	__atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
	rcu_domain_barrier(domain);
	named(counted(&count) == 1, "a_barrier_starts_the_default_worker_once_it_can");
	pthread_join(allows, NULL);
}

static void callback_at_end(struct rcu_head *head)
{
	section_enter();
	section_leave();
	rcu_domain_call(domain, head, callback_at_end);
}

static void *call_for_ever(void *argument)
{
	unsigned long unused = 0;

	for (;;) {
		call_counted(&unused);
		if (unused % 100 == 0)
			sched_yield();
	}
	return argument;
}

static void at_exit(void)
{
	static unsigned long count;

	call_counted(&count);
}

/* In a child: ends the program while callbacks are pending and workers are at work. */
static void end_at_work(void)
{
	static struct rcu_head heads[100];
	int i;

	atexit(at_exit);
	create_all_cpu_call_rcu_data(domain, 0);
	rcu_domain_defer_register_thread(domain);
	for (i = 0; i < 100; i++)
		rcu_domain_call(domain, &heads[i], callback_at_end);
	for (i = 0; i < 2; i++)
		start(call_for_ever, NULL);
	for (i = 0; i < 5; i++)
		moment();
	exit(0);
}

static void ends(void)
{
	int i, ill = 0, status;

	for (i = 0; i < EXITS; i++) {
		pid_t child = fork();

		if (child == 0) {
			alarm(60);
			end_at_work();
		}
		ill += waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
		       WEXITSTATUS(status);
	}
	named(!ill, "a_program_may_end_with_workers_at_work");
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS && !TEST_SANITIZES_THREADS;
	     i++) { /* while there is one thread */
		domain = test_domains[i];
		ends();
	}
	for (i = 0; i < TEST_DOMAINS; i++) {
		domain = test_domains[i];
		without_threads();
	}
	return sums();
}
