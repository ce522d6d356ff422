// SPDX-License-Identifier: MIT
/*
 * Workers begin and end: threads, spares, hand-over to the default worker.
 *
 * Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The signal by which the signal flavour, and others without membarrier, reach their readers. */
int lull_call_signal(const struct rcu_domain *domain)
{
	return domain != &rcu_qsbr_domain && domain != &rcu_mb_domain ? RCU_BARRIER_SIGNAL : 0;
}

int lull_worker_start_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	int error;

	worker->calls = calls;
	lull_mem_store32(&worker->state, CALL_AWAKE); /* it looks by itself */
	error = lull_thread_start(&worker->thread, lull_worker_main, worker,
				  lull_call_signal(calls->domain));
	if (error) /* who queued meanwhile and saw AWAKE waits for the next caller */
		lull_mem_store32(&worker->state, CALL_THREADLESS);
	else /* what it would have is the CPUs of the thread that happened to start it */
		lull_thread_place(&worker->thread, worker->cpu);
	return error;
}

/* Says so once: what was queued waits for the next caller, who tries again. */
static void complain(const struct rcu_domain *domain, int error)
{
	static uint32_t complained;
	char reason[128];

	if (lull_mem_cas32_relaxed(LULL_SHARED(&complained), 0, 1))
		return;
	fprintf(stderr,
		"lull-rcu (%s): the thread that calls callbacks cannot be started: %s. They are "
		"kept; each call_rcu() and rcu_barrier() tries again.\n",
		rcu_domain_name(domain), strerror_r(-error, reason, sizeof(reason)));
}

int lull_worker_need_locked(struct call_domain *calls)
{
	struct call_rcu_data *standby = &calls->standby;
	int error;

	if (lull_mem_load32(&standby->state) != CALL_THREADLESS)
		return 0;
	error = lull_worker_start_locked(calls, standby);
	if (error)
		complain(calls->domain, error);
	return error;
}

/* Starts the default worker unless it runs. Return: 0 or a negative errno. */
int lull_worker_need(struct call_domain *calls)
{
	int error;

	lull_call_follow_forks(calls);
	lull_lock_take(&calls->lock);
	error = lull_worker_need_locked(calls);
	lull_lock_release(&calls->lock);
	return error;
}

static int move(struct call_chain *chain, struct call_lane *lane)
{
	if (!chain->first)
		return 0;
	lull_lane_put(lane, chain->first, chain->until);
	chain->first = NULL;
	return 1;
}

/* Moves what is left in a worker without a thread to the default worker, in its order. */
void lull_worker_hand_over_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	struct call_rcu_data *standby = &calls->standby;
	struct call_chain chain;
	int i, moved = 0;

	lull_mem_store32(&worker->holds, 0);
	for (i = 0; i < CALL_LANES; i++) {
		struct call_lane *lane = &standby->lanes[i];

		moved |= move(&worker->batch[i], lane) | move(&worker->held[i], lane);
		if (lull_lane_take(&worker->lanes[i], &chain))
			moved |= move(&chain, lane);
	}
	if (!moved)
		return;
	lull_worker_need_locked(calls);
	lull_worker_rouse(standby);
}

/* Takes a worker away from all its CPUs. */
void lull_call_forget_cpu_locked(struct call_domain *calls, const struct call_rcu_data *worker)
{
	struct call_rcu_data **workers = lull_mem_load_pointer(&calls->cpu_workers);
	unsigned int i;

	for (i = 0; workers && i < lull_mem_load32(&calls->cpu_count); i++)
		if (lull_mem_load_pointer(&workers[i]) == worker)
			lull_mem_store_pointer(&workers[i], NULL);
}

/* A worker whose thread has ended becomes a spare. */
void lull_worker_retire_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	struct call_rcu_data **place = &calls->workers;

	while (*place != worker)
		place = &(*place)->next;
	*place = worker->next;
	lull_call_forget_cpu_locked(calls, worker);
	/*
	 * [call.retire:A] full. Pairs with [call.put:A].
	 * Orders: RETIRED before the last look at tails.
	 * Else: a callback that comes now is called by nobody.
	 */
	lull_mem_store32_full(&worker->state, CALL_RETIRED);
	lull_worker_hand_over_locked(calls, worker);
	worker->next = calls->spares;
	calls->spares = worker;
}

static struct call_rcu_data *new_worker_locked(struct call_domain *calls)
{
	struct call_rcu_data *worker = calls->spares;

	if (worker) {
		calls->spares = worker->next;
		return worker;
	}
	return lull_memory_take(sizeof(*worker));
}

struct call_rcu_data *create_call_rcu_data(struct rcu_domain *domain, unsigned long flags, int cpu)
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker;
	int error = -ENOMEM;

	if ((flags & ~CALL_RCU_RT) || cpu >= CALL_CPUS) {
		errno = EINVAL;
		return NULL;
	}
	lull_call_follow_forks(calls);
	lull_lock_take(&calls->lock);
	worker = new_worker_locked(calls);
	if (worker) {
		worker->flags = (uint32_t)flags;
		worker->cpu = cpu < 0 ? -1 : cpu;
		worker->stop = worker->hurry = worker->tuned = 0;
		worker->tuning = (struct call_rcu_tuning){ 0 };
		worker->next = calls->workers;
		calls->workers = worker;
		error = lull_worker_start_locked(calls, worker);
		if (error)
			lull_worker_retire_locked(calls, worker);
	}
	lull_lock_release(&calls->lock);
	if (error)
		errno = -error;
	return error ? NULL : worker;
}

/* Asks a worker to end. Return: 0 if it was asked before. */
static int stop(struct call_domain *calls, struct call_rcu_data *worker)
{
	int first;

	lull_lock_take(&calls->lock);
	first = !worker->stop && lull_mem_load32(&worker->state) != CALL_RETIRED;
	if (first) {
		lull_call_forget_cpu_locked(calls, worker);
		/*
		 * [call.stop:A] full. Pairs with [call.sleep:A].
		 * Orders: stop, hurry or holds before the look at state, and stop before pause.
		 * Else: the worker sleeps, and does not know.
		 */
		lull_mem_store32_full(&worker->stop, 1);
		lull_worker_rouse(worker);
		lull_mem_store32(&calls->pause, lull_mem_load32(&calls->pause) + CALL_PAUSE_EVENT);
		lull_futex_wake(&calls->pause, INT_MAX);
	}
	lull_lock_release(&calls->lock);
	return first;
}

void call_rcu_data_free(struct call_rcu_data *worker)
{
	struct call_domain *calls;
	int was_online;

	if (!worker || worker == &worker->calls->standby)
		return;
	calls = worker->calls;
	if (worker == lull_call_self()->working)
		rcu_domain_misuse(rcu_domain_self(calls->domain),
				  "call_rcu_data_free() of a worker in one of its callbacks");
	lull_wait_check(calls->domain, "call_rcu_data_free() within a read-side critical section");
	if (!stop(calls, worker))
		return;
	was_online = lull_wait_begin(calls->domain);
	lull_thread_join(&worker->thread);
	lull_lock_take(&calls->lock);
	lull_worker_retire_locked(calls, worker);
	lull_lock_release(&calls->lock);
	lull_wait_end(calls->domain, was_online);
}
