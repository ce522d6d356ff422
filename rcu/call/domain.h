/* SPDX-License-Identifier: MIT */
/*
 * The workers of a domain, and the calling thread as a caller: which worker gets its callbacks.
 *
 * The files of this folder form layers. A file includes only headers of layers above it in this
 * list, and so calls only functions of those layers; make tidy checks that there is no circle.
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

/**
 * struct call_domain - The workers of a domain.
 * @standby: the default worker.
 * @cpu_workers: each CPU's worker, or NULL; NULL until a CPU gets one. Read without the lock.
 * @cpu_count: how many entries @cpu_workers has.
 * @domain: the domain.
 * @lock: held to change the lists, to start and end workers, and to move callbacks between them;
 *	before the workers' own locks. No thread waits for a grace period or a callback while it
 *	holds this lock.
 * @workers: the workers with a thread, except @standby.
 * @spares: the workers that were freed.
 * @is_unprepared: not 0 in the child of a fork that no call_rcu_before_fork() came before, where
 *	the domain had workers. Written while the child has one thread.
 */
struct call_domain {
	struct call_rcu_data standby;
	struct call_rcu_data **cpu_workers;
	unsigned int cpu_count;
	struct rcu_domain *domain;
	struct lull_lock lock;
	struct call_rcu_data *workers;
	struct call_rcu_data *spares;
	uint32_t is_unprepared;
};

/**
 * struct call_thread - A thread's part in callbacks.
 * @lane: 1 more than the number of its lane; 0 until its first call.
 * @own: its own worker, by domain, or NULL.
 * @working: the worker whose thread it is, or NULL.
 * @forking: how many calls of call_rcu_before_fork() are open, by domain.
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
/*
 * Of fork.c, and a reference to it for files that need forks to be followed: a linker takes only
 * those files of an archive to which something refers.
 */
extern const struct rcu_fork_handler lull_call_fork_handler;
#define LULL_CALL_FORKS_FOLLOWED                                                     \
	static const struct rcu_fork_handler *const followed __attribute__((used)) = \
		&lull_call_fork_handler
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

/* The number of the calling thread's lane, which is the same in every worker. */
static inline unsigned int lull_call_lane(void)
{
	unsigned int lane = lull_call_self()->lane;

	return (__builtin_expect(lane != 0, 1) ? lane : lull_call_lane_assign()) - 1;
}

/* The worker of a CPU, or where @cpu is negative of the CPU on which the caller runs; or NULL. */
static inline struct call_rcu_data *lull_call_worker_of_cpu(const struct call_domain *calls,
							    int cpu)
{
	/*
	 * [call.find:A] acquire. Pairs with [call.assign:A].
	 * Orders: the read of the table's address before those of its size and entries. An entry is
	 * read before the worker to which it leads, because the worker's address is made of it.
	 * Else: the caller reads past the table's end, or queues in a worker that is not written
	 * yet.
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

#endif
