/* SPDX-License-Identifier: MIT */
/*
 * A worker and a domain's workers, as the files of this folder see them.
 *
 * Workers live for ever: one that is freed goes to a list of spares and is used again. So a
 * caller may hold a pointer to a worker for as long as it likes, in a read-side critical section
 * or not, registered or not; what it queues in a worker that is gone it moves on itself.
 * Paper: T 6.4.5.
 */
#ifndef LULL_CALL_WORKER_H
#define LULL_CALL_WORKER_H

#include "domains.h"
#include "lane.h"

/* Threads are spread over the lanes of a worker, so that they do not meet at one tail. */
#ifndef CALL_LANES
#define CALL_LANES 8
#endif
/* As many CPUs as Linux has at most. */
#define CALL_CPUS 8192

#define CALL_PAUSE_EVENT 0x10000u

/* What a caller finds in a worker's state. From CALL_ASLEEP on, it has something to do. */
enum call_state {
	CALL_AWAKE, /* looks at its lanes before it sleeps */
	CALL_NAPPING, /* wakes by a timer, and by who wants it to hurry */
	CALL_ASLEEP, /* waits for the first callback */
	CALL_THREADLESS, /* a default worker that was not needed yet, or could not be started */
	CALL_RETIRED /* freed: the default worker gets what is queued here */
};

/**
 * struct call_rcu_data - A worker.
 * @lanes: callbacks from callers. A thread uses the same one always: its callbacks keep order.
 * @state: futex, enum call_state. Written by the worker, and CALL_AWAKE by who wakes it;
 *	CALL_THREADLESS and CALL_RETIRED under the domain's lock while there is no thread.
 * @flags: CALL_RCU_RT.
 * @calls: its domain's, once it was started.
 * @batch: callbacks that wait for a grace period, or are called now. Touched while @busy.
 * @held: callbacks that fork took from the lanes; they go into the next batch. Touched like @batch.
 * @holds: not 0 when there is something in @held.
 * @busy: futex, not 0 while the worker touches @lanes, @batch and @held or calls.
 * @stop: not 0: finish the batch and end.
 * @hurry: not 0: wait for no more callbacks.
 * @tuned: not 0: by @tuning, and nothing else.
 * @tuning: see call_rcu_data_tune(); each word by itself.
 * @cpu: where it runs, or -1.
 * @thread: its thread, while there is one.
 * @next: in the domain's list of workers or spares. Under the domain's lock.
 */
struct call_rcu_data {
	struct call_lane lanes[CALL_LANES];
	uint32_t state __attribute__((aligned(64)));
	uint32_t flags;
	struct call_domain *calls;
	struct call_chain batch[CALL_LANES] __attribute__((aligned(64)));
	struct call_chain held[CALL_LANES];
	uint32_t busy __attribute__((aligned(64)));
	uint32_t holds;
	uint32_t stop;
	uint32_t hurry;
	uint32_t tuned;
	struct call_rcu_tuning tuning;
	int cpu;
	struct lull_thread thread;
	struct call_rcu_data *next;
};

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

/* call.c */
extern struct call_domain lull_call_domains[RCU_DOMAINS];
extern __thread struct call_thread lull_call_thread;
unsigned int lull_call_lane_assign(void);
struct call_rcu_data *lull_call_worker(struct call_domain *calls);
struct call_rcu_data *lull_call_worker_of_cpu(const struct call_domain *calls, int cpu);
void lull_call_prompt_slow(struct call_domain *calls, struct call_rcu_data *worker);

/* worker.c */
void lull_worker_rouse(struct call_rcu_data *worker);
void *lull_worker_main(void *worker);

/* start.c; those named locked under the domain's lock */
int lull_call_signal(const struct rcu_domain *domain);
int lull_worker_need(struct call_domain *calls);
int lull_worker_need_locked(struct call_domain *calls);
int lull_worker_start_locked(struct call_domain *calls, struct call_rcu_data *worker);
void lull_call_forget_cpu_locked(struct call_domain *calls, const struct call_rcu_data *worker);
void lull_worker_retire_locked(struct call_domain *calls, struct call_rcu_data *worker);
void lull_worker_hand_over_locked(struct call_domain *calls, struct call_rcu_data *worker);

/* fork.c */
void lull_call_follow_forks(const struct call_domain *calls);

/* defer.c */
int lull_defer_try_before_fork(unsigned int index);
void lull_defer_after_fork_parent(unsigned int index);
void lull_defer_after_fork_child(unsigned int index);

#pragma GCC visibility pop

/* In the order of rcu_domains. */
static inline unsigned int lull_call_index(const struct rcu_domain *domain)
{
	if (domain == &rcu_memb_domain)
		return 3;
	if (domain == &rcu_qsbr_domain)
		return 0;
	if (domain == &rcu_bp_domain)
		return 4;
	return domain == &rcu_mb_domain ? 1 : 2;
}

static inline struct call_domain *lull_call_domain(const struct rcu_domain *domain)
{
	return LULL_SHARED(&lull_call_domains[lull_call_index(domain)]);
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

static inline int lull_worker_has_callbacks(const struct call_rcu_data *worker)
{
	int i;

	for (i = 0; i < CALL_LANES; i++)
		if (!lull_lane_empty(&worker->lanes[i]))
			return 1;
	/* The look of [call.sleep:A]. */
	return (int)lull_mem_load32(&worker->holds);
}

static inline uint32_t lull_call_paused(const struct call_domain *calls)
{
	/* The look of [call.begin:A] and [call.end:A]. */
	return lull_mem_load32(&calls->pause) % CALL_PAUSE_EVENT;
}

/* Sees to it that a worker looks at what was just queued. */
static inline void lull_call_prompt(struct call_domain *calls, struct call_rcu_data *worker)
{
	/* The look of [call.put:A]. */
	uint32_t state = lull_mem_load32(&worker->state);

	if (__builtin_expect(state >= CALL_ASLEEP, 0))
		lull_call_prompt_slow(calls, worker);
}

/*
 * Around waiting for something that may itself wait for a grace period: a QSBR thread must not
 * hold that up. Return: what to pass to lull_wait_end().
 */
static inline int lull_wait_begin(struct rcu_domain *domain)
{
	struct rcu_reader *self = rcu_domain_self(domain);

	if (domain != &rcu_qsbr_domain || !rcu_reader_ongoing(self))
		return 0;
	rcu_reader_offline(domain, self);
	return 1;
}

static inline void lull_wait_end(struct rcu_domain *domain, int was_online)
{
	if (was_online)
		rcu_reader_online(domain, rcu_domain_self(domain));
}

/* Stops a program that waits within a section for what waits for the section's end. */
static inline void lull_wait_check(const struct rcu_domain *domain, const char *what)
{
	const struct rcu_reader *self = rcu_domain_self(domain);

	if (domain != &rcu_qsbr_domain && rcu_reader_ongoing(self))
		rcu_domain_misuse(self, what);
}

#endif
