// SPDX-License-Identifier: MIT
/*
 * Workers over fork(): paused between two callbacks, so that the child finds whole objects and
 * whole queues, and calls what its parent queued.
 *
 * A worker that waits for a grace period is not waited for: its batch stays a batch. Links that
 * callers were writing are waited for, as those callers are not in the child. What other threads
 * queue between that and the fork, the child may know of in part; it is theirs, and they are
 * not in the child. Paper: T 6.4.5.
 */
#include "fork.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "deferred.h"
#include "offline.h"

static int is_paused(const struct call_rcu_data *worker)
{
	/* The look of [call.pause:A]. */
	return worker == lull_call_self()->working || !lull_mem_load32_acquire(&worker->busy);
}

/* Each worker of a domain: for (w = first(c); w; w = following(c, w)). */
static struct call_rcu_data *first(struct call_domain *calls)
{
	return &calls->standby;
}

static struct call_rcu_data *following(struct call_domain *calls, struct call_rcu_data *worker)
{
	return worker == &calls->standby ? calls->workers : worker->next;
}

/* Return: with the lock taken, when all workers are paused. Callbacks may need the lock. */
static void pause_all(struct call_domain *calls)
{
	struct call_rcu_data *worker;

	/*
	 * [call.pause:A] full. Pairs with [call.begin:A], [call.end:A].
	 * Orders: pause before the look at busy.
	 * Else: the child finds a batch, or an object, in the middle of a change.
	 *
	 * A count, under the lock: several threads may fork, one of them in a callback that
	 * another waits for.
	 */
	lull_lock_take(&calls->lock);
	lull_mem_store32_full(&calls->pause, lull_mem_load32(&calls->pause) + 1);
	for (;;) {
		for (worker = first(calls); worker; worker = following(calls, worker))
			if (!is_paused(worker))
				break;
		if (!worker)
			return;
		lull_lock_release(&calls->lock);
		while (lull_mem_load32(&worker->busy))
			lull_futex_wait(&worker->busy, 1);
		lull_lock_take(&calls->lock);
	}
}

static void resume_all(struct call_domain *calls)
{
	const uint32_t pause = lull_mem_load32(&calls->pause) - 1;

	/*
	 * [call.resume:A] release. Pairs with [call.resume:B].
	 * Orders: what the fork did to batches and lanes before workers touch them again.
	 * Else: a worker calls what the fork was taking.
	 */
	lull_mem_store32_release(&calls->pause, pause);
	if (!(pause % CALL_PAUSE_EVENT))
		lull_futex_wake(&calls->pause, INT_MAX);
	lull_lock_release(&calls->lock);
}

/* Waits until all links of a chain are written. */
static void settle_chain(const struct call_chain *chain)
{
	struct rcu_head *head;

	for (head = chain->first; head; head = lull_chain_next(chain, head))
		;
}

/* Takes all that is queued, as far as links go, so that nothing but a lane has open ends. */
static void settle(struct call_rcu_data *worker)
{
	struct call_chain chain;
	int i;

	for (i = 0; i < CALL_LANES; i++) {
		if (lull_lane_take(&worker->lanes[i], &chain))
			lull_chain_append(&worker->held[i], &chain);
		settle_chain(&worker->held[i]);
		settle_chain(&worker->batch[i]);
		if (worker->held[i].first) /* before [call.stop:A], below */
			lull_mem_store32_full(&worker->holds, 1);
	}
	lull_worker_rouse(worker); /* it may have found its lanes empty meanwhile */
}

void call_rcu_before_fork(struct rcu_domain *domain)
{
	unsigned int index = domain->index;
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker;
	int was_online;

	if (lull_call_self()->forking[index]++)
		return;
	was_online = lull_wait_begin(domain);
	for (;;) {
		pause_all(calls);
		if (lull_defer_try_before_fork(index))
			break;
		/* What is called there may need the workers. */
		resume_all(calls);
		lull_moment();
	}
	for (worker = first(calls); worker; worker = following(calls, worker))
		settle(worker);
	lull_wait_end(domain, was_online);
}

void call_rcu_after_fork_parent(struct rcu_domain *domain)
{
	unsigned int index = domain->index;
	struct call_domain *calls = lull_call_domain(domain);

	if (--lull_call_self()->forking[index])
		return;
	resume_all(calls);
	lull_defer_after_fork_parent(index);
}

/* Takes what can be reached of a lane whose callers are gone, and empties it. */
static void salvage(struct call_lane *lane, struct call_chain *chain)
{
	struct rcu_head *head = lane->first;

	chain->first = head;
	for (; head; head = head->next)
		chain->until = &head->next;
	lane->first = NULL;
	lane->tail = 0;
}

/*
 * Takes all of a worker whose thread is not in the child, in order, to the end of @all; of one
 * whose thread forked, what its lanes hold.
 */
static void collect(struct call_rcu_data *worker, struct call_chain *all)
{
	struct call_chain chain;
	int i;

	for (i = 0; i < CALL_LANES; i++) {
		if (worker != lull_call_self()->working)
			lull_chain_append(&all[i], &worker->batch[i]);
		lull_chain_append(&all[i], &worker->held[i]);
		salvage(&worker->lanes[i], &chain);
		lull_chain_append(&all[i], &chain);
	}
}

/* Makes a spare of each worker whose thread is not in the child. */
static void drop_workers(struct call_domain *calls, struct call_chain *all)
{
	struct call_rcu_data *worker, *next;

	for (worker = calls->workers; worker; worker = next) {
		next = worker->next;
		collect(worker, all);
		if (worker == lull_call_self()->working)
			continue;
		worker->busy = 0;
		lull_worker_retire_locked(calls, worker);
	}
}

static void restart_standby(struct call_domain *calls, struct call_chain *all)
{
	struct call_rcu_data *standby = &calls->standby;
	int i;

	if (standby != lull_call_self()->working) {
		standby->busy = 0;
		standby->state = CALL_THREADLESS;
	}
	for (i = 0; i < CALL_LANES; i++) {
		standby->holds |= all[i].first != NULL;
		lull_chain_append(&standby->held[i], &all[i]);
	}
	if (lull_worker_has_callbacks(standby))
		lull_worker_need_locked(calls);
}

void call_rcu_after_fork_child(struct rcu_domain *domain)
{
	unsigned int index = domain->index;
	struct call_domain *calls = lull_call_domain(domain);
	struct call_chain all[CALL_LANES] = { { NULL, NULL } };

	if (--lull_call_self()->forking[index])
		return;
	lull_lock_renew(&calls->lock);
	calls->pause = 0;
	lull_lock_take(&calls->lock);
	collect(&calls->standby, all);
	drop_workers(calls, all);
	restart_standby(calls, all);
	if (lull_call_self()->own[index] != lull_call_self()->working)
		lull_call_self()->own[index] = NULL;
	lull_lock_release(&calls->lock);
	lull_defer_after_fork_child(index);
}

/* Does it for each domain whose threads register themselves. */
static void each_self_registering(void (*function)(struct rcu_domain *domain))
{
	int i;

	for (i = 0; i < RCU_DOMAINS; i++)
		if (rcu_domains[i]->self_registering)
			function(rcu_domains[i]);
}

static void before_fork(void)
{
	each_self_registering(call_rcu_before_fork);
}

static void after_fork_parent(void)
{
	each_self_registering(call_rcu_after_fork_parent);
}

static void after_fork_child(void)
{
	each_self_registering(call_rcu_after_fork_child);
}

static void follow(void)
{
	int error = pthread_atfork(before_fork, after_fork_parent, after_fork_child);

	if (!error)
		return;
	fprintf(stderr, "lull-rcu: cannot follow forks: %s\n", strerror(error));
	abort();
}

void lull_call_follow_forks(const struct call_domain *calls)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (calls->domain->self_registering)
		pthread_once(&once, follow);
}

int lull_call_need(struct call_domain *calls)
{
	lull_call_follow_forks(calls);
	return lull_worker_need(calls);
}
