/* SPDX-License-Identifier: MIT */
/*
 * The queue of urcu/wfcqueue.h in its old form, head and tail in one.
 */
#ifndef LULL_URCU_WFQUEUE_H
#define LULL_URCU_WFQUEUE_H

#include <urcu/wfcqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cds_wfq_node {
	struct cds_wfcq_node node;
};

struct cds_wfq_queue {
	struct cds_wfcq_head head;
	struct cds_wfcq_tail tail;
};

static inline void cds_wfq_node_init(struct cds_wfq_node *node)
{
	cds_wfcq_node_init(&node->node);
}

static inline void cds_wfq_init(struct cds_wfq_queue *q)
{
	cds_wfcq_init(&q->head, &q->tail);
}

static inline void cds_wfq_destroy(struct cds_wfq_queue *q)
{
	cds_wfcq_destroy(&q->head, &q->tail);
}

static inline void cds_wfq_enqueue(struct cds_wfq_queue *q, struct cds_wfq_node *node)
{
	cds_wfcq_enqueue(&q->head, &q->tail, &node->node);
}

/* For consumers that exclude each other. */
static inline struct cds_wfq_node *__cds_wfq_dequeue_blocking(struct cds_wfq_queue *q)
{
	return (struct cds_wfq_node *)__cds_wfcq_dequeue_blocking(&q->head, &q->tail);
}

static inline struct cds_wfq_node *cds_wfq_dequeue_blocking(struct cds_wfq_queue *q)
{
	return (struct cds_wfq_node *)cds_wfcq_dequeue_blocking(&q->head, &q->tail);
}

#ifdef __cplusplus
}
#endif

#endif
