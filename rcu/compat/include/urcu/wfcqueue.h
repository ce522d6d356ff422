/* SPDX-License-Identifier: MIT */
/*
 * Queue with wait-free enqueue, under liburcu's names: any number of producers, one consumer.
 * lull/rcu/queue.h does the work and says what each function guarantees.
 *
 * Between a producer's two steps the queue is cut: the consumer waits, or returns
 * CDS_WFCQ_WOULDBLOCK. Consumers (dequeue, splice from, iteration) exclude each other: by the lock
 * in struct cds_wfcq_head, or in a way of their own with the functions that begin with __; but
 * several may splice at once. Head and tail are apart for their cache lines.
 */
#ifndef LULL_URCU_WFCQUEUE_H
#define LULL_URCU_WFCQUEUE_H

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <urcu/compiler.h>
#include <urcu/uatomic.h>

#include "lull/rcu/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CDS_WFCQ_WOULDBLOCK ((struct cds_wfcq_node *)RCU_QUEUE_WOULD_BLOCK)

enum cds_wfcq_ret {
	CDS_WFCQ_RET_WOULDBLOCK = RCU_QUEUE_SPLICE_WOULD_BLOCK,
	CDS_WFCQ_RET_DEST_EMPTY = RCU_QUEUE_SPLICED_TO_EMPTY,
	CDS_WFCQ_RET_DEST_NON_EMPTY = RCU_QUEUE_SPLICED,
	CDS_WFCQ_RET_SRC_EMPTY = RCU_QUEUE_SPLICED_NOTHING
};

/* What dequeue says besides: whether the queue has become empty. */
enum cds_wfcq_state { CDS_WFCQ_STATE_LAST = 1U << 0 };

struct cds_wfcq_node {
	__extension__ union {
		struct cds_wfcq_node *next;
		struct rcu_queue_node lull;
	};
};

struct __cds_wfcq_head {
	struct cds_wfcq_node node;
};

struct cds_wfcq_head {
	struct cds_wfcq_node node;
	pthread_mutex_t lock;
};

struct cds_wfcq_tail {
	__extension__ union {
		struct cds_wfcq_node *p;
		struct rcu_queue_node *lull;
	};
};

#ifdef __cplusplus
}

/* Made from a pointer to either kind of head, as C's transparent unions are. */
struct cds_wfcq_head_ptr_t {
	struct rcu_queue_node *lull;
	cds_wfcq_head_ptr_t(struct __cds_wfcq_head *head) : lull(&head->node.lull)
	{
	}
	cds_wfcq_head_ptr_t(struct cds_wfcq_head *head) : lull(&head->node.lull)
	{
	}
};

struct cds_wfcq_head_const_ptr_t {
	const struct rcu_queue_node *lull;
	cds_wfcq_head_const_ptr_t(const struct __cds_wfcq_head *head) : lull(&head->node.lull)
	{
	}
	cds_wfcq_head_const_ptr_t(const struct cds_wfcq_head *head) : lull(&head->node.lull)
	{
	}
};

extern "C" {
#else
typedef union {
	struct __cds_wfcq_head *_h;
	struct cds_wfcq_head *h;
	struct rcu_queue_node *lull;
} __attribute__((__transparent_union__)) cds_wfcq_head_ptr_t;

typedef union {
	const struct __cds_wfcq_head *_h;
	const struct cds_wfcq_head *h;
	const struct rcu_queue_node *lull;
} __attribute__((__transparent_union__)) cds_wfcq_head_const_ptr_t;
#endif

static inline struct __cds_wfcq_head *__cds_wfcq_head_cast(struct __cds_wfcq_head *head)
{
	return head;
}

static inline struct cds_wfcq_head *cds_wfcq_head_cast(struct cds_wfcq_head *head)
{
	return head;
}

static inline const struct __cds_wfcq_head *
__cds_wfcq_head_const_cast(const struct __cds_wfcq_head *head)
{
	return head;
}

static inline const struct cds_wfcq_head *cds_wfcq_head_const_cast(const struct cds_wfcq_head *head)
{
	return head;
}

static inline void cds_wfcq_node_init(struct cds_wfcq_node *node)
{
	node->next = NULL;
}

static inline void __cds_wfcq_init(struct __cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
	cds_wfcq_node_init(&head->node);
	tail->p = &head->node;
}

static inline void cds_wfcq_init(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
	cds_wfcq_node_init(&head->node);
	tail->p = &head->node;
	if (pthread_mutex_init(&head->lock, NULL) != 0)
		abort();
}

static inline void cds_wfcq_destroy(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
	(void)tail;
	pthread_mutex_destroy(&head->lock);
}

static inline bool cds_wfcq_empty(cds_wfcq_head_const_ptr_t head, const struct cds_wfcq_tail *tail)
{
	return rcu_queue_follow(&tail->lull, head.lull, 0) == NULL;
}

static inline void cds_wfcq_dequeue_lock(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
	(void)tail;
	if (pthread_mutex_lock(&head->lock) != 0)
		abort();
}

static inline void cds_wfcq_dequeue_unlock(struct cds_wfcq_head *head, struct cds_wfcq_tail *tail)
{
	(void)tail;
	if (pthread_mutex_unlock(&head->lock) != 0)
		abort();
}

/* Returns whether the queue held something before. A full barrier before the node is visible. */
static inline bool cds_wfcq_enqueue(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail,
				    struct cds_wfcq_node *new_tail)
{
	rcu_assign_pointer(new_tail->lull.next, (struct rcu_queue_node *)NULL);
	return rcu_queue_append(&tail->lull, &new_tail->lull, &new_tail->lull) != head.lull;
}

static inline struct cds_wfcq_node *
cds_wfcq_dequeue_(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail, int *state, int wait)
{
	int emptied = 0;
	struct rcu_queue_node *node = rcu_queue_take(head.lull, &tail->lull, wait, &emptied);

	if (state)
		*state = emptied ? CDS_WFCQ_STATE_LAST : 0;
	return (struct cds_wfcq_node *)node;
}

static inline enum cds_wfcq_ret cds_wfcq_splice_(cds_wfcq_head_ptr_t to,
						 struct cds_wfcq_tail *to_tail,
						 cds_wfcq_head_ptr_t from,
						 struct cds_wfcq_tail *from_tail, int wait)
{
	return (enum cds_wfcq_ret)rcu_queue_move(to.lull, &to_tail->lull, from.lull,
						 &from_tail->lull, wait);
}

static inline struct cds_wfcq_node *__cds_wfcq_dequeue_blocking(cds_wfcq_head_ptr_t head,
								struct cds_wfcq_tail *tail)
{
	return cds_wfcq_dequeue_(head, tail, NULL, 1);
}

static inline struct cds_wfcq_node *
__cds_wfcq_dequeue_with_state_blocking(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail,
				       int *state)
{
	return cds_wfcq_dequeue_(head, tail, state, 1);
}

static inline struct cds_wfcq_node *__cds_wfcq_dequeue_nonblocking(cds_wfcq_head_ptr_t head,
								   struct cds_wfcq_tail *tail)
{
	return cds_wfcq_dequeue_(head, tail, NULL, 0);
}

static inline struct cds_wfcq_node *
__cds_wfcq_dequeue_with_state_nonblocking(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail,
					  int *state)
{
	return cds_wfcq_dequeue_(head, tail, state, 0);
}

static inline struct cds_wfcq_node *cds_wfcq_dequeue_with_state_blocking(struct cds_wfcq_head *head,
									 struct cds_wfcq_tail *tail,
									 int *state)
{
	struct cds_wfcq_node *node;

	cds_wfcq_dequeue_lock(head, tail);
	node = __cds_wfcq_dequeue_with_state_blocking(head, tail, state);
	cds_wfcq_dequeue_unlock(head, tail);
	return node;
}

static inline struct cds_wfcq_node *cds_wfcq_dequeue_blocking(struct cds_wfcq_head *head,
							      struct cds_wfcq_tail *tail)
{
	return cds_wfcq_dequeue_with_state_blocking(head, tail, NULL);
}

/* Moves all nodes of the source to the end of the destination, in their order. */
static inline enum cds_wfcq_ret __cds_wfcq_splice_blocking(cds_wfcq_head_ptr_t dest_q_head,
							   struct cds_wfcq_tail *dest_q_tail,
							   cds_wfcq_head_ptr_t src_q_head,
							   struct cds_wfcq_tail *src_q_tail)
{
	return cds_wfcq_splice_(dest_q_head, dest_q_tail, src_q_head, src_q_tail, 1);
}

static inline enum cds_wfcq_ret __cds_wfcq_splice_nonblocking(cds_wfcq_head_ptr_t dest_q_head,
							      struct cds_wfcq_tail *dest_q_tail,
							      cds_wfcq_head_ptr_t src_q_head,
							      struct cds_wfcq_tail *src_q_tail)
{
	return cds_wfcq_splice_(dest_q_head, dest_q_tail, src_q_head, src_q_tail, 0);
}

/* Takes the source's lock only: to append to the destination is wait-free. */
static inline enum cds_wfcq_ret cds_wfcq_splice_blocking(struct cds_wfcq_head *dest_q_head,
							 struct cds_wfcq_tail *dest_q_tail,
							 struct cds_wfcq_head *src_q_head,
							 struct cds_wfcq_tail *src_q_tail)
{
	enum cds_wfcq_ret ret;

	cds_wfcq_dequeue_lock(src_q_head, src_q_tail);
	ret = __cds_wfcq_splice_blocking(dest_q_head, dest_q_tail, src_q_head, src_q_tail);
	cds_wfcq_dequeue_unlock(src_q_head, src_q_tail);
	return ret;
}

static inline struct cds_wfcq_node *__cds_wfcq_first_blocking(cds_wfcq_head_ptr_t head,
							      struct cds_wfcq_tail *tail)
{
	return (struct cds_wfcq_node *)rcu_queue_follow(&tail->lull, head.lull, 1);
}

static inline struct cds_wfcq_node *__cds_wfcq_first_nonblocking(cds_wfcq_head_ptr_t head,
								 struct cds_wfcq_tail *tail)
{
	return (struct cds_wfcq_node *)rcu_queue_follow(&tail->lull, head.lull, 0);
}

static inline struct cds_wfcq_node *__cds_wfcq_next_blocking(cds_wfcq_head_ptr_t head,
							     struct cds_wfcq_tail *tail,
							     struct cds_wfcq_node *node)
{
	(void)head;
	return (struct cds_wfcq_node *)rcu_queue_follow(&tail->lull, &node->lull, 1);
}

static inline struct cds_wfcq_node *__cds_wfcq_next_nonblocking(cds_wfcq_head_ptr_t head,
								struct cds_wfcq_tail *tail,
								struct cds_wfcq_node *node)
{
	(void)head;
	return (struct cds_wfcq_node *)rcu_queue_follow(&tail->lull, &node->lull, 0);
}

#define __cds_wfcq_for_each_blocking(head, tail, node)           \
	for (node = __cds_wfcq_first_blocking(head, tail); node; \
	     node = __cds_wfcq_next_blocking(head, tail, node))
/* The current node may be freed or used again: @n holds its successor. */
#define __cds_wfcq_for_each_blocking_safe(head, tail, node, n) \
	for (node = __cds_wfcq_first_blocking(head, tail);     \
	     node && (n = __cds_wfcq_next_blocking(head, tail, node), 1); node = n)

#ifdef __cplusplus
}
#endif

#endif
