// SPDX-License-Identifier: MIT
/*
 * Workers over fork(): the child finds whole queues, and calls what its parent queued.
 *
 * A fork waits neither for a callback nor for a grace period. It takes the callbacks that wait in
 * lanes and batches, and holds them for the next batch: what a worker has taken out of its batch
 * before is the parent's to call, everything else both call. The lock of a worker keeps it from
 * its next batch meanwhile. Links that callers were writing are waited for, as those callers are
 * not in the child. What other threads queue between that and the fork, the child may know of in
 * part; it is theirs, and they are not in the child. Paper: T 6.4.5.
 */
#include "deferred.h"
#include "offline.h"
#include "start.h"

/* Each worker of a domain: for (w = first(c); w; w = following(c, w)). */
static struct call_rcu_data *first(struct call_domain *calls)
{
	return &calls->standby;
}

static struct call_rcu_data *following(struct call_domain *calls, struct call_rcu_data *worker)
{
	return worker == &calls->standby ? calls->workers : worker->next;
}

/* Waits until all links of a chain are written. */
static void settle_chain(const struct call_chain *chain)
{
	struct rcu_head *head;

	for (head = chain->first; head; head = lull_chain_next(chain, head))
		;
}

/*
 * Takes what a worker has not yet taken out of its batch. The worker may be calling callbacks: it
 * finds that none are left. They wait for another grace period. Those that were held by an earlier
 * fork have left the batch empty.
 */
static void batch_take(struct call_chain *batch, struct call_chain *chain)
{
	/* Relaxed: next_callback() in work.c changes the same word in one step. */
	chain->first = lull_mem_exchange_pointer_relaxed(&batch->first, NULL);
	chain->until = batch->until;
}

/* Takes all that is queued, as far as links go, so that nothing but a lane has open ends. */
static void settle(struct call_rcu_data *worker)
{
	struct call_chain chain;
	int i;

	for (i = 0; i < CALL_LANES; i++) {
		batch_take(&worker->batch[i], &chain);
		lull_chain_append(&worker->held[i], &chain);
		if (lull_lane_take(&worker->lanes[i], &chain))
			lull_chain_append(&worker->held[i], &chain);
		settle_chain(&worker->held[i]);
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
	/* The thread that has these locks may be long on its way to its fork. */
	was_online = lull_wait_begin(domain);
	rcu_fork_begin();
	lull_lock_take(&calls->lock);
	lull_wait_end(domain, was_online);
	for (worker = first(calls); worker; worker = following(calls, worker)) {
		lull_lock_take(&worker->lock);
		settle(worker);
	}
	lull_defer_before_fork(index);
}

void call_rcu_after_fork_parent(struct rcu_domain *domain)
{
	unsigned int index = domain->index;
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker;

	if (--lull_call_self()->forking[index])
		return;
	lull_defer_after_fork_parent(index);
	for (worker = first(calls); worker; worker = following(calls, worker))
		lull_lock_release(&worker->lock);
	lull_lock_release(&calls->lock);
	rcu_fork_end();
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

/* Takes what waits for a worker, in order, to the end of @all. */
static void collect(struct call_rcu_data *worker, struct call_chain *all)
{
	struct call_chain chain;
	int i;

	for (i = 0; i < CALL_LANES; i++) {
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
		lull_worker_retire_locked(calls, worker);
	}
}

static void restart_standby(struct call_domain *calls, struct call_chain *all)
{
	struct call_rcu_data *standby = &calls->standby;
	int i;

	if (standby != lull_call_self()->working)
		standby->state = CALL_THREADLESS;
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
	struct call_rcu_data *worker;

	if (--lull_call_self()->forking[index])
		return;
	lull_lock_renew(&calls->lock);
	for (worker = first(calls); worker; worker = following(calls, worker))
		lull_lock_renew(&worker->lock);
	lull_lock_take(&calls->lock);
	collect(&calls->standby, all);
	drop_workers(calls, all);
	restart_standby(calls, all);
	calls->is_unprepared = 0;
	if (lull_call_self()->own[index] != lull_call_self()->working)
		lull_call_self()->own[index] = NULL;
	lull_lock_release(&calls->lock);
	lull_defer_after_fork_child(index);
	rcu_fork_end();
}

/* Does it for each domain whose threads register themselves. */
static void each_self_registering(void (*function)(struct rcu_domain *domain))
{
	int i;

	for (i = 0; i < RCU_DOMAINS; i++)
		if (rcu_domains[i]->self_registering)
			function(rcu_domains[i]);
}

/* Whether a worker has a thread that is not in this child, of which nobody has told the worker. */
static int has_strays(const struct call_domain *calls)
{
	const struct call_rcu_data *self = lull_call_self()->working;
	const struct call_rcu_data *worker;

	/* Bound: the workers of the parent. */
	for (worker = calls->workers; worker; worker = worker->next)
		if (worker != self)
			return 1;
	return calls->standby.state != CALL_THREADLESS && &calls->standby != self;
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
	struct call_domain *calls;
	unsigned int i;

	for (i = 0; i < RCU_DOMAINS; i++) {
		calls = lull_call_domain(rcu_domains[i]);
		if (!lull_call_self()->forking[i] && has_strays(calls))
			calls->is_unprepared = 1;
	}
	each_self_registering(call_rcu_after_fork_child);
}

const struct rcu_fork_handler lull_call_fork_handler = { before_fork, after_fork_parent,
							 after_fork_child };

__attribute__((constructor)) static void follow_forks(void)
{
	rcu_fork_follow(RCU_FORK_WORKERS, &lull_call_fork_handler);
}
