/* SPDX-License-Identifier: MIT */
/*
 * Lock-free FIFO queue for RCU, under liburcu's names: any number of producers and consumers.
 *
 * Michael and Scott's queue. The head is the oldest node; the tail is the last or the one before,
 * and whoever finds it behind moves it. So that no thread ever follows a null head, the last
 * node is not taken before a dummy has been queued behind it. Callers are in an RCU section, and
 * use a dequeued node again after a grace period; dummies are freed by the queue's call_rcu.
 */
#ifndef LULL_URCU_RCULFQUEUE_H
#define LULL_URCU_RCULFQUEUE_H

#include <errno.h>
#include <stdlib.h>

#include <urcu/call-rcu.h>
#include <urcu/pointer.h>
#include <urcu/uatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfq_node_rcu {
	struct cds_lfq_node_rcu *next;
	int dummy;
};

struct cds_lfq_queue_rcu {
	struct cds_lfq_node_rcu *head, *tail;
	void (*queue_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
};

struct cds_lfq_dummy_ {
	struct cds_lfq_node_rcu node;
	struct rcu_head head;
};

static inline struct cds_lfq_node_rcu *cds_lfq_dummy_new_(void)
{
	struct cds_lfq_dummy_ *dummy = (struct cds_lfq_dummy_ *)malloc(sizeof(*dummy));

	/* The queue's functions have no way to tell that there is no memory. */
	if (!dummy)
		abort();
	dummy->node.next = NULL;
	dummy->node.dummy = 1;
	return &dummy->node;
}

static inline void cds_lfq_dummy_free_(struct rcu_head *head)
{
	free(caa_container_of(head, struct cds_lfq_dummy_, head));
}

static inline void cds_lfq_node_init_rcu(struct cds_lfq_node_rcu *node)
{
	node->next = NULL;
	node->dummy = 0;
}

static inline void cds_lfq_init_rcu(struct cds_lfq_queue_rcu *q,
				    void queue_call_rcu(struct rcu_head *head,
							void (*func)(struct rcu_head *head)))
{
	q->head = q->tail = cds_lfq_dummy_new_();
	q->queue_call_rcu = queue_call_rcu;
}

/* The queue, unused by now, must be empty: else -EPERM, and it is left as it is. */
static inline int cds_lfq_destroy_rcu(struct cds_lfq_queue_rcu *q)
{
	if (!q->head->dummy || q->head->next)
		return -EPERM;
	free(caa_container_of(q->head, struct cds_lfq_dummy_, node));
	return 0;
}

/* Bound: one more round for each enqueue that comes between. */
static inline void cds_lfq_enqueue_rcu(struct cds_lfq_queue_rcu *q, struct cds_lfq_node_rcu *node)
{
	struct cds_lfq_node_rcu *tail, *next;

	for (;;) {
		tail = rcu_dereference(q->tail);
		next = uatomic_cmpxchg(&tail->next, (struct cds_lfq_node_rcu *)NULL, node);
		if (!next)
			break;
		uatomic_cmpxchg(&q->tail, tail, next);
	}
	/* When this fails, another thread has moved the tail here or further. */
	uatomic_cmpxchg(&q->tail, tail, node);
}

/* NULL when the queue is empty. Bound: one more round for each dequeue that comes between. */
static inline struct cds_lfq_node_rcu *cds_lfq_dequeue_rcu(struct cds_lfq_queue_rcu *q)
{
	struct cds_lfq_node_rcu *head, *next;

	for (;;) {
		head = rcu_dereference(q->head);
		next = rcu_dereference(head->next);
		if (!next) {
			if (head->dummy)
				return NULL;
			cds_lfq_enqueue_rcu(q, cds_lfq_dummy_new_());
			next = rcu_dereference(head->next);
		}
		if (uatomic_cmpxchg(&q->head, head, next) != head)
			continue;
		if (!head->dummy)
			return head;
		q->queue_call_rcu(&caa_container_of(head, struct cds_lfq_dummy_, node)->head,
				  cds_lfq_dummy_free_);
	}
}

#ifdef __cplusplus
}
#endif

#endif
