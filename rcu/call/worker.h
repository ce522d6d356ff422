/* SPDX-License-Identifier: MIT */
/*
 * A worker: lanes where callers queue, a batch, a thread.
 *
 * Workers live for ever: one that is freed goes to a list of spares and is used again. So a
 * caller may hold a pointer to a worker for as long as it likes, in a read-side critical section
 * or not, registered or not; what it queues in a worker that is gone it moves on itself.
 * Paper: T 6.4.5.
 */
#ifndef LULL_CALL_WORKER_H
#define LULL_CALL_WORKER_H

#include "lane.h"
#include "rcu_port.h"

/* Threads are spread over the lanes of a worker, so that they do not meet at one tail. */
#ifndef CALL_LANES
#define CALL_LANES 8
#endif

struct call_domain; /* domain.h */

/* What a caller finds in a worker's state. From CALL_ASLEEP on, it has something to do. */
enum call_state {
	CALL_AWAKE, /* looks at its lanes before it sleeps */
	CALL_NAPPING, /* wakes by a timer, or when a thread hurries it */
	CALL_ASLEEP, /* waits for the first callback */
	CALL_THREADLESS, /* a default worker that was not needed yet, or could not be started */
	CALL_RETIRED /* freed: the default worker gets what is queued here */
};

/**
 * struct call_rcu_data - A worker.
 * @lanes: callbacks from callers. A thread uses the same one always: its callbacks keep order.
 * @state: futex, enum call_state. Written by the worker; CALL_AWAKE by a thread that wakes it;
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

static inline int lull_worker_has_callbacks(const struct call_rcu_data *worker)
{
	int i;

	for (i = 0; i < CALL_LANES; i++)
		if (!lull_lane_empty(&worker->lanes[i]))
			return 1;
	/* The look of [call.sleep:A]. */
	return (int)lull_mem_load32(&worker->holds);
}

#endif
