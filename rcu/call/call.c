// SPDX-License-Identifier: MIT
/*
 * call_rcu(): how a callback gets to its worker. work.c has what the worker does with it.
 *
 * Papers: T 6.4.5 (figure 6.11). Design: docs/design/40-rcu.md.
 *
 * States of a worker, as callers see them:
 *
 *	THREADLESS --start--> AWAKE <--> NAPPING
 *	                      AWAKE <--> ASLEEP    AWAKE --free--> RETIRED --create--> AWAKE
 *
 * Which threads write and read each part:
 *	lanes	callers, at the tail; the worker, and a fork, take under the worker's lock
 *	state	the worker; callers that wake it; the lock's holders while it has no thread
 *	batch	the worker; a fork takes all callbacks that are left
 *
 * Barrier pairs (label: what it orders; partner):
 *	[call.put:A]	a callback before the tail; the tail before the look at state
 *								[call.sleep:A], [call.retire:A],
 *								[call.take:B], [call.quiet:A]
 *	[call.take:B]	first = NULL before the tail; the tail before callbacks	[call.put:A]
 *	[call.sleep:A]	ASLEEP before the look at tails		[call.put:A], [call.stop:A]
 *	[call.stop:A]	stop or holds before the look at state	[call.sleep:A]
 *	[call.retire:A]	RETIRED before the look at tails	[call.put:A]
 *	[call.quiet:A]	hurry is 0 before the look at tails	[call.put:A]
 *	[call.arrive:A]	callbacks before the last arrival	[call.arrive:B]
 *	[call.arrive:B]	the last arrival before the return	[call.arrive:A]
 *	[call.drop:A]	each user's accesses before free()	[call.drop:A]
 *	[call.assign:A]	a worker before it can be found by CPU	[call.find:A]
 *	[call.find:A]	a worker's address before the worker	[call.assign:A]
 *
 * Invariants:
 *	I1 either the worker is awake and will see a callback in its lane; or the callback's caller
 *	   finds the worker asleep, threadless or retired, and wakes it, starts it or moves the
 *	   callback
 *	I2 a worker calls the callbacks that it took after a grace period that began later
 *	I3 callbacks that one thread queues in one worker are called in that order
 *	I4 the memory of a worker is never used for anything else
 *
 * Progress: queueing is wait-free: one exchange and one store. Two rare cases can block: the start
 * of the default worker, and a callback that must be moved out of a worker that was freed.
 *
 * Rejected: a count of callbacks in a lane (a second atomic step per callback); freeing workers
 * after a grace period (callers need not be readers); one tail per worker (its cache line moves
 * from CPU to CPU with every callback, and callers hold each other up).
 */
#include "start.h"

#include <errno.h>

/* Moves a freed worker's callbacks to the default one, unless it was created again meanwhile. */
static void move_on(struct call_domain *calls, struct call_rcu_data *worker)
{
	lull_lock_take(&calls->lock);
	if (lull_mem_load32(&worker->state) == CALL_RETIRED)
		lull_worker_hand_over_locked(calls, worker);
	else
		lull_worker_rouse(worker);
	lull_lock_release(&calls->lock);
}

static __attribute__((noinline)) void prompt_slow(struct call_domain *calls,
						  struct call_rcu_data *worker)
{
	int saved = errno;

	switch (lull_mem_load32(&worker->state)) {
	case CALL_ASLEEP:
		lull_worker_rouse(worker);
		break;
	case CALL_THREADLESS:
		lull_worker_need(calls);
		break;
	case CALL_RETIRED:
		move_on(calls, worker);
		break;
	}
	errno = saved;
}

/* Sees to it that a worker finds the callback that was just queued. */
static void prompt(struct call_domain *calls, struct call_rcu_data *worker)
{
	/* [call.put:A]: state is read after the tail was exchanged. */
	uint32_t state = lull_mem_load32(&worker->state);

	if (__builtin_expect(state >= CALL_ASLEEP, 0))
		prompt_slow(calls, worker);
}

void rcu_domain_call(struct rcu_domain *domain, struct rcu_head *head,
		     void (*func)(struct rcu_head *head))
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker = lull_call_worker(calls);

	lull_head_set(head, func);
	lull_lane_put(&worker->lanes[lull_call_lane()], head, &head->next);
	prompt(calls, worker);
}
