// SPDX-License-Identifier: MIT
/*
 * Forks in the middle of it, from several threads, some of which are in a section; signals come
 * meanwhile. The child has one thread, goes on with new ones, that end, fork and get signals too,
 * and exits with what it found.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "torture.h"

#ifndef CHILD_LIMIT_S
#define CHILD_LIMIT_S 20
#endif
#define CHILD_UPDATES 20
#define CHILD_THREADS 5

/* What thread forks, and where. */
struct forking {
	int registered;
	int in_section;
	pid_t child; /* 0: in the child */
	struct rcu_head head; /* queued before the fork: both processes call it */
	unsigned long called;
};

uint32_t fork_pause_ms = 150;
static int generation; /* 1 in a child, 2 in its child */
static void fork_once(struct random *random);

static void count_call(struct rcu_head *head)
{
	struct forking *forking = (struct forking *)((char *)head - offsetof(struct forking, head));

	__atomic_fetch_add(&forking->called, 1, __ATOMIC_RELAXED);
}

/* Return: how often the callback was called that was queued before the fork. */
static unsigned long called_by_now(struct forking *forking)
{
	flavour->barrier();
	return __atomic_load_n(&forking->called, __ATOMIC_RELAXED);
}

static void child_share(struct torture *fresh)
{
	elements_make(fresh);
	if (torture->table)
		table_make(fresh);
	torture = fresh;
}

/* In a child, but not in its child. */
static void *fork_again_thread(void *index)
{
	struct random random;

	random_start(&random, (uint32_t)getpid() + (uint32_t)(uintptr_t)index);
	if (generation == 1)
		fork_once(&random);
	counts_flush();
	return NULL;
}

/* Some grace periods beside threads that read, update, call, end, and this thread. */
static int child_run(int registered)
{
	static void *(*const body[CHILD_THREADS])(void *) = {
		reader_thread, updater_thread, churn_thread, signal_thread, fork_again_thread,
	};
	struct torture *fresh = calloc(1, sizeof(*fresh));
	pthread_t thread[CHILD_THREADS];
	struct random random;
	int i;

	if (!fresh)
		return 2;
	signal(SIGUSR1, section_in_handler);
	random_start(&random, (uint32_t)getpid());
	signals_may_come(0);
	if (!registered)
		register_thread();
	if (torture->table && !table_goes_on(&random))
		return 6;
	if (!registered)
		unregister_thread();
	child_share(fresh);
	flavour->synchronize();
	for (i = 0; i < CHILD_THREADS; i++)
		if (pthread_create(&thread[i], NULL, body[i], (void *)(uintptr_t)(i + 1)))
			return 3;
	for (i = 0; i < CHILD_UPDATES; i++) {
		if (registered || flavour->automatic)
			section(&random);
		flavour->synchronize();
	}
	__atomic_store_n(&fresh->stop, 1, __ATOMIC_RELAXED);
	if (registered)
		flavour->offline(); /* others wait for this thread no more */
	for (i = 0; i < CHILD_THREADS; i++)
		pthread_join(thread[i], NULL);
	flavour->barrier();
	for (i = 0; i < FAULTS; i++)
		if (fresh->fault[i])
			return 10 + i;
	return 0;
}

/* Without a callback or a grace period that it waits for. */
static void fork_here(void *argument)
{
	struct forking *forking = argument;
	int explicit = !flavour->automatic;

	flavour->call(&forking->head, count_call);
	if (explicit)
		call_rcu_before_fork(flavour->domain);
	forking->child = fork();
	if (!forking->child)
		alarm(CHILD_LIMIT_S); /* a child that hangs is killed, which its status tells */
	if (explicit && !forking->child)
		call_rcu_after_fork_child(flavour->domain);
	if (explicit && forking->child)
		call_rcu_after_fork_parent(flavour->domain);
}

/* Return: the child's status. */
static int child_end(struct forking *forking)
{
	generation++;
	if (torture->fault[FAULT_CONTENT] || torture->fault[FAULT_OLD])
		return 4; /* in the section in which it was made */
	if (called_by_now(forking) != 1)
		return 5;
	return child_run(forking->registered);
}

static void await_child(pid_t child)
{
	int status = 0;

	if (child < 0)
		return;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "a child ended with status 0x%x\n", (unsigned int)status);
		fault_found(FAULT_CHILD);
	}
	counted[COUNT_FORKED]++;
}

static void fork_once(struct random *random)
{
	struct forking forking = { .registered = (int)random_below(random, 2) };
	int may_read = forking.registered || flavour->automatic;

	forking.in_section = may_read && !flavour->quiescent && random_below(random, 2);
	if (forking.registered)
		register_thread();
	if (forking.registered && !forking.in_section)
		flavour->offline();
	if (flavour->automatic && !forking.in_section)
		flavour->unregister_thread(); /* a handler has registered it */
	if (forking.in_section)
		section_around(random, fork_here, &forking);
	else
		fork_here(&forking);
	if (forking.registered && !forking.in_section)
		flavour->online();
	if (!forking.child)
		_exit(child_end(&forking));
	if (forking.registered)
		flavour->offline();
	await_child(forking.child);
	if (called_by_now(&forking) != 1)
		fault_found(FAULT_CALL);
	if (forking.registered) {
		flavour->online();
		unregister_thread();
	}
}

void *fork_thread(void *index)
{
	struct timespec moment = { 0, 0 };
	struct random random;

	random_start(&random, (uint32_t)(uintptr_t)index);
	signals_may_come(0);
	while (!stopped()) {
		fork_once(&random);
		moment.tv_nsec = 1000000l * (long)random_below(&random, fork_pause_ms);
		nanosleep(&moment, NULL);
	}
	counts_flush();
	return NULL;
}
