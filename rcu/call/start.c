// SPDX-License-Identifier: MIT
/*
 * How a worker gets its thread and loses it; then the default worker gets its callbacks.
 *
 * Paper: T 6.4.5.
 */
#define _GNU_SOURCE
#include "start.h"

#include <stdio.h>
#include <string.h>

int lull_worker_start_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	int error;

	worker->calls = calls;
	lull_mem_store32(&worker->state, CALL_AWAKE); /* its thread looks at the lanes first */
	/* Callbacks may read in any domain. */
	error = lull_thread_start(&worker->thread, lull_worker_main, worker, RCU_BARRIER_SIGNAL);
	if (error) /* a callback whose caller saw AWAKE waits here until the next caller comes */
		lull_mem_store32(&worker->state, CALL_THREADLESS);
	return error;
}

/* Reports, once per process, that a thread cannot be started. */
static void start_complain(const struct rcu_domain *domain, int error)
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
		start_complain(calls->domain, error);
	return error;
}

/* Starts the default worker unless it runs. Return: 0 or a negative errno. */
int lull_worker_need(struct call_domain *calls)
{
	int error;

	lull_lock_take(&calls->lock);
	error = lull_worker_need_locked(calls);
	lull_lock_release(&calls->lock);
	return error;
}

static int lane_move(struct call_chain *chain, struct call_lane *lane)
{
	if (!chain->first)
		return 0;
	lull_lane_put(lane, chain->first, chain->until);
	chain->first = NULL;
	return 1;
}

/* Moves the callbacks of a worker without a thread to the default worker, in their order. */
void lull_worker_hand_over_locked(struct call_domain *calls, struct call_rcu_data *worker)
{
	struct call_rcu_data *standby = &calls->standby;
	struct call_chain chain;
	int i, moved = 0;

	lull_mem_store32(&worker->holds, 0);
	for (i = 0; i < CALL_LANES; i++) {
		struct call_lane *lane = &standby->lanes[i];

		moved |= lane_move(&worker->held[i], lane);
		if (lull_lane_take(&worker->lanes[i], &chain))
			moved |= lane_move(&chain, lane);
	}
	if (!moved)
		return;
	lull_worker_need_locked(calls);
	lull_worker_rouse(standby);
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
	 * Orders: the store of RETIRED before the last look at the lanes' tails.
	 * Else: a caller finds the worker still awake, this look does not find its callback, and no
	 * thread ever calls it.
	 */
	lull_mem_store32_full(&worker->state, CALL_RETIRED);
	lull_worker_hand_over_locked(calls, worker);
	worker->next = calls->spares;
	calls->spares = worker;
}
