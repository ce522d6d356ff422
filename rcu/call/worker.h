/* SPDX-License-Identifier: MIT */
/*
 * A worker: lanes in which callers queue, a batch, a thread.
 *
 * A worker's memory is never freed: a worker that is freed goes to a list of spares and is used
 * again. So a caller may hold a pointer to a worker for as long as it likes, in a read-side
 * critical section or not, registered or not. A caller that queues in a freed worker moves the
 * callback to the default worker itself.
 * Paper: T 6.4.5.
 */
#ifndef LULL_CALL_WORKER_H
#define LULL_CALL_WORKER_H

#include "lane.h"
#include "rcu_port.h"

/* How many lanes a worker has. Threads are spread over them, so that few meet at one tail. */
#ifndef CALL_LANES
#define CALL_LANES 8
#endif

struct call_domain; /* domain.h */

/* A worker's states. A caller that finds CALL_ASLEEP or a later one has something to do. */
enum call_state {
	CALL_AWAKE, /* the worker will look at its lanes before it sleeps */
	CALL_NAPPING, /* the worker wakes by a timer, or when a thread hurries it */
	CALL_ASLEEP, /* the worker waits for the first callback */
	CALL_THREADLESS, /* a default worker that was not needed yet, or could not be started */
	CALL_RETIRED /* the worker was freed; the default worker gets the callbacks queued here */
};

/**
 * struct call_rcu_data - A worker.
 * @lanes: callbacks from callers. A thread always uses the same lane, which keeps their order.
 * @state: futex, enum call_state. The worker writes it; a thread that wakes it writes CALL_AWAKE;
 *	while it has no thread, the holder of the domain's lock writes CALL_THREADLESS and
 *	CALL_RETIRED.
 * @flags: 0 or CALL_RCU_RT.
 * @calls: the workers of its domain, once it was started.
 * @lock: over @held, what is taken from @lanes, and what is put into @batch. No thread calls a
 *	callback, or waits for a grace period, while it holds this lock.
 * @batch: callbacks that wait for a grace period, or for those before them to be called. The worker
 *	takes one at a time, a fork takes all that are left, each by a change of @first.
 * @held: callbacks that a fork took from the lanes for the next batch.
 * @holds: not 0 when @held has callbacks.
 * @stop: not 0: the worker finishes its batch and ends.
 * @hurry: not 0: the worker waits for no more callbacks before it starts a grace period.
 * @tuned: not 0: call_rcu_data_tune() has set @tuning, and the worker does not rest.
 * @tuning: see call_rcu_data_tune(); each word is read and written by itself.
 * @cpu: the CPU on which it runs, or -1.
 * @thread: its thread, while it has one.
 * @next: the next in the domain's list of workers or of spares. Under the domain's lock.
 */
struct call_rcu_data {
	struct call_lane lanes[CALL_LANES];
	uint32_t state __attribute__((aligned(64)));
	uint32_t flags;
	struct call_domain *calls;
	struct lull_lock lock __attribute__((aligned(64)));
	struct call_chain batch[CALL_LANES];
	struct call_chain held[CALL_LANES];
	uint32_t holds __attribute__((aligned(64)));
	uint32_t stop;
	uint32_t hurry;
	uint32_t tuned;
	struct call_rcu_tuning tuning;
	int cpu;
	struct lull_thread thread;
	struct call_rcu_data *next;
};

static inline int lull_worker_has_callbacks(const struct call_rcu_data *worker)
{
	int i;

	for (i = 0; i < CALL_LANES; i++)
		if (!lull_lane_empty(&worker->lanes[i]))
			return 1;
	/* [call.sleep:A]: ASLEEP was stored before this look. */
	return (int)lull_mem_load32(&worker->holds);
}

#endif
