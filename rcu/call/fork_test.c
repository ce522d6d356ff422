// SPDX-License-Identifier: MIT
/*
 * fork() in a program with workers: with callbacks pending, under load, in callbacks. The child
 * calls what was queued before, once, and goes on. Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "call_test.h"

#include <stddef.h>
#include "worker.h"

#define CALLERS (2 * CALL_LANES)
#define FORKS 30
#define QUEUERS 2

static unsigned long stop;

/* Return: whether a child left with 0. It must not run for ever when it fails. */
static int child_is_well(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/*
 * What a child does with its callbacks. One that a worker was in is its parent's: @running is how
 * many those may be. Return: its exit status.
 */
static int in_child(unsigned long *count, unsigned long wanted, unsigned long running)
{
	unsigned long found;

	alarm(60);
	rcu_domain_barrier(domain);
	found = counted(count);
	if (found > wanted || wanted - found > running)
		return 1;
	call_counted(count);
	rcu_domain_barrier(domain);
	return counted(count) == found + 1 ? 0 : 2;
}

/* Pending in the default worker, in one of this thread and in those of CPUs. */
static void pending(void)
{
	struct call_rcu_tuning never = { .batch_min_count = ~0UL, .delay_max_us = 3600000000UL };
	struct call_rcu_data *own = create_call_rcu_data(domain, 0, -1);
	unsigned long count = 0;
	pid_t child;
	int i;

	call_rcu_data_tune(get_default_call_rcu_data(domain), &never);
	call_rcu_data_tune(own, &never);
	for (i = 0; i < 100; i++) {
		set_thread_call_rcu_data(domain, i % 2 ? own : NULL);
		call_counted(&count);
	}
	set_thread_call_rcu_data(domain, own);
	create_all_cpu_call_rcu_data(domain, 0);
	child = fork_with_callbacks();
	if (child == 0) {
		int dropped =
			!get_thread_call_rcu_data(domain) && !get_cpu_call_rcu_data(domain, 0);

		_exit(dropped ? in_child(&count, 100, 0) : 3);
	}
	named(child_is_well(child), "a_child_calls_what_was_queued_and_starts_anew");
	named(get_thread_call_rcu_data(domain) == own && get_cpu_call_rcu_data(domain, 0),
	      "the_parent_keeps_its_workers");
	rcu_domain_barrier(domain);
	named(counted(&count) == 100, "the_parent_calls_what_was_queued");
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(own);
	free_all_cpu_call_rcu_data(domain);
	call_rcu_data_tune(get_default_call_rcu_data(domain), &(struct call_rcu_tuning){ 0 });
}

static int has_batch(const struct call_rcu_data *worker)
{
	int i;

	for (i = 0; i < CALL_LANES; i++)
		if (__atomic_load_n(&worker->batch[i].first, __ATOMIC_RELAXED))
			return 1;
	return 0;
}

/* Callbacks of one thread, which are called in their order. */
struct ranked {
	struct rcu_head head;
	unsigned long *called, rank;
};

static void rank(struct rcu_head *head)
{
	struct ranked *ranked = (struct ranked *)head;

	ranked->rank = __atomic_add_fetch(ranked->called, 1, __ATOMIC_RELEASE);
}

/* A batch waits for a reader that is not in the child, and each lane has something behind it. */
static void batched(void)
{
	struct caller caller = { .worker = create_call_rcu_data(domain, 0, -1) };
	struct section section = { 0 };
	pthread_t reader = start(read_until_told, &section);
	unsigned long called = 0;
	struct ranked first = { .called = &called }, second = { .called = &called };
	pid_t child;
	int i, ill;

	comes_to(&section.entered, 1);
	set_thread_call_rcu_data(domain, caller.worker);
	rcu_domain_call(domain, &first.head, rank);
	for (i = 0; i < 60000 && !has_batch(caller.worker); i++)
		moment();
	rcu_domain_call(domain, &second.head, rank);
	for (i = 0; i < CALLERS; i++)
		pthread_join(start(call_once, &caller), NULL);
	child = fork_with_callbacks();
	if (child == 0) {
		alarm(60);
		_exit(comes_to(&called, 2) && comes_to(&caller.count, CALLERS) && first.rank == 1 &&
				      second.rank == 2 ?
			      0 :
			      1);
	}
	ill = !child_is_well(child) || counted(&called) || counted(&caller.count);
	__atomic_store_n(&section.leave, 1, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	rcu_domain_barrier(domain);
	named(!ill && counted(&caller.count) == CALLERS && first.rank == 1 && second.rank == 2,
	      "a_child_calls_what_waited_for_a_grace_period_and_what_waited_behind_it");
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(caller.worker);
}

static void *queue_until_stopped(void *argument)
{
	unsigned long *count = argument, made = 0;

	reader_register();
	while (!counted(&stop)) {
		call_counted(count);
		section_enter();
		section_leave();
		for (made++; made > counted(count) + 10000 && !counted(&stop);) {
			moment();
			section_enter(); /* with QSBR: tell that it reads nothing */
			section_leave();
		}
	}
	reader_unregister();
	return (void *)made;
}

static void under_load(void)
{
	unsigned long counts[QUEUERS] = { 0 }, own = 0, made = 0, lost = 0;
	pthread_t queuers[QUEUERS];
	void *queued;
	int i, j, ill = 0;

	stop = 0;
	for (i = 0; i < QUEUERS; i++)
		queuers[i] = start(queue_until_stopped, &counts[i]);
	for (i = 0; i < FORKS; i++) {
		pid_t child;

		for (j = 0; j < 50; j++, made++)
			call_counted(&own);
		child = fork_with_callbacks();
		if (child == 0)
			_exit(in_child(&own, made, 1));
		ill += !child_is_well(child);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < QUEUERS; i++) {
		pthread_join(queuers[i], &queued);
		lost += (unsigned long)queued;
	}
	rcu_domain_barrier(domain);
	for (i = 0; i < QUEUERS; i++)
		lost -= counted(&counts[i]);
	named(!ill, "children_call_what_their_thread_queued_while_others_queue");
	named(!lost && counted(&own) == made, "the_parent_loses_nothing_to_forks");
}

/* Without a barrier, which would wake workers that overlooked something. */
static void unhurried(void)
{
	unsigned long count = 0, made = 0;
	int ill = 0, late = 0;

	while (made < FORKS) {
		pid_t child;

		call_counted(&count);
		made++;
		child = fork_with_callbacks();
		if (child == 0) {
			alarm(60);
			_exit(comes_to(&count, made) ? 0 : 1);
		}
		ill += !child_is_well(child);
		late += !comes_to(&count, made);
	}
	named(!ill && !late, "a_worker_overlooks_nothing_that_a_fork_came_between");
}

struct forking {
	struct rcu_head head, next;
	unsigned long queued, done, well, count;
	pid_t parent;
};

/* In the child, that thread is the one there is, and its worker goes on. */
static void fork_in_callback(struct rcu_head *head)
{
	struct forking *forking = (struct forking *)head;
	sigset_t ring;
	pid_t child;

	comes_to(&forking->queued, 1);
	child = fork_with_callbacks();
	if (child == 0) {
		sigemptyset(&ring);
		sigaddset(&ring, SIGALRM);
		pthread_sigmask(SIG_UNBLOCK, &ring, NULL);
		alarm(60);
		return;
	}
	forking->well = (unsigned long)child_is_well(child);
	__atomic_store_n(&forking->done, 1, __ATOMIC_RELEASE);
}

static void leave_child(struct rcu_head *head)
{
	struct forking *forking = (struct forking *)((char *)head - offsetof(struct forking, next));

	if (getpid() != forking->parent)
		_exit(0);
}

static void in_callback(struct call_rcu_data *worker, const char *name)
{
	struct forking forking = { .parent = getpid() };

	set_thread_call_rcu_data(domain, worker);
	rcu_domain_call(domain, &forking.head, fork_in_callback);
	rcu_domain_call(domain, &forking.next, leave_child);
	__atomic_store_n(&forking.queued, 1, __ATOMIC_RELEASE);
	comes_to(&forking.done, 1);
	rcu_domain_barrier(domain);
	named(forking.well, name);
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(worker);
}

static void *wait_and_leave(void *argument)
{
	const struct forking *forking = argument;

	rcu_domain_barrier(domain);
	_exit(counted(&forking->count) == 2 ? 0 : 1);
}

static void leave_child_by_thread(struct rcu_head *head)
{
	struct forking *forking = (struct forking *)((char *)head - offsetof(struct forking, next));

	if (getpid() != forking->parent)
		start(wait_and_leave, forking);
}

static int by_address(const void *one, const void *other)
{
	const struct call_rcu_data *const *left = one, *const *right = other;

	return (*left > *right) - (*left < *right);
}

/*
 * In the child, the forking worker's thread goes on, and those of the workers beside it are gone.
 * Their memory lies before and behind that worker's.
 */
static void in_callback_beside_others(void)
{
	struct call_rcu_tuning never = { .batch_min_count = ~0UL, .delay_max_us = 3600000000UL };
	struct call_rcu_data *workers[3];
	struct forking forking = { .parent = getpid() };
	int i;

	for (i = 0; i < 3; i++)
		workers[i] = create_call_rcu_data(domain, 0, -1);
	qsort(workers, 3, sizeof(workers[0]), by_address);
	for (i = 0; i < 3; i += 2) {
		call_rcu_data_tune(workers[i], &never);
		set_thread_call_rcu_data(domain, workers[i]);
		call_counted(&forking.count);
	}
	set_thread_call_rcu_data(domain, workers[1]);
	rcu_domain_call(domain, &forking.head, fork_in_callback);
	rcu_domain_call(domain, &forking.next, leave_child_by_thread);
	__atomic_store_n(&forking.queued, 1, __ATOMIC_RELEASE);
	comes_to(&forking.done, 1);
	rcu_domain_barrier(domain);
	named(forking.well && forking.count == 2,
	      "a_child_of_a_callback_calls_what_other_workers_held_and_waits_for_none_of_them");
	set_thread_call_rcu_data(domain, NULL);
	for (i = 0; i < 3; i++)
		call_rcu_data_free(workers[i]);
}

static void free_other(struct rcu_head *head)
{
	struct forking *forking = (struct forking *)head;
	int i, j;

	for (i = 0; i < 50; i++) {
		struct call_rcu_data *worker = create_call_rcu_data(domain, 0, -1);

		set_thread_call_rcu_data(domain, worker);
		for (j = 0; j < 100; j++)
			call_counted(&forking->count);
		set_thread_call_rcu_data(domain, NULL);
		call_rcu_data_free(worker);
	}
	__atomic_store_n(&forking->done, 1, __ATOMIC_RELEASE);
}

/* A worker is freed in a callback that a fork waits for: it need not wait for that fork. */
static void beside_free(void)
{
	struct forking forking = { .done = 0 };
	int ill = 0, forks = 0;

	rcu_domain_call(domain, &forking.head, free_other);
	do {
		pid_t child = fork_with_callbacks();

		if (child == 0)
			_exit(0);
		ill += !child_is_well(child);
	} while (!counted(&forking.done) && ++forks < 10000);
	rcu_domain_barrier(domain);
	named(!ill && forking.done && forking.count == 5000,
	      "workers_may_be_freed_in_callbacks_beside_forks");
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS; i++) {
		if (TEST_SANITIZES_THREADS)
			break;
		domain = test_domains[i];
		pending();
		batched();
		if (!TEST_SANITIZES_ADDRESSES) {
			under_load();
			unhurried();
		}
		in_callback(NULL, "a_callback_of_the_default_worker_may_fork");
		in_callback(create_call_rcu_data(domain, 0, -1),
			    "a_callback_of_another_worker_may_fork");
		in_callback_beside_others();
		beside_free();
	}
	return sums();
}
