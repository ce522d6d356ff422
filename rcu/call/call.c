// SPDX-License-Identifier: MIT
/*
 * call_rcu(): how a callback gets to its worker. work.c: what becomes of it there.
 *
 * Papers: T 6.4.5 (figure 6.11). Design: docs/design/40-rcu.md.
 *
 * States of a worker, as callers see them:
 *
 *	THREADLESS --start--> AWAKE <--> NAPPING
 *	                      AWAKE <--> ASLEEP    AWAKE --free--> RETIRED --create--> AWAKE
 *
 * Which threads write and read each part:
 *	lanes	callers, at the tail; the worker, and a fork that paused it, take
 *	state	the worker; callers wake it; holders of the domain's lock while it has no thread
 *	batch	the worker while busy; a fork while it is not
 *	pause	threads that fork; read by workers
 *
 * Barrier pairs (label: what it orders; partner):
 *	[call.put:A]	a callback before the tail, that before the look at state
 *								[call.sleep:A], [call.retire:A],
 *								[call.take:B], [call.quiet:A]
 *	[call.take:B]	an empty lane before its tail, that before callbacks	[call.put:A]
 *	[call.sleep:A]	ASLEEP before the look at tails		[call.put:A], [call.stop:A]
 *	[call.stop:A]	what is wanted before state		[call.sleep:A]
 *	[call.retire:A]	RETIRED before the look at tails	[call.put:A]
 *	[call.quiet:A]	hurry is 0 before the look at tails	[call.put:A]
 *	[call.begin:A]	busy before the look at pause		[call.pause:A]
 *	[call.end:A]	not busy before the look at pause	[call.pause:A]
 *	[call.pause:A]	pause before the look at busy		[call.begin:A], [call.end:A]
 *	[call.resume:A]	what a fork did before pause		[call.resume:B]
 *	[call.resume:B]	pause before the look at batch and stop	[call.resume:A]
 *	[call.arrive:A]	callbacks before the last arrival	[call.arrive:B]
 *	[call.arrive:B]	the last arrival before the return	[call.arrive:A]
 *	[call.drop:A]	each user's accesses before free()	[call.drop:A]
 *	[call.assign:A]	a worker before it can be found by CPU	[call.find:A]
 *	[call.find:A]	a worker's address before the worker	[call.assign:A]
 *
 * Invariants:
 *	I1 a callback in a lane is seen by a worker that is awake, or by its caller, which finds
 *	   the worker asleep, threadless or retired, and wakes it, starts it or moves the callback
 *	I2 a worker calls what it took only after a grace period that began later
 *	I3 callbacks that one thread queues in one worker are called in that order
 *	I4 a worker's memory is never anything else
 *
 * Progress: queueing is wait-free: one exchange and one store. What can block is rare and cold:
 * to start the default worker, and to move on what was queued in a worker that is gone.
 *
 * Rejected: a count of what is queued (a second atomic step for each callback); freeing workers
 * after a grace period (callers need not be readers); one tail a worker (callers on different CPUs
 * hold each other up: it moved between them once for each callback).
 */
#include "fork.h"

#include <errno.h>

/* Moves on what was queued in a worker that is gone, unless it is back meanwhile. */
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
		lull_call_need(calls);
		break;
	case CALL_RETIRED:
		move_on(calls, worker);
		break;
	}
	errno = saved;
}

/* Sees to it that a worker looks at what was just queued. */
static void prompt(struct call_domain *calls, struct call_rcu_data *worker)
{
	/* The look of [call.put:A]. */
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
