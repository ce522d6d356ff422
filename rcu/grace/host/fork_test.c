// SPDX-License-Identifier: MIT
/*
 * The locks of all parts of the library over a fork, which waits for the thread that has one,
 * gives it back, and leaves it free in the child.
 *
 * Each lock in turn is another thread's when the process forks. That thread releases it once the
 * forking thread waits for it, which shows in the lock's turn; or once the fork is over, and then
 * the fork has not waited. Nothing depends on time. models/grace/fork.pml has what would
 * come of it. Paper: T 6.4.4, 6.4.5.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../../check/test.h"
#include "deferred.h"
#include "hash_table.h"
#include "host.h"
#include "lull/qdo.h"

#define HANG_LIMIT_S 60
#define LOCKS_MAX (5 * RCU_DOMAINS + 8)

struct part {
	char name[48];
	struct lull_lock *lock;
};

/* In the order in which a fork takes them, but for those that domains have each. */
static struct part parts[LOCKS_MAX];
static int part_count;
static int forked; /* the fork is over */
static sem_t taken;
static struct qdo *instance;

static void part_add(const char *owner, const char *name, struct lull_lock *lock)
{
	struct part *part = &parts[part_count++];

	snprintf(part->name, sizeof(part->name), "%s%s", owner, name);
	part->lock = lock;
}

static void nothing(struct rcu_head *head)
{
	(void)head;
}

static void no_work(void *unused)
{
	(void)unused;
}

/* Workers run and sleep, as does the instance's monitor. */
static void parts_make(void)
{
	static struct rcu_head heads[RCU_DOMAINS];
	int i;

	for (i = 0; i < RCU_DOMAINS; i++) {
		struct call_domain *calls = lull_call_domain(rcu_domains[i]);
		struct call_rcu_data *worker = create_call_rcu_data(rcu_domains[i], 0, -1);
		const char *name = rcu_domain_name(rcu_domains[i]);

		rcu_domain_call(rcu_domains[i], &heads[i], nothing);
		rcu_domain_barrier(rcu_domains[i]);
		part_add(name, "'s_workers", &calls->lock);
		part_add(name, "'s_default_worker", &calls->standby.lock);
		part_add(name, "'s_other_worker", &worker->lock);
		part_add(name, "'s_deferred_calls", &defer_domain((unsigned int)i)->lock);
	}
	part_add("", "hash_tables", &lull_hash_lock);
	if (qdo_create(NULL, &instance) || qdo_request(instance, no_work, NULL, NULL, NULL) ||
	    qdo_barrier(instance))
		abort();
	part_add("", "the_default_instance", &lull_qdo_default_lock);
	part_add("", "the_list_of_instances", &lull_qdo_instances_lock);
	part_add("", "an_instance's_monitor", &instance->monitors[0].lock);
	part_add("", "an_instance's_executors", &instance->executors.lock);
	for (i = 0; i < RCU_DOMAINS; i++)
		part_add(rcu_domain_name(rcu_domains[i]), "'s_grace_periods",
			 &rcu_domains[i]->grace->lock);
}

/*
 * As a program with callbacks in all domains does it. The thread is registered where threads
 * register themselves: the fork would do that first, and wait for the lock then.
 */
static pid_t fork_with_callbacks(void)
{
	pid_t child;
	int i;

	rcu_domain_register(&rcu_bp_domain, rcu_domain_self(&rcu_bp_domain), 0);
	for (i = 0; i < RCU_DOMAINS; i++)
		call_rcu_before_fork(rcu_domains[i]);
	child = fork();
	for (i = RCU_DOMAINS - 1; i >= 0; i--) {
		if (child)
			call_rcu_after_fork_parent(rcu_domains[i]);
		else
			call_rcu_after_fork_child(rcu_domains[i]);
	}
	return child;
}

static int is_child_well(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && status == 0;
}

/* Where one is not free, the alarm ends the process. */
static void take_and_release_all(void)
{
	int i;

	alarm(HANG_LIMIT_S);
	for (i = 0; i < part_count; i++) {
		lull_lock_take(parts[i].lock);
		lull_lock_release(parts[i].lock);
	}
}

static int is_waited_for(struct lull_lock *lock)
{
	if (pthread_mutex_trylock(&lock->turn))
		return 1;
	pthread_mutex_unlock(&lock->turn);
	return 0;
}

/* Return: the lock, if the fork has waited for it. */
static void *hold_until_waited_for(void *lock)
{
	void *waited = NULL;

	lull_lock_take(lock);
	sem_post(&taken);
	while (!waited && !__atomic_load_n(&forked, __ATOMIC_SEQ_CST)) {
		if (is_waited_for(lock))
			waited = lock;
		sched_yield();
	}
	lull_lock_release(lock);
	return waited;
}

static pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument))
		abort();
	return thread;
}

/* As a thread that makes a request: a fork closes the gates, and waits until it is outside. */
static void *request_until_closed(void *gate)
{
	uint32_t *inside = &((struct host_gate *)gate)->inside;
	void *closed = NULL;

	lull_mem_add32(inside, 1);
	sem_post(&taken);
	while (!closed && !__atomic_load_n(&forked, __ATOMIC_SEQ_CST)) {
		if (lull_mem_load32(&instance->closed))
			closed = gate;
		sched_yield();
	}
	lull_mem_add32(inside, -1u);
	lull_futex_wake(inside, 1);
	return closed;
}

/* Return: not 0 if the thread that runs @hold has seen the fork wait for it. */
static int fork_waits_for(void *(*hold)(void *what), void *what)
{
	pthread_t holder;
	void *waited;
	pid_t child;

	forked = 0;
	holder = start(hold, what);
	while (sem_wait(&taken))
		;
	child = fork_with_callbacks();
	if (!child) {
		take_and_release_all();
		_exit(0);
	}
	__atomic_store_n(&forked, 1, __ATOMIC_SEQ_CST);
	pthread_join(holder, &waited);
	take_and_release_all();
	return is_child_well(child) && waited;
}

static void *take_and_release(void *lock)
{
	lull_lock_take(lock);
	lull_lock_release(lock);
	return NULL;
}

/*
 * The forking thread has all locks but the last, and waits for that; meanwhile other threads begin
 * to wait for each of those that it has.
 */
static void *wait_for_all_but_the_last(void *unused)
{
	struct lull_lock *last = parts[part_count - 1].lock;
	pthread_t waiters[LOCKS_MAX];
	int i;

	lull_lock_take(last);
	sem_post(&taken);
	while (!is_waited_for(last))
		sched_yield();
	for (i = 0; i < part_count - 1; i++) {
		waiters[i] = start(take_and_release, parts[i].lock);
		while (!is_waited_for(parts[i].lock))
			sched_yield();
	}
	lull_lock_release(last);
	for (i = 0; i < part_count - 1; i++)
		pthread_join(waiters[i], NULL);
	return unused;
}

/* In a child, which has none of the threads that waited. */
_Noreturn static void fork_again(void)
{
	int i, well = 1;

	take_and_release_all();
	for (i = 0; i < RCU_DOMAINS; i++) /* those that its parent made are spares: used again */
		create_call_rcu_data(rcu_domains[i], 0, -1);
	for (i = 0; i < part_count; i++)
		well &= fork_waits_for(hold_until_waited_for, parts[i].lock);
	_exit(!well);
}

static int child_has_locks_that_others_waited_for(void)
{
	pthread_t thread = start(wait_for_all_but_the_last, NULL);
	pid_t child;

	while (sem_wait(&taken))
		;
	child = fork_with_callbacks();
	if (!child)
		fork_again();
	pthread_join(thread, NULL);
	take_and_release_all();
	return is_child_well(child);
}

int main(void)
{
	char text[2 * sizeof(parts[0].name)];
	int i;

	sem_init(&taken, 0, 0);
	parts_make();
	for (i = 0; i < part_count; i++) {
		snprintf(text, sizeof(text), "a_fork_waits_for_the_lock_of_%.*s",
			 (int)sizeof(parts[i].name), parts[i].name);
		check(fork_waits_for(hold_until_waited_for, parts[i].lock), text);
	}
	check(fork_waits_for(request_until_closed, &instance->gates[0]),
	      "a_fork_closes_the_gates_to_requests");
	if (failed)
		return sums(); /* threads would wait for a fork that does not wait for them */
	check(child_has_locks_that_others_waited_for(),
	      "a_child_can_take_locks_that_others_waited_for_and_fork_again");
	return sums();
}
