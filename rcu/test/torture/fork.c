// SPDX-License-Identifier: MIT
/*
 * Forks in the middle of it: the child has one thread, goes on with new ones, and exits with
 * what it found.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "torture.h"

#define CHILD_LIMIT_S 20
#define CHILD_UPDATES 20

static void child_share(struct torture *fresh)
{
	elements_make(fresh);
	torture = fresh;
}

/* Some grace periods beside a reader, an updater and this thread; then everything ends. */
static int child_run(int registered)
{
	struct torture *fresh = calloc(1, sizeof(*fresh));
	pthread_t reader, updater;
	struct random random;
	int i;

	alarm(CHILD_LIMIT_S); /* a child that hangs is killed, which its status tells */
	if (!fresh)
		return 2;
	random_start(&random, (uint32_t)getpid());
	child_share(fresh);
	flavour->synchronize();
	if (pthread_create(&reader, NULL, reader_thread, (void *)1) ||
	    pthread_create(&updater, NULL, updater_thread, (void *)2))
		return 3;
	for (i = 0; i < CHILD_UPDATES; i++) {
		if (registered || flavour->automatic)
			section(&random);
		flavour->synchronize();
	}
	__atomic_store_n(&fresh->stop, 1, __ATOMIC_RELAXED);
	if (registered)
		flavour->offline(); /* others wait for this thread no more */
	pthread_join(reader, NULL);
	pthread_join(updater, NULL);
	flavour->barrier();
	for (i = 0; i < FAULTS; i++)
		if (fresh->fault[i])
			return 10 + i;
	return 0;
}

static void fork_once(int registered)
{
	int explicit = !flavour->automatic, status;
	pid_t child;

	if (registered)
		flavour->offline();
	if (explicit)
		call_rcu_before_fork(flavour->domain);
	child = fork();
	if (!child) {
		if (explicit)
			call_rcu_after_fork_child(flavour->domain);
		if (registered)
			flavour->online();
		_exit(child_run(registered));
	}
	if (explicit)
		call_rcu_after_fork_parent(flavour->domain);
	if (child > 0) {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fault_found(FAULT_CHILD);
		counted[COUNT_FORKED]++;
	}
	if (registered)
		flavour->online();
}

void *fork_thread(void *index)
{
	struct timespec moment = { 0, 0 };
	struct random random;
	int registered;

	random_start(&random, (uint32_t)(uintptr_t)index);
	while (!stopped()) {
		registered = (int)random_below(&random, 2);
		if (registered)
			register_thread();
		fork_once(registered);
		if (registered)
			unregister_thread();
		moment.tv_nsec = 1000000l * (long)random_below(&random, 150);
		nanosleep(&moment, NULL);
	}
	counts_flush();
	return NULL;
}
