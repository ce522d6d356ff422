// SPDX-License-Identifier: MIT
/*
 * A child of fork() calls callbacks, or with DEFERRED deferred calls, in a program that has the
 * library from the archive and refers to no function that is about forks.
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lull/rcu/flavour/bp.h"

static int calls_made;

#ifdef DEFERRED
static void called(void *unused)
{
	(void)unused;
	__atomic_add_fetch(&calls_made, 1, __ATOMIC_SEQ_CST);
}

/* The calls are made by a thread, which no caller asks for them. */
static void make_one(void)
{
	int wanted = __atomic_load_n(&calls_made, __ATOMIC_SEQ_CST) + 1;

	rcu_bp_defer(called, NULL);
	while (__atomic_load_n(&calls_made, __ATOMIC_SEQ_CST) < wanted)
		sched_yield();
}
#else
static void called(struct rcu_head *unused)
{
	(void)unused;
	calls_made++;
}

static void make_one(void)
{
	static struct rcu_head head;

	rcu_bp_call(&head, called);
	rcu_bp_barrier();
}
#endif

int main(void)
{
	int status = 1;
	pid_t child;

	alarm(60);
#ifdef DEFERRED
	rcu_domain_defer_register_thread(&rcu_bp_domain);
#endif
	make_one();
	child = fork();
	if (child == 0) {
		alarm(30);
		make_one();
		_exit(calls_made == 2 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	return status != 0;
}
