// SPDX-License-Identifier: MIT
/*
 * call_rcu() under load: many threads queue while workers are given, taken away, created and
 * freed, threads are cancelled and barriers wait. Nothing may be lost or called twice.
 *
 * Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "call_test.h"

#define CALLERS 6
#define CALLS 20000UL
#define CHURNS 60
#define CANCELLED 40

static struct call_rcu_data *shared_worker; /* freed while others may still queue in it */
static unsigned long called, queued, stop;

/* Now and then takes the shared worker, which may be freed by the time it is used. */
static void *call_always(void *argument)
{
	unsigned long i, own = (unsigned long)argument;

	if (own % 2)
		reader_register();
	for (i = 0; i < CALLS; i++) {
		if (i % 64 == 0)
			set_thread_call_rcu_data(
				domain,
				i % 128 ? NULL : __atomic_load_n(&shared_worker, __ATOMIC_ACQUIRE));
		call_counted(&called);
		if (own % 2) {
			section_enter();
			section_leave();
		}
	}
	if (own % 2)
		reader_unregister();
	return NULL;
}

static void *wait_always(void *argument)
{
	while (!counted(&stop))
		rcu_domain_barrier(domain);
	return argument;
}

static void churn(void)
{
	struct call_rcu_data *before, *worker;
	int i;

	for (i = 0; i < CHURNS; i++) {
		worker = create_call_rcu_data(domain, i % 8 == 7 ? CALL_RCU_RT : 0, -1);
		before = __atomic_exchange_n(&shared_worker, worker, __ATOMIC_ACQ_REL);
		call_rcu_data_free(before);
		if (i % 10 == 0)
			create_all_cpu_call_rcu_data(domain, 0);
		if (i % 10 == 5)
			free_all_cpu_call_rcu_data(domain);
	}
	before = __atomic_exchange_n(&shared_worker, NULL, __ATOMIC_ACQ_REL);
	call_rcu_data_free(before);
}

static void load(void)
{
	pthread_t callers[CALLERS], waiter;
	unsigned long i;

	called = stop = 0;
	waiter = start(wait_always, NULL);
	for (i = 0; i < CALLERS; i++)
		callers[i] = start(call_always, (void *)i);
	churn();
	for (i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(waiter, NULL);
	rcu_domain_barrier(domain);
	named(counted(&called) == CALLERS * CALLS, "nothing_is_lost_while_workers_come_and_go");
	free_all_cpu_call_rcu_data(domain);
}

/* A thread that is cancelled at any point where that is possible; within call_rcu() it is not. */
static void *call_until_cancelled(void *argument)
{
	for (;;) {
		call_counted(&called);
		__atomic_add_fetch(&queued, 1, __ATOMIC_RELAXED);
		pthread_testcancel();
	}
	return argument;
}

static void cancellation(void)
{
	struct timespec duration = { 0, 100000 };
	int i;

	called = queued = 0;
	for (i = 0; i < CANCELLED; i++) {
		pthread_t thread = start(call_until_cancelled, NULL);

		nanosleep(&duration, NULL);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	rcu_domain_barrier(domain);
	named(counted(&called) == counted(&queued),
	      "a_cancelled_thread_leaves_nothing_half_queued");
}

/* A worker that is freed hands over callbacks that wait in it, and those that come later. */
static void hand_over(void)
{
	struct call_rcu_tuning never = { .batch_min_count = ~0UL, .delay_max_us = 3600000000UL };
	struct call_rcu_data *worker = create_call_rcu_data(domain, 0, -1);
	int i;

	called = 0;
	call_rcu_data_tune(worker, &never);
	set_thread_call_rcu_data(domain, worker);
	for (i = 0; i < 100; i++)
		call_counted(&called);
	call_rcu_data_free(worker);
	rcu_domain_barrier(domain);
	named(called == 100, "a_freed_worker_hands_over_callbacks_that_wait");
	for (i = 0; i < 100; i++)
		call_counted(&called);
	rcu_domain_barrier(domain);
	named(called == 200, "callbacks_queued_in_a_freed_worker_are_called");
	call_rcu_data_free(worker);
	call_rcu_data_free(NULL);
	call_rcu_data_free(get_default_call_rcu_data(domain));
	call_counted(&called);
	rcu_domain_barrier(domain);
	named(called == 201, "freeing_the_default_worker_or_null_does_nothing");
	set_thread_call_rcu_data(domain, NULL);
}

int main(void)
{
	size_t i;

	for (i = 0; i < TEST_DOMAINS; i++) {
		domain = test_domains[i];
		load();
		cancellation();
		hand_over();
	}
	return sums();
}
