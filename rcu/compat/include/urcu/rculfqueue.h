/* SPDX-License-Identifier: MIT */
/*
 * Lock-free FIFO queue for RCU, under liburcu's names: any number of producers and consumers.
 * lull/rcu/lfqueue.h does the work and says what each function guarantees.
 *
 * Callers are in an RCU section, and use a dequeued node again after a grace period. The queue has
 * no dummy nodes, so that it reclaims nothing and the call_rcu() that it is given is not called.
 */
#ifndef LULL_URCU_RCULFQUEUE_H
#define LULL_URCU_RCULFQUEUE_H

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <urcu/call-rcu.h>
#include <urcu/pointer.h>
#include <urcu/uatomic.h>

#include "lull/rcu/lfqueue.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfq_node_rcu {
	struct rcu_lfqueue_node lull;
};

/* Programs have it in memory of any alignment, and ours stands on cache lines of its own. */
struct cds_lfq_queue_rcu {
	char room[sizeof(struct rcu_lfqueue) + __alignof__(struct rcu_lfqueue)];
	void (*queue_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
};

static inline struct rcu_lfqueue *cds_lfq_lull_(struct cds_lfq_queue_rcu *q)
{
	const uintptr_t line = __alignof__(struct rcu_lfqueue);

	return (struct rcu_lfqueue *)(((uintptr_t)q->room + line - 1) & ~(line - 1));
}

static inline void cds_lfq_node_init_rcu(struct cds_lfq_node_rcu *node)
{
	node->lull.next = 0;
}

static inline void cds_lfq_init_rcu(struct cds_lfq_queue_rcu *q,
				    void queue_call_rcu(struct rcu_head *head,
							void (*func)(struct rcu_head *head)))
{
	rcu_lfqueue_init(cds_lfq_lull_(q));
	q->queue_call_rcu = queue_call_rcu;
}

/* The queue, unused by now, must be empty: else -EPERM, and it is left as it is. */
static inline int cds_lfq_destroy_rcu(struct cds_lfq_queue_rcu *q)
{
	return rcu_lfqueue_empty(cds_lfq_lull_(q)) ? 0 : -EPERM;
}

static inline void cds_lfq_enqueue_rcu(struct cds_lfq_queue_rcu *q, struct cds_lfq_node_rcu *node)
{
	rcu_lfqueue_enqueue(cds_lfq_lull_(q), &node->lull);
}

/* NULL when the queue is empty. */
static inline struct cds_lfq_node_rcu *cds_lfq_dequeue_rcu(struct cds_lfq_queue_rcu *q)
{
	return (struct cds_lfq_node_rcu *)rcu_lfqueue_dequeue(cds_lfq_lull_(q));
}

#ifdef __cplusplus
}
#endif

#endif
