// SPDX-License-Identifier: MIT
/*
 * rcu_barrier(): what it waits for and what not, and what it refuses. Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "call_test.h"

#include <stddef.h>

#define QUEUERS 3
#define ROUNDS (TEST_SANITIZES_THREADS ? 20 : 60)

static unsigned long stop;

/* Queues, then waits: then its own callbacks must have run, whatever other threads do. */
static void *queue_and_wait(void *argument)
{
	unsigned long *wrong = argument, own = 0, made = 0;
	int round, i;

	reader_register();
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i <= round % 7; i++, made++)
			call_counted(&own);
		rcu_domain_barrier(domain);
		if (counted(&own) != made)
			++*wrong;
	}
	reader_unregister();
	return NULL;
}

static void *queue_for_ever(void *argument)
{
	unsigned long *count = argument, made = 0;

	while (!counted(&stop)) {
		call_counted(count);
		/* Bounds the memory: no thread gets further ahead of the workers than this. */
		for (made++; made > counted(count) + 50000 && !counted(&stop);)
			moment();
	}
	return NULL;
}

static void beside_others(const char *name)
{
	unsigned long counts[QUEUERS] = { 0 }, wrong[2] = { 0 };
	pthread_t queuers[QUEUERS], waiters[2];
	int i;

	stop = 0;
	for (i = 0; i < QUEUERS; i++)
		queuers[i] = start(queue_for_ever, &counts[i]);
	for (i = 0; i < 2; i++)
		waiters[i] = start(queue_and_wait, &wrong[i]);
	for (i = 0; i < 2; i++)
		pthread_join(waiters[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < QUEUERS; i++)
		pthread_join(queuers[i], NULL);
	rcu_domain_barrier(domain);
	named(!wrong[0] && !wrong[1], name);
}

struct cross {
	unsigned long queued, count;
};

static void *queue_and_tell(void *argument)
{
	struct cross *cross = argument;
	int i;

	for (i = 0; i < 1000; i++)
		call_counted(&cross->count);
	__atomic_store_n(&cross->queued, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void of_others(void)
{
	struct cross cross = { 0 };
	pthread_t thread = start(queue_and_tell, &cross);

	comes_to(&cross.queued, 1);
	rcu_domain_barrier(domain);
	named(counted(&cross.count) == 1000, "a_barrier_waits_for_callbacks_of_other_threads");
	pthread_join(thread, NULL);
}

static void of_patient_workers(void)
{
	struct call_rcu_tuning never = { .batch_min_count = ~0UL, .delay_max_us = 3600000000UL };
	struct call_rcu_data *worker = create_call_rcu_data(domain, CALL_RCU_RT, -1);
	unsigned long count = 0;

	call_rcu_data_tune(worker, &never);
	set_thread_call_rcu_data(domain, worker);
	call_counted(&count);
	rcu_domain_barrier(domain);
	named(count == 1, "a_barrier_hurries_workers_that_wait_for_more");
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(worker);
}

struct polling {
	struct rcu_head begin, look;
	struct rcu_gp_poll_state state;
	int ended;
};

static void poll_begin(struct rcu_head *head)
{
	struct polling *polling = (struct polling *)head;

	polling->state = rcu_domain_start_poll(domain);
}

static void poll_look(struct rcu_head *head)
{
	struct polling *polling = (struct polling *)((char *)head - offsetof(struct polling, look));
	int i;

	for (i = 0; i < 60000 && !polling->ended; i++) {
		polling->ended = rcu_domain_poll_state(domain, polling->state);
		moment();
	}
}

/* Both in one batch: what the first began, the second waits for. */
static void between_callbacks(void)
{
	struct call_rcu_tuning never = { .batch_min_count = ~0UL, .delay_max_us = 3600000000UL };
	struct call_rcu_data *worker = create_call_rcu_data(domain, 0, -1);
	struct polling polling = { .ended = 0 };

	call_rcu_data_tune(worker, &never);
	set_thread_call_rcu_data(domain, worker);
	rcu_domain_call(domain, &polling.begin, poll_begin);
	rcu_domain_call(domain, &polling.look, poll_look);
	rcu_domain_barrier(domain);
	named(polling.ended, "a_grace_period_ends_between_two_callbacks_of_a_batch");
	set_thread_call_rcu_data(domain, NULL);
	call_rcu_data_free(worker);
}

static void wait_for_others(struct rcu_head *head)
{
	size_t i;

	(void)head;
	for (i = 0; i < TEST_DOMAINS; i++)
		if (test_domains[i] != domain)
			rcu_domain_barrier(test_domains[i]);
}

static void in_callback(void)
{
	static struct rcu_head head;

	rcu_domain_call(domain, &head, wait_for_others);
	rcu_domain_barrier(domain);
	named(1, "a_callback_may_wait_for_those_of_other_flavours");
}

static void wait_in_callback(struct rcu_head *head)
{
	(void)head;
	rcu_domain_barrier(domain);
}

static void free_in_callback(struct rcu_head *head)
{
	(void)head;
	call_rcu_data_free(get_call_rcu_data(domain));
}

static void own_worker(struct rcu_head *head)
{
	static struct rcu_head next;

	(void)head;
	set_thread_call_rcu_data(domain, get_cpu_call_rcu_data(domain, 0));
	rcu_domain_call(domain, &next, free_in_callback);
}

static void misuse_in_callback(void)
{
	static struct rcu_head head;

	rcu_domain_call(domain, &head, wait_in_callback);
	rcu_domain_barrier(domain);
}

static void misuse_free(void)
{
	static struct rcu_head head;
	struct call_rcu_data *worker = create_call_rcu_data(domain, 0, -1);

	set_cpu_call_rcu_data(domain, 0, worker);
	set_thread_call_rcu_data(domain, worker);
	rcu_domain_call(domain, &head, own_worker);
	rcu_domain_barrier(domain);
	rcu_domain_barrier(domain);
}

static void misuse_in_section(void)
{
	reader_register();
	section_enter();
	rcu_domain_barrier(domain);
}

static void misuses(void)
{
	named(is_refused(misuse_in_callback, "rcu_barrier() in a callback"),
	      "a_barrier_in_a_callback_is_refused");
	named(is_refused(misuse_free, "in one of its callbacks"),
	      "a_worker_is_not_freed_by_its_own_callback");
	if (domain != &rcu_qsbr_domain)
		named(is_refused(misuse_in_section, "rcu_barrier() within a read-side"),
		      "a_barrier_within_a_section_is_refused");
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS && !TEST_SANITIZES_THREADS;
	     i++) { /* while there is one thread */
		domain = test_domains[i];
		misuses();
	}
	for (i = 0; i < TEST_DOMAINS; i++) {
		domain = test_domains[i];
		rcu_domain_barrier(domain); /* before anything was queued */
		of_others();
		of_patient_workers();
		between_callbacks();
		in_callback();
		beside_others("a_barrier_ends_while_other_threads_queue_without_end");
		create_all_cpu_call_rcu_data(domain, 0);
		beside_others("a_barrier_waits_for_all_workers_of_cpus");
		free_all_cpu_call_rcu_data(domain);
	}
	return sums();
}
