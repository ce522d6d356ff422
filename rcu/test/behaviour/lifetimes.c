// SPDX-License-Identifier: MIT
/*
 * Threads and processes that end, fork or are cancelled at inconvenient moments.
 *
 * Each case is a process of its own that must exit with 0 within a minute.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../../check/test.h"
#include "grace.h"
#include "lull/rcu/flavour/bp.h"
#include "lull/rcu/flavour/mb.h"
#include "lull/rcu/flavour/memb.h"
#include "lull/rcu/flavour/qsbr.h"
#include "lull/rcu/flavour/signal.h"

#define HANG_LIMIT_S 60

static int ready; /* threads that are where a case wants them */
static int go_on;

static void arrive(void)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
}

static void await(const int *word, int value)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < value)
		sched_yield();
}

static void *pause_for_ever(void)
{
	arrive();
	for (;;)
		pause();
	return NULL;
}

static void *cancelled_memb(void *unused)
{
	(void)unused;
	rcu_memb_register_thread();
	rcu_memb_read_lock();
	return pause_for_ever();
}

static void *cancelled_bp(void *unused)
{
	(void)unused;
	rcu_bp_read_lock();
	rcu_bp_read_lock();
	return pause_for_ever();
}

static void *cancelled_qsbr(void *unused)
{
	(void)unused;
	rcu_qsbr_register_thread();
	return pause_for_ever();
}

static void *waits_memb(void *unused)
{
	rcu_memb_synchronize();
	return unused;
}

static uint32_t asleep(struct rcu_grace *grace)
{
	uint32_t value;

	lull_lock_take(&grace->lock);
	value = grace->asleep;
	lull_lock_release(&grace->lock);
	return value;
}

static void cancel(void *(*body)(void *))
{
	pthread_t thread;

	ready = 0;
	pthread_create(&thread, NULL, body, NULL);
	await(&ready, 1);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static int cancellation_ends_a_section(void)
{
	cancel(cancelled_memb);
	rcu_memb_synchronize();
	cancel(cancelled_bp);
	rcu_bp_synchronize();
	cancel(cancelled_qsbr);
	rcu_qsbr_synchronize();
	return 0;
}

static int cancellation_wakes_who_sleeps_for_the_section(void)
{
	pthread_t reader, updater;

	pthread_create(&reader, NULL, cancelled_memb, NULL);
	await(&ready, 1);
	pthread_create(&updater, NULL, waits_memb, NULL);
	while (!asleep(rcu_memb_domain.grace))
		sched_yield();
	pthread_cancel(reader);
	pthread_join(reader, NULL);
	pthread_join(updater, NULL);
	return 0;
}

static int await_child(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Another thread sleeps for a third one's section. */
static int fork_beside_a_grace_period_that_sleeps(void)
{
	pthread_t reader, updater;
	pid_t child;
	int status;

	rcu_memb_register_thread();
	pthread_create(&reader, NULL, cancelled_memb, NULL);
	await(&ready, 1);
	pthread_create(&updater, NULL, waits_memb, NULL);
	while (!asleep(rcu_memb_domain.grace))
		sched_yield();
	rcu_memb_read_lock();
	child = fork();
	rcu_memb_read_unlock();
	if (!child) {
		alarm(HANG_LIMIT_S);
		rcu_memb_synchronize();
		rcu_memb_read_lock();
		rcu_memb_read_unlock();
		rcu_memb_synchronize_expedited();
		_exit(0);
	}
	status = await_child(child);
	pthread_cancel(reader);
	pthread_join(reader, NULL);
	pthread_join(updater, NULL);
	return status;
}

static int first_thread_ends_before_the_others(void)
{
	pthread_t thread;

	rcu_memb_register_thread();
	rcu_memb_read_lock();
	pthread_create(&thread, NULL, waits_memb, NULL);
	while (!asleep(rcu_memb_domain.grace))
		sched_yield();
	pthread_exit(NULL); /* the process ends with its last thread, by 0 */
}

static int exit_beside_sections_and_sleepers(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, cancelled_memb, NULL);
	pthread_create(&thread, NULL, cancelled_bp, NULL);
	await(&ready, 2);
	pthread_create(&thread, NULL, waits_memb, NULL);
	while (!asleep(rcu_memb_domain.grace))
		sched_yield();
	exit(0);
}

static void read_bp(int number)
{
	(void)number;
	rcu_bp_read_lock();
	rcu_bp_read_unlock();
}

static void *signaller(void *target)
{
	while (!__atomic_load_n(&go_on, __ATOMIC_SEQ_CST)) {
		pthread_kill(*(pthread_t *)target, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

/* A handler that reads finds its thread registered, whatever of bp it interrupts. */
static int handlers_read_while_bp_polls_and_unregisters(void)
{
	struct sigaction action = { .sa_handler = read_bp };
	struct rcu_gp_poll_state state;
	pthread_t thread, self = pthread_self();
	int i, right = 1;

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, signaller, &self);
	for (i = 0; i < 20000; i++) {
		state = rcu_bp_start_poll();
		right &= rcu_bp_reader.registered != 0;
		rcu_bp_poll_state(state);
		rcu_bp_unregister_thread();
	}
	__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	return !right;
}

/* A destructor that runs after the library's own still may read. */
static pthread_key_t late;

static void late_destructor(void *left)
{
	rcu_bp_read_lock();
	rcu_bp_read_unlock();
	if (left != &ready)
		pthread_setspecific(late, &ready);
}

static void *reads_late(void *unused)
{
	pthread_setspecific(late, &go_on);
	rcu_bp_read_lock();
	rcu_bp_read_unlock();
	return unused;
}

static int destructors_of_a_thread_read(void)
{
	unsigned long count = rcu_bp_domain.grace->reader_count;
	pthread_t thread;

	pthread_key_create(&late, late_destructor);
	pthread_create(&thread, NULL, reads_late, NULL);
	pthread_join(thread, NULL);
	rcu_bp_synchronize();
	rcu_bp_unregister_thread();
	return rcu_bp_domain.grace->reader_count != count;
}

static int all_flavours_in_one_thread(void)
{
	rcu_qsbr_register_thread();
	rcu_mb_register_thread();
	rcu_signal_register_thread();
	rcu_memb_register_thread();
	rcu_memb_read_lock();
	rcu_mb_synchronize();
	rcu_mb_read_lock();
	rcu_signal_read_lock();
	rcu_bp_read_lock();
	rcu_qsbr_synchronize();
	rcu_bp_read_unlock();
	rcu_memb_read_unlock();
	rcu_memb_synchronize();
	rcu_bp_synchronize();
	rcu_signal_read_unlock();
	rcu_mb_read_unlock();
	rcu_signal_synchronize();
	return 0;
}

#define CASE(name)          \
	{                   \
#name, name \
	}

static const struct {
	const char *name;
	int (*body)(void);
} cases[] = {
	CASE(cancellation_ends_a_section),
	CASE(cancellation_wakes_who_sleeps_for_the_section),
	CASE(fork_beside_a_grace_period_that_sleeps),
	CASE(first_thread_ends_before_the_others),
	CASE(exit_beside_sections_and_sleepers),
	CASE(handlers_read_while_bp_polls_and_unregisters),
	CASE(destructors_of_a_thread_read),
	CASE(all_flavours_in_one_thread),
};

int main(void)
{
	int count = (int)(sizeof(cases) / sizeof(cases[0])), i;
	pid_t child;

	for (i = 0; i < count; i++) {
		child = fork();
		if (!child) {
			alarm(HANG_LIMIT_S);
			exit(cases[i].body());
		}
		check(!await_child(child), cases[i].name);
	}
	return sums();
}
