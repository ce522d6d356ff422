// SPDX-License-Identifier: MIT
/*
 * forks CASE: a program forks where a fork that waited for callbacks, grace periods or handlers
 * would wait for itself. Each child ends well.
 *
 * A case that hangs is killed by an alarm. Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lull/rcu/bp.h"
#include "lull/rcu/hash.h"
#include "rough.h"

#define FORKS 100

static int stop, wrong;
static sem_t begun, may_end;

static void count(struct rcu_head *head)
{
	(void)head;
	__atomic_add_fetch(&wrong, -1, __ATOMIC_RELAXED);
}

/* The child reads, waits, and has a callback called. */
static void fork_with(int explicit)
{
	static struct rcu_head head;
	int status = -1;
	pid_t child;

	if (explicit) {
		call_rcu_before_fork(&rcu_bp_domain);
		call_rcu_before_fork(&rcu_memb_domain);
	}
	child = fork();
	if (explicit && child) {
		call_rcu_after_fork_parent(&rcu_memb_domain);
		call_rcu_after_fork_parent(&rcu_bp_domain);
	}
	if (!child) {
		alarm(HANG_LIMIT_S);
		if (explicit) {
			call_rcu_after_fork_child(&rcu_memb_domain);
			call_rcu_after_fork_child(&rcu_bp_domain);
		}
		rcu_read_lock();
		rcu_read_unlock();
		synchronize_rcu();
		wrong = 1;
		call_rcu(&head, count);
		rcu_barrier();
		_exit(wrong);
	}
	waitpid(child, &status, 0);
	if (child < 0 || status)
		__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void fork_once(void)
{
	fork_with(0);
}

static void on_signal(int number)
{
	(void)number;
	rcu_read_lock();
	rcu_read_unlock();
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

static void *forks_once(void *unused)
{
	block(SIG_UNBLOCK);
	fork_once();
	return unused;
}

static void *signals(void *unused)
{
	int i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		kill(getpid(), SIGUSR1);
		for (i = 0; i < 3000; i++)
			__asm__ __volatile__("" ::: "memory");
	}
	return unused;
}

/* A thread that has never read forks, and its handlers read. */
static void handlers_read(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t other;
	int i;

	sigaction(SIGUSR1, &action, NULL);
	block(SIG_BLOCK);
	other = start(signals, NULL);
	for (i = 0; i < FORKS; i++)
		pthread_join(start(forks_once, NULL), NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
}

static void make_tables(struct rcu_head *head)
{
	static const struct rcu_hash_config small = { .maximum_buckets = 8 };
	int i;

	for (i = 0; i < 50; i++)
		rcu_hash_destroy(rcu_hash_new(&rcu_bp_domain, &small));
	if (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		call_rcu(head, make_tables);
}

/* Tables come and go in callbacks, which were there before the first table. */
static void callbacks_destroy_tables(void)
{
	static struct rcu_head first, head;
	struct rcu_hash *table;
	int i;

	call_rcu(&first, count);
	rcu_barrier();
	wrong = 0;
	table = rcu_hash_new(&rcu_bp_domain, NULL);
	call_rcu(&head, make_tables);
	for (i = 0; i < FORKS; i++)
		fork_once();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	rcu_barrier();
	rcu_hash_destroy(table);
}

static void wait_in_callback(struct rcu_head *head)
{
	(void)head;
	sem_post(&begun);
	await(&may_end);
}

/* A callback goes on when the thread that forks has forked. */
static void callback_waits_for_the_fork(void)
{
	static struct rcu_head first, next;

	call_rcu(&first, wait_in_callback);
	await(&begun);
	wrong = 1;
	call_rcu(&next, count);
	fork_once();
	sem_post(&may_end);
	rcu_barrier();
}

static void deferred(void *unused)
{
	(void)unused;
	sem_post(&begun);
	await(&may_end);
}

static void *defers(void *call)
{
	rcu_defer_register_thread();
	defer_rcu((void (*)(void *))call, NULL);
	sem_post(&begun);
	rcu_defer_unregister_thread();
	return NULL;
}

static void no_call(void *unused)
{
	(void)unused;
}

/* A deferred call goes on when the thread that forks has forked. */
static void deferred_call_waits_for_the_fork(void)
{
	pthread_t thread = start(defers, deferred);

	await(&begun);
	await(&begun);
	fork_once();
	sem_post(&may_end);
	pthread_join(thread, NULL);
}

/* Deferred calls wait for a grace period, which waits for the section of the thread that forks. */
static void section_forks(void)
{
	pthread_t thread;
	int status = -1;
	pid_t child;

	rcu_read_lock();
	thread = start(defers, no_call);
	await(&begun);
	usleep(20000); /* most likely they wait by now */
	child = fork();
	if (!child) {
		alarm(HANG_LIMIT_S);
		rcu_read_unlock();
		synchronize_rcu();
		_exit(0);
	}
	waitpid(child, &status, 0);
	wrong = status != 0;
	rcu_read_unlock();
	pthread_join(thread, NULL);
}

static void *forks_often(void *unused)
{
	int i;

	for (i = 0; i < FORKS / 2; i++)
		fork_with(i % 2);
	return unused;
}

static void threads_fork_beside_each_other(void)
{
	pthread_t thread[3];
	int i;

	for (i = 0; i < 3; i++)
		thread[i] = start(forks_often, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

#define CASE(name)          \
	{                   \
#name, name \
	}

int main(int arguments, char **argument)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} cases[] = {
		CASE(handlers_read),
		CASE(callbacks_destroy_tables),
		CASE(callback_waits_for_the_fork),
		CASE(deferred_call_waits_for_the_fork),
		CASE(section_forks),
		CASE(threads_fork_beside_each_other),
	};
	size_t i;

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (arguments == 1)
			printf("%s\n", cases[i].name);
		if (arguments != 2 || strcmp(argument[1], cases[i].name))
			continue;
		alarm(HANG_LIMIT_S);
		cases[i].body();
		return wrong;
	}
	return arguments != 1;
}
