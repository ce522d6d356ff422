// SPDX-License-Identifier: MIT
/*
 * defer_rcu() on every flavour: when calls are made, in which order, full queues, barriers, threads
 * that end, fork. Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "call_test.h"
#include "deferred.h"

#include <dirent.h>

#define THREADS 4
#define CALLS 30000UL /* more than a queue holds */

static void add_one(void *argument)
{
	__atomic_add_fetch((unsigned long *)argument, 1, __ATOMIC_RELAXED);
}

static void barriers(void)
{
	unsigned long count = 0;
	int i;

	rcu_domain_defer_barrier(domain);
	rcu_domain_defer_barrier_thread(domain);
	named(rcu_domain_defer_register_thread(domain) == 0, "a_thread_registers_to_defer");
	for (i = 0; i < 1000; i++)
		rcu_domain_defer(domain, add_one, &count);
	rcu_domain_defer_barrier_thread(domain);
	named(count == 1000, "a_barrier_of_the_thread_waits_for_its_calls");
	for (i = 0; i < 1000; i++)
		rcu_domain_defer(domain, add_one, &count);
	rcu_domain_defer_barrier(domain);
	named(count == 2000, "a_barrier_waits_for_all_calls");
	rcu_domain_defer(domain, add_one, &count);
	named(comes_to(&count, 2001), "calls_are_made_without_a_barrier");
	rcu_domain_defer(domain, add_one, &count);
	named(comes_to(&count, 2002), "the_background_thread_wakes_again");
	rcu_domain_defer(domain, add_one, &count);
	rcu_domain_defer_unregister_thread(domain);
	named(count == 2003, "a_thread_that_unregisters_leaves_no_call_behind");
	rcu_domain_defer_barrier(domain);
}

struct sequence {
	unsigned long expected, wrong;
};

struct numbered {
	unsigned long number;
	struct sequence *sequence;
};

static void expect(void *argument)
{
	struct numbered *numbered = argument;

	numbered->sequence->wrong += numbered->number != numbered->sequence->expected;
	numbered->sequence->expected = numbered->number + 1;
	free(numbered);
}

static void *defer_in_order(void *argument)
{
	struct sequence *sequence = argument;
	unsigned long i;

	reader_register();
	rcu_domain_defer_register_thread(domain);
	for (i = 0; i < CALLS; i++) {
		struct numbered *numbered = malloc(sizeof(*numbered));

		numbered->number = i;
		numbered->sequence = sequence;
		section_enter();
		section_leave();
		rcu_domain_defer(domain, expect, numbered);
	}
	rcu_domain_defer_unregister_thread(domain);
	reader_unregister();
	return NULL;
}

static void order(void)
{
	struct sequence sequences[THREADS] = { { 0 } };
	pthread_t threads[THREADS];
	unsigned long wrong = 0, made = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		threads[i] = start(defer_in_order, &sequences[i]);
	for (i = 0; i < 20; i++)
		rcu_domain_defer_barrier(domain);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += sequences[i].wrong;
		made += sequences[i].expected;
	}
	named(!wrong && made == THREADS * CALLS,
	      "calls_of_one_thread_keep_their_order_and_full_queues_lose_none");
}

struct watched {
	unsigned long *left, seen_left, called;
};

static void watch(void *argument)
{
	struct watched *watched = argument;

	watched->seen_left = counted(watched->left);
	__atomic_store_n(&watched->called, 1, __ATOMIC_RELEASE);
}

static void grace(void)
{
	struct section section = { 0 };
	struct watched watched = { .left = &section.left };
	pthread_t reader = start(read_until_told, &section);
	int i;

	comes_to(&section.entered, 1);
	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer(domain, watch, &watched);
	for (i = 0; i < 40; i++)
		moment();
	__atomic_store_n(&section.leave, 1, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	rcu_domain_defer_unregister_thread(domain);
	named(watched.called && watched.seen_left, "a_call_comes_after_the_sections_before_it");
}

struct polling {
	struct rcu_gp_poll_state state;
	unsigned long looked;
	int ended;
};

static void poll_begin(void *argument)
{
	((struct polling *)argument)->state = rcu_domain_start_poll(domain);
}

static void poll_look(void *argument)
{
	struct polling *polling = argument;
	int i;

	for (i = 0; i < 60000 && !polling->ended; i++) {
		polling->ended = rcu_domain_poll_state(domain, polling->state);
		moment();
	}
	__atomic_store_n(&polling->looked, 1, __ATOMIC_RELEASE);
}

/* The background thread gathers both before it calls them: what one began, the other sees. */
static void between_calls(void)
{
	struct polling polling = { .ended = 0 };

	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer(domain, poll_begin, &polling);
	rcu_domain_defer(domain, poll_look, &polling);
	named(comes_to(&polling.looked, 1) && polling.ended,
	      "a_grace_period_ends_between_two_calls_of_the_background_thread");
	rcu_domain_defer_unregister_thread(domain);
}

/*
 * How often a test is tried anew in which a call has to be the owner's: a thread that is kept from
 * its CPU for the time in which calls gather finds that the background thread made it.
 */
#define ATTEMPTS 1000

struct again {
	unsigned long left, count, strayed;
	pthread_t owner;
};

static void defer_again(void *argument)
{
	struct again *again = argument;

	if (!pthread_equal(pthread_self(), again->owner)) {
		again->strayed = 1;
		return;
	}
	section_enter();
	section_leave();
	again->count++;
	if (again->left--)
		rcu_domain_defer(domain, defer_again, again);
}

static void calls_of_calls(void)
{
	struct again again;
	unsigned long count_then;
	int i;

	reader_register();
	for (i = 0; i < ATTEMPTS; i++) {
		again = (struct again){ .left = 5, .owner = pthread_self() };
		rcu_domain_defer_register_thread(domain);
		/* The first is this thread's; each unregistering pass makes the rest. */
		defer_again(&again);
		rcu_domain_defer_barrier_thread(domain);
		count_then = again.count;
		rcu_domain_defer_unregister_thread(domain);
		if (!again.strayed)
			break;
	}
	reader_unregister();
	named(count_then >= 2, "a_call_may_read_and_defer");
	named(again.count == 6, "a_thread_that_unregisters_makes_the_calls_of_its_calls");
}

struct other {
	unsigned long deferred, end, count;
};

static void *defer_and_stay(void *argument)
{
	struct other *other = argument;

	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer(domain, add_one, &other->count);
	__atomic_store_n(&other->deferred, 1, __ATOMIC_RELEASE);
	comes_to(&other->end, 1);
	rcu_domain_defer_unregister_thread(domain);
	return NULL;
}

static unsigned int queue_count(void)
{
	const struct defer_queue *queue;
	unsigned int count = 0;

	lull_defer_begin(domain->index);
	for (queue = defer_domain(domain->index)->queues; queue; queue = queue->next)
		count++;
	lull_defer_end(domain->index);
	return count;
}

static int in_child(struct other *other, unsigned long *own)
{
	alarm(60);
	if (!comes_to(own, 1) || !comes_to(&other->count, 1))
		return 1;
	rcu_domain_defer(domain, add_one, own);
	if (!comes_to(own, 2))
		return 1;
	if (queue_count() != 1) /* its own: those of other threads are gone once they are empty */
		return 3;
	rcu_domain_defer(domain, add_one, own);
	rcu_domain_defer_unregister_thread(domain);
	return *own == 3 && other->count == 1 ? 0 : 2;
}

static void forks(void)
{
	struct other other = { 0 };
	unsigned long own = 0;
	pthread_t thread;
	int status;
	pid_t child;

	thread = start(defer_and_stay, &other);
	comes_to(&other.deferred, 1); /* its queue is behind ours in the list */
	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer(domain, add_one, &own);
	child = fork_with_callbacks();
	if (child == 0)
		_exit(in_child(&other, &own));
	named(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
	      "a_child_makes_the_calls_of_all_threads_of_its_parent");
	__atomic_store_n(&other.end, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	rcu_domain_defer_unregister_thread(domain);
	named(own == 1 && other.count == 1, "the_parent_makes_its_calls_itself");
}

struct forking {
	unsigned long queued, done, well, count, strayed;
	pid_t parent;
	pthread_t owner;
};

/* A thread that makes calls has the lock; so does the child of a fork in a call. */
static int is_locked(void)
{
	struct lull_lock *lock = &defer_domain(domain->index)->draining;

	if (!lull_lock_try(lock))
		return 1;
	lull_lock_release(lock);
	return 0;
}

/* In the child, the thread that makes this call is the one there is. */
static void fork_in_call(void *argument)
{
	struct forking *forking = argument;
	sigset_t ring;
	pid_t child;
	int status;

	comes_to(&forking->queued, 1);
	child = fork_with_callbacks();
	if (child == 0) {
		sigemptyset(&ring);
		sigaddset(&ring, SIGALRM);
		pthread_sigmask(SIG_UNBLOCK, &ring, NULL);
		alarm(60);
		if (!is_locked())
			_exit(4);
		return;
	}
	forking->well = is_locked() && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
			WEXITSTATUS(status) == 0;
	__atomic_store_n(&forking->done, 1, __ATOMIC_RELEASE);
}

static void fork_in_call_of_owner(void *argument)
{
	struct forking *forking = argument;

	if (pthread_equal(pthread_self(), forking->owner))
		fork_in_call(forking);
	else
		forking->strayed = 1;
}

static unsigned int thread_count(void)
{
	DIR *threads = opendir("/proc/self/task");
	unsigned int count = 0;

	while (threads && readdir(threads))
		count++;
	if (threads)
		closedir(threads);
	return count - 2; /* . and .. */
}

/* The child has what is queued, and its thread to make the calls: it starts no other. */
static void leave_child(void *argument)
{
	const struct forking *forking = argument;

	if (getpid() != forking->parent)
		_exit(thread_count() == 1 ? 0 : 5);
}

static void fork_in_own_call(void)
{
	struct forking forking;
	int i;

	rcu_domain_defer_register_thread(domain);
	for (i = 0; i < ATTEMPTS; i++) {
		forking = (struct forking){ .parent = getpid(),
					    .queued = 1,
					    .owner = pthread_self() };
		rcu_domain_defer(domain, fork_in_call_of_owner, &forking);
		rcu_domain_defer(domain, add_one, &forking.count);
		rcu_domain_defer_barrier_thread(domain);
		if (!forking.strayed)
			break;
	}
	rcu_domain_defer(domain, add_one, &forking.count);
	if (getpid() != forking.parent)
		_exit(comes_to(&forking.count, 2) ? 0 : 1);
	named(comes_to(&forking.count, 2) && forking.well, "a_deferred_call_may_fork");
	rcu_domain_defer_unregister_thread(domain);
}

/* What is queued during the first call is for the next round, in the child as in the parent. */
static void fork_in_background(void)
{
	struct forking forking = { .parent = getpid() };

	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer(domain, fork_in_call, &forking);
	rcu_domain_defer(domain, leave_child, &forking);
	__atomic_store_n(&forking.queued, 1, __ATOMIC_RELEASE);
	named(comes_to(&forking.done, 1) && forking.well,
	      "a_call_of_the_background_thread_may_fork");
	rcu_domain_defer_unregister_thread(domain);
}

static void misuse_unregistered(void)
{
	unsigned long count;

	rcu_domain_defer(domain, add_one, &count);
}

static void misuse_twice(void)
{
	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer_register_thread(domain);
}

static void misuse_unregister(void)
{
	rcu_domain_defer_unregister_thread(domain);
}

static void wait_in_call(void *argument)
{
	(void)argument;
	rcu_domain_defer_barrier(domain);
}

static void misuse_wait(void)
{
	rcu_domain_defer_register_thread(domain);
	rcu_domain_defer(domain, wait_in_call, NULL);
	rcu_domain_defer_barrier(domain);
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS && !TEST_SANITIZES_THREADS;
	     i++) { /* while there is one thread */
		domain = test_domains[i];
		named(is_refused(misuse_unregistered, "without rcu_defer_register_thread()"),
		      "a_thread_that_did_not_register_is_refused");
		named(is_refused(misuse_twice, "rcu_defer_register_thread() twice"),
		      "to_register_twice_is_refused");
		named(is_refused(misuse_unregister, "rcu_defer_unregister_thread() without"),
		      "to_unregister_a_thread_that_did_not_register_is_refused");
		named(is_refused(misuse_wait, "in a deferred call"),
		      "waiting_in_a_deferred_call_is_refused");
	}
	for (i = 0; i < TEST_DOMAINS; i++) {
		domain = test_domains[i];
		barriers();
		order();
		grace();
		calls_of_calls();
		between_calls();
		if (TEST_SANITIZES_THREADS)
			continue;
		forks();
		fork_in_own_call();
		fork_in_background();
	}
	return sums();
}
