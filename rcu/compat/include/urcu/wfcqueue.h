/* SPDX-License-Identifier: MIT */
/*
 * Queue with wait-free enqueue, under liburcu's names: any number of producers, one consumer.
 *
 * The head is a node in front of the first; the tail points to the last node, or to the head when
 * the queue is empty. To enqueue is to exchange the tail, then to link the node before. Between the
 * two the queue is cut: the consumer waits, or returns CDS_WFCQ_WOULDBLOCK. Consumers (dequeue,
 * splice from, iteration) exclude each other: by the lock in struct cds_wfcq_head, or in a way of
 * their own with the functions that begin with __. Head and tail are apart for their cache lines.
 */
#ifndef LULL_URCU_WFCQUEUE_H
#define LULL_URCU_WFCQUEUE_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include <urcu/compiler.h>
#include <urcu/uatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CDS_WFCQ_WOULDBLOCK ((struct cds_wfcq_node *)-1UL)

enum cds_wfcq_ret {
	CDS_WFCQ_RET_WOULDBLOCK = -1,
	CDS_WFCQ_RET_DEST_EMPTY = 0,
	CDS_WFCQ_RET_DEST_NON_EMPTY = 1,
	CDS_WFCQ_RET_SRC_EMPTY = 2
};

/* What dequeue says besides: whether the queue has become empty. */
enum cds_wfcq_state { CDS_WFCQ_STATE_LAST = 1U << 0 };

struct cds_wfcq_node {
	struct cds_wfcq_node *next;
};

struct __cds_wfcq_head {
	struct cds_wfcq_node node;
};

struct cds_wfcq_head {
	struct cds_wfcq_node node;
	pthread_mutex_t lock;
};

struct cds_wfcq_tail {
	struct cds_wfcq_node *p;
};

#ifdef __cplusplus
}

/* Made from a pointer to either kind of head, as C's transparent union is. */
struct cds_wfcq_head_ptr_t {
	struct __cds_wfcq_head *_h;
	cds_wfcq_head_ptr_t(struct __cds_wfcq_head *head) : _h(head)
	{
	}
	cds_wfcq_head_ptr_t(struct cds_wfcq_head *head)
	    : _h(reinterpret_cast<struct __cds_wfcq_head *>(&head->node))
	{
	}
};

extern "C" {
#else
typedef union {
	struct __cds_wfcq_head *_h;
	struct cds_wfcq_head *h;
} __attribute__((__transparent_union__)) cds_wfcq_head_ptr_t;
#endif

static inline struct __cds_wfcq_head *__cds_wfcq_head_cast(struct __cds_wfcq_head *head)
{
	return head;
}

static inline struct cds_wfcq_head *cds_wfcq_head_cast(struct cds_wfcq_head *head)
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

static inline bool cds_wfcq_empty(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail)
{
	/* The tail alone would do, but writers keep its line busy; the link is often enough. */
	return !uatomic_read(&head._h->node.next) && uatomic_read(&tail->p) == &head._h->node;
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

/* Appends a chain; true if there was a node before it. */
static inline bool cds_wfcq_append_(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail,
				    struct cds_wfcq_node *first, struct cds_wfcq_node *last)
{
	struct cds_wfcq_node *before = uatomic_xchg(&tail->p, last);

	__atomic_store_n(&before->next, first, __ATOMIC_RELEASE);
	return before != &head._h->node;
}

/* Returns whether the queue held something before. A full barrier before the node is visible. */
static inline bool cds_wfcq_enqueue(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail,
				    struct cds_wfcq_node *new_tail)
{
	uatomic_set(&new_tail->next, (struct cds_wfcq_node *)NULL);
	return cds_wfcq_append_(head, tail, new_tail, new_tail);
}

/* The link of a node that has, or will soon have, a successor. Bound: a producer between steps. */
static inline struct cds_wfcq_node *cds_wfcq_link_(struct cds_wfcq_node *node, int blocking)
{
	struct cds_wfcq_node *next;
	int spin_count = 0;

	while (!(next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE))) {
		if (!blocking)
			return CDS_WFCQ_WOULDBLOCK;
		if (++spin_count % 128 == 0)
			sched_yield();
		else
			caa_cpu_relax();
	}
	return next;
}

static inline struct cds_wfcq_node *cds_wfcq_first_(cds_wfcq_head_ptr_t head,
						    struct cds_wfcq_tail *tail, int blocking)
{
	return cds_wfcq_empty(head, tail) ? NULL : cds_wfcq_link_(&head._h->node, blocking);
}

static inline struct cds_wfcq_node *cds_wfcq_next_(struct cds_wfcq_tail *tail,
						   struct cds_wfcq_node *node, int blocking)
{
	struct cds_wfcq_node *next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);

	if (next)
		return next;
	return uatomic_read(&tail->p) == node ? NULL : cds_wfcq_link_(node, blocking);
}

static inline struct cds_wfcq_node *
cds_wfcq_dequeue_(cds_wfcq_head_ptr_t head, struct cds_wfcq_tail *tail, int *state, int blocking)
{
	struct cds_wfcq_node *node = cds_wfcq_first_(head, tail, blocking), *next;

	if (state)
		*state = 0;
	if (!node || node == CDS_WFCQ_WOULDBLOCK)
		return node;
	next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
	if (!next) {
		/* Before the tail points to the head: from then on producers write its link. */
		uatomic_set(&head._h->node.next, (struct cds_wfcq_node *)NULL);
		if (uatomic_cmpxchg(&tail->p, node, &head._h->node) == node) {
			if (state)
				*state |= CDS_WFCQ_STATE_LAST;
			return node;
		}
		next = cds_wfcq_link_(node, blocking);
		if (next == CDS_WFCQ_WOULDBLOCK) {
			uatomic_set(&head._h->node.next, node);
			return CDS_WFCQ_WOULDBLOCK;
		}
	}
	uatomic_set(&head._h->node.next, next);
	return node;
}

static inline enum cds_wfcq_ret cds_wfcq_splice_(cds_wfcq_head_ptr_t dest,
						 struct cds_wfcq_tail *dest_tail,
						 cds_wfcq_head_ptr_t src,
						 struct cds_wfcq_tail *src_tail, int blocking)
{
	struct cds_wfcq_node *first, *last;

	/*
	 * The first node goes to one of several that splice at once: they need no lock among them.
	 * Bound: another splice, or a producer, between its steps.
	 */
	for (;;) {
		if (cds_wfcq_empty(src, src_tail))
			return CDS_WFCQ_RET_SRC_EMPTY;
		first = uatomic_xchg(&src._h->node.next, (struct cds_wfcq_node *)NULL);
		if (first)
			break;
		if (!blocking)
			return CDS_WFCQ_RET_WOULDBLOCK;
		caa_cpu_relax();
	}
	last = uatomic_xchg(&src_tail->p, &src._h->node);
	return cds_wfcq_append_(dest, dest_tail, first, last) ? CDS_WFCQ_RET_DEST_NON_EMPTY :
								CDS_WFCQ_RET_DEST_EMPTY;
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
	return cds_wfcq_first_(head, tail, 1);
}

static inline struct cds_wfcq_node *__cds_wfcq_first_nonblocking(cds_wfcq_head_ptr_t head,
								 struct cds_wfcq_tail *tail)
{
	return cds_wfcq_first_(head, tail, 0);
}

static inline struct cds_wfcq_node *__cds_wfcq_next_blocking(cds_wfcq_head_ptr_t head,
							     struct cds_wfcq_tail *tail,
							     struct cds_wfcq_node *node)
{
	(void)head;
	return cds_wfcq_next_(tail, node, 1);
}

static inline struct cds_wfcq_node *__cds_wfcq_next_nonblocking(cds_wfcq_head_ptr_t head,
								struct cds_wfcq_tail *tail,
								struct cds_wfcq_node *node)
{
	(void)head;
	return cds_wfcq_next_(tail, node, 0);
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
