// SPDX-License-Identifier: MIT
/*
 * rcu_barrier() queues a callback of its own, behind all others, in each lane of each worker, and
 * waits until all of these were called.
 *
 * A lane that is empty gets one too: the callbacks that it held may be in the batch that its worker
 * calls at this moment. The last of the barrier's callbacks wakes the caller. All of them lie in
 * one allocation, which its last user frees; that is not always the caller, because the child of a
 * fork calls the callbacks that its parent's barrier queued.
 * Paper: T 6.4.5 (what rcu_barrier() adds to call_rcu()).
 */
#include "start.h"

#include <limits.h>
#include "offline.h"

struct barrier_call {
	struct rcu_head head;
	struct barrier *barrier;
};

/**
 * struct barrier - One call of rcu_barrier().
 * @left: futex: how many of its callbacks were not called yet.
 * @users: how many of its callbacks were not called yet, and 1 for the caller until it leaves.
 * @count: how many entries of @calls are queued.
 * @room: how many entries @calls has.
 * @calls: the callbacks.
 */
struct barrier {
	uint32_t left;
	uint32_t users;
	uint32_t count;
	uint32_t room;
	struct barrier_call calls[];
};

static void barrier_put(struct barrier *barrier)
{
	/*
	 * [call.drop:A] full. Pairs with [call.drop:A].
	 * Orders: each user's accesses of the barrier before its last user frees it; the last
	 * arrival before all that the caller of rcu_barrier() does next.
	 * Else: the barrier is freed while another user still reads or writes it.
	 */
	rcu_annotate_release(&barrier->users);
	if (lull_mem_add32(&barrier->users, -1u) != 0)
		return;
	rcu_annotate_acquire(&barrier->users);
	lull_memory_give(barrier);
}

static void barrier_arrive(struct rcu_head *head)
{
	struct barrier *barrier = ((struct barrier_call *)head)->barrier;

	/*
	 * [call.arrive:A] release; and acquire, which passes on what earlier arrivals released.
	 * Pairs with [call.arrive:B].
	 * Orders: the callbacks of this lane before its arrival is counted.
	 * Else: rcu_barrier() returns, the caller unloads the code, and a callback still runs.
	 */
	rcu_annotate_release(&barrier->left);
	if (lull_mem_add32(&barrier->left, -1u) == 0)
		lull_futex_wake(&barrier->left, INT_MAX);
	barrier_put(barrier);
}

static struct barrier *barrier_new(uint32_t room)
{
	struct barrier *barrier =
		lull_memory_take(sizeof(*barrier) + room * sizeof(barrier->calls[0]));

	if (barrier)
		barrier->room = room;
	return barrier;
}

static void barrier_queue(struct barrier *barrier, struct call_lane *lane)
{
	struct barrier_call *call = &barrier->calls[barrier->count++];

	call->barrier = barrier;
	lull_head_set(&call->head, barrier_arrive);
	lull_mem_add32_relaxed(&barrier->left, 1);
	lull_mem_add32_relaxed(&barrier->users, 1);
	lull_lane_put(lane, &call->head, &call->head.next);
}

static void barrier_queue_behind(struct barrier *barrier, struct call_rcu_data *worker)
{
	int i;

	for (i = 0; i < CALL_LANES; i++)
		barrier_queue(barrier, &worker->lanes[i]);
	/*
	 * Relaxed: a worker that sleeps is woken because of the callbacks, and [call.put:A] orders
	 * their tails before the look at its state; a worker that naps and does not see hurry naps
	 * once more at most.
	 */
	lull_mem_store32(&worker->hurry, 1);
	lull_worker_rouse(worker);
}

static int is_threadless(const struct call_rcu_data *worker)
{
	return lull_mem_load32(&worker->state) == CALL_THREADLESS;
}

static uint32_t room_needed_locked(const struct call_domain *calls)
{
	const struct call_rcu_data *worker;
	uint32_t room = CALL_LANES;

	for (worker = calls->workers; worker; worker = worker->next)
		room += CALL_LANES;
	return room;
}

/* Takes the lock. Return: a barrier that has room for all workers. */
static struct barrier *barrier_prepare(struct call_domain *calls)
{
	struct barrier *barrier = NULL;
	uint32_t room;

	for (;;) {
		lull_lock_take(&calls->lock);
		room = room_needed_locked(calls);
		if (barrier && barrier->room >= room)
			return barrier;
		lull_lock_release(&calls->lock);
		lull_memory_give(barrier);
		barrier = barrier_new(room);
		if (!barrier)
			lull_moment(); /* callbacks mostly free memory, so there will be some */
	}
}

/* Bound: the callbacks queued before. A default worker that could not be started is tried again. */
static void barrier_wait(struct barrier *barrier, struct call_domain *calls)
{
	uint32_t left;

	/*
	 * [call.arrive:B] the full addition of [call.drop:A], which the caller makes next. Pairs
	 * with [call.arrive:A].
	 * Orders: the read that shows the last arrival before all that the caller does next.
	 * Else: rcu_barrier() returns, the caller unloads the code, and a callback still runs.
	 */
	while ((left = lull_mem_load32(&barrier->left)) != 0) {
		if (is_threadless(&calls->standby) && lull_worker_has_callbacks(&calls->standby) &&
		    lull_worker_need(calls))
			lull_moment();
		else
			lull_futex_wait(&barrier->left, left);
	}
	rcu_annotate_acquire(&barrier->left);
}

void rcu_domain_barrier(struct rcu_domain *domain)
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker;
	struct barrier *barrier;
	int was_online;

	if (lull_call_self()->working && lull_call_self()->working->calls == calls)
		rcu_domain_misuse(rcu_domain_self(domain), "rcu_barrier() in a callback: it would "
							   "wait for itself");
	lull_wait_check(domain, "rcu_barrier() within a read-side critical section: it would wait "
				"for itself");
	if (calls->is_unprepared)
		rcu_domain_misuse(rcu_domain_self(domain),
				  "rcu_barrier() in a child that was forked without "
				  "call_rcu_before_fork(): no thread calls callbacks there");
	was_online = lull_wait_begin(domain);
	barrier = barrier_prepare(calls);
	barrier->users = 1;
	for (worker = calls->workers; worker; worker = worker->next)
		barrier_queue_behind(barrier, worker);
	if (!is_threadless(&calls->standby) || lull_worker_has_callbacks(&calls->standby))
		barrier_queue_behind(barrier, &calls->standby);
	lull_lock_release(&calls->lock);
	barrier_wait(barrier, calls);
	barrier_put(barrier);
	lull_wait_end(domain, was_online);
}
