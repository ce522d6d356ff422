// SPDX-License-Identifier: MIT
/*
 * misuse CASE: does one thing that a program must not do. Compiled with and without
 * LULL_RCU_DEBUG; `run` knows what each must say, or that it must be silent.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lull/rcu/flavour/bp.h"
#include "lull/rcu/flavour/mb.h"
#include "lull/rcu/flavour/memb.h"
#include "lull/rcu/flavour/qsbr.h"
#include "lull/rcu/flavour/signal.h"

static void unbalanced(void)
{
	rcu_memb_register_thread();
	rcu_memb_read_lock();
	rcu_memb_read_unlock();
	rcu_memb_read_unlock();
}

static void unregistered(void)
{
	rcu_mb_read_lock();
}

static void waits_within(void)
{
	rcu_signal_register_thread();
	rcu_signal_read_lock();
	rcu_signal_synchronize();
}

static void waits_within_bp(void)
{
	rcu_bp_read_lock();
	rcu_bp_synchronize_expedited();
}

static void registers_twice(void)
{
	rcu_memb_register_thread();
	rcu_memb_register_thread();
}

static void unregisters_twice(void)
{
	rcu_mb_register_thread();
	rcu_mb_unregister_thread();
	rcu_mb_unregister_thread();
}

static void unregisters_within(void)
{
	rcu_memb_register_thread();
	rcu_memb_read_lock();
	rcu_memb_unregister_thread();
}

static void too_deep(void)
{
	int i;

	rcu_memb_register_thread();
	for (i = 0; i < 9000000; i++)
		rcu_memb_read_lock();
}

static void quiescent_offline(void)
{
	rcu_qsbr_register_thread();
	rcu_qsbr_thread_offline();
	rcu_qsbr_quiescent_state();
}

static void *ending_thread(void *within)
{
	rcu_memb_register_thread();
	if (within)
		rcu_memb_read_lock();
	return NULL;
}

static void run_thread(int within)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ending_thread, within ? &thread : NULL);
	pthread_join(thread, NULL);
	rcu_memb_synchronize(); /* nobody to wait for */
}

static void ends_registered(void)
{
	run_thread(0);
}

static void ends_within(void)
{
	run_thread(1);
}

static void called(struct rcu_head *head)
{
	(void)head;
}

/* A child has no thread that would call callbacks. */
static void forks_unprepared(void)
{
	static struct rcu_head head;
	pid_t child;

	rcu_memb_call(&head, called);
	rcu_memb_barrier();
	child = fork();
	if (child) {
		int status = 0;

		waitpid(child, &status, 0);
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
			abort();
		exit(1);
	}
	alarm(30);
	rcu_memb_barrier();
}

static const struct {
	const char *name;
	void (*body)(void);
} cases[] = {
	{ "unbalanced", unbalanced },
	{ "unregistered", unregistered },
	{ "waits_within", waits_within },
	{ "waits_within_bp", waits_within_bp },
	{ "registers_twice", registers_twice },
	{ "unregisters_twice", unregisters_twice },
	{ "unregisters_within", unregisters_within },
	{ "too_deep", too_deep },
	{ "quiescent_offline", quiescent_offline },
	{ "forks_unprepared", forks_unprepared },
	{ "ends_registered", ends_registered },
	{ "ends_within", ends_within },
};

int main(int count, char **argument)
{
	size_t i;

	for (i = 0; count > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argument[1]))
			continue;
		cases[i].body();
		return 0;
	}
	fprintf(stderr, "usage: misuse CASE\n");
	return 2;
}
