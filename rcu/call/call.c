// SPDX-License-Identifier: MIT
/*
 * call_rcu(): how a callback gets to its worker. worker.c: what becomes of it there.
 *
 * Papers: T 6.4.5 (figure 6.11). Design: docs/design/40-rcu.md.
 *
 * States of a worker, as callers see them:
 *
 *	THREADLESS --start--> AWAKE <--> NAPPING
 *	                      AWAKE <--> ASLEEP    AWAKE --free--> RETIRED --create--> AWAKE
 *
 * Who writes and who reads:
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
 *	I1 a callback in a lane is seen by a worker that is awake, or by its caller, who finds the
 *	   worker asleep, threadless or retired and does something about it
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
#include "worker.h"

#include <errno.h>

#define DOMAIN(d)                                                           \
	{                                                                   \
		.domain = &(d), .lock = LULL_LOCK_INITIALIZER, .standby = { \
			.state = CALL_THREADLESS,                           \
			.cpu = -1                                           \
		}                                                           \
	}

/* In the order of rcu_domains. */
struct call_domain lull_call_domains[RCU_DOMAINS] = {
	DOMAIN(rcu_qsbr_domain), DOMAIN(rcu_mb_domain), DOMAIN(rcu_signal_domain),
	DOMAIN(rcu_memb_domain), DOMAIN(rcu_bp_domain),
};
__thread struct call_thread lull_call_thread;

/* In the order in which threads first call, so that neighbours get lanes of their own. */
unsigned int lull_call_lane_assign(void)
{
	static unsigned int assigned;
	unsigned int number = lull_mem_add32_relaxed(LULL_SHARED(&assigned), 1) - 1;

	lull_call_self()->lane = 1 + number % CALL_LANES;
	return lull_call_self()->lane;
}

/* The worker of a CPU, of the caller's where @cpu is negative; or NULL. */
struct call_rcu_data *lull_call_worker_of_cpu(const struct call_domain *calls, int cpu)
{
	/*
	 * [call.find:A] acquire. Pairs with [call.assign:A].
	 * Orders: the table's address before its size and entries; an entry leads to its worker
	 * as rcu_dereference() does, by its value. Else: as for its partner.
	 */
	struct call_rcu_data **workers = lull_mem_load_pointer_acquire(&calls->cpu_workers);
	unsigned int number;

	if (!workers)
		return NULL;
	number = cpu < 0 ? lull_rcu_cpu() : (unsigned int)cpu;
	if (number >= lull_mem_load32(&calls->cpu_count))
		return NULL;
	return lull_mem_load_pointer(&workers[number]);
}

static struct call_rcu_data *worker_of_caller(struct call_domain *calls)
{
	struct call_rcu_data *worker = lull_call_self()->own[lull_call_index(calls->domain)];

	if (!worker)
		worker = lull_call_worker_of_cpu(calls, -1);
	return worker ? worker : &calls->standby;
}

void rcu_domain_call(struct rcu_domain *domain, struct rcu_head *head,
		     void (*func)(struct rcu_head *head))
{
	struct call_domain *calls = lull_call_domain(domain);
	struct call_rcu_data *worker = worker_of_caller(calls);

	lull_head_set(head, func);
	lull_lane_put(&worker->lanes[lull_call_lane()], head, &head->next);
	lull_call_prompt(calls, worker);
}

/* The worker that gets the caller's callbacks. */
struct call_rcu_data *lull_call_worker(struct call_domain *calls)
{
	return worker_of_caller(calls);
}

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

void lull_call_prompt_slow(struct call_domain *calls, struct call_rcu_data *worker)
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
