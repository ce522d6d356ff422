/* SPDX-License-Identifier: MIT */
/*
 * The workers of a domain, and the calling thread as a caller: which worker gets its callbacks.
 *
 * The files of this folder, in layers: each includes headers of layers above it in this list, and
 * so calls nothing but what stands there. make tidy finds a circle.
 *
 *	lane		callbacks on their way from callers to a worker
 *	worker.h	a worker, as data
 *	domain		the workers of a domain; which of them a caller uses
 *	offline.h	what a QSBR thread does while it waits
 *	work		what a worker's thread does
 *	start		a worker gets its thread, and loses it
 *	deferred	deferred calls: their queues, and the thread that empties them
 *	fork		all of the above over a fork
 *	call, assign, create, wait, defer	the public calls
 *
 * Paper: T 6.4.5.
 */
#ifndef LULL_CALL_DOMAIN_H
#define LULL_CALL_DOMAIN_H

#include "domains.h"
#include "worker.h"

#define CALL_PAUSE_EVENT 0x10000u

/**
 * struct call_domain - The workers of a domain.
 * @standby: the default worker.
 * @cpu_workers: by CPU; NULL until one was given. Entries are read without the lock.
 * @cpu_count: entries of @cpu_workers.
 * @domain: whose they are.
 * @lock: over the lists, the threads of workers, and hand-over. Nobody waits for a grace period or
 *	a callback while holding it.
 * @pause: futex, written under @lock: below CALL_PAUSE_EVENT, how many threads that fork want
 *	workers not to be busy; above, what else those that pause should look for.
 * @workers: those with a thread, but for @standby.
 * @spares: those that were freed.
 */
struct call_domain {
	struct call_rcu_data standby;
	struct call_rcu_data **cpu_workers;
	unsigned int cpu_count;
	struct rcu_domain *domain;
	struct lull_lock lock;
	uint32_t pause;
	struct call_rcu_data *workers;
	struct call_rcu_data *spares;
};

/**
 * struct call_thread - A thread, as a caller.
 * @lane: one more than its lane's number; 0 until its first call.
 * @own: its own worker, by domain, or NULL.
 * @working: the worker whose thread it is, or NULL.
 * @forking: how often call_rcu_before_fork() was called, by domain.
 */
struct call_thread {
	unsigned int lane;
	struct call_rcu_data *own[RCU_DOMAINS];
	struct call_rcu_data *working;
	unsigned int forking[RCU_DOMAINS];
};

#pragma GCC visibility push(hidden)

extern struct call_domain lull_call_domains[RCU_DOMAINS];
extern __thread struct call_thread lull_call_thread;
unsigned int lull_call_lane_assign(void);
void lull_call_forget_cpu_locked(struct call_domain *calls, const struct call_rcu_data *worker);

#pragma GCC visibility pop

static inline struct call_domain *lull_call_domain(const struct rcu_domain *domain)
{
	return LULL_SHARED(&lull_call_domains[domain->index]);
}

static inline struct call_thread *lull_call_self(void)
{
	return LULL_OWN(&lull_call_thread);
}

/* The calling thread's lane in any worker. */
static inline unsigned int lull_call_lane(void)
{
	unsigned int lane = lull_call_self()->lane;

	return (__builtin_expect(lane != 0, 1) ? lane : lull_call_lane_assign()) - 1;
}

/* The worker of a CPU, of the caller's where @cpu is negative; or NULL. */
static inline struct call_rcu_data *lull_call_worker_of_cpu(const struct call_domain *calls,
							    int cpu)
{
	/*
	 * [call.find:A] acquire. Pairs with [call.assign:A].
	 * Orders: the table's address before its size and entries; an entry leads to its worker
	 * as rcu_dereference() does, by its value.
	 * Else: the caller reads past the table, or queues in what is not a worker yet.
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

/* The worker that gets the caller's callbacks. */
static inline struct call_rcu_data *lull_call_worker(struct call_domain *calls)
{
	struct call_rcu_data *worker = lull_call_self()->own[calls->domain->index];

	if (!worker)
		worker = lull_call_worker_of_cpu(calls, -1);
	return worker ? worker : &calls->standby;
}

static inline uint32_t lull_call_paused(const struct call_domain *calls)
{
	/* The look of [call.begin:A] and [call.end:A]. */
	return lull_mem_load32(&calls->pause) % CALL_PAUSE_EVENT;
}

#endif
