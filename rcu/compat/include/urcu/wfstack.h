/* SPDX-License-Identifier: MIT */
/*
 * Stack with wait-free push and pop_all, under liburcu's names.
 *
 * To push is to exchange the head, then to link the node to what was there; the bottom's link is
 * CDS_WFS_END. A null link is a push between its two steps: who pops or iterates waits for it, or
 * returns CDS_WFS_WOULDBLOCK. pop and pop_all exclude each other by the stack's lock, or, for
 * the functions that begin with __, in a way of the caller's own: one thread; a lock; or an RCU
 * section around pop and a grace period before a node is used again. pop_all alone needs none
 * of these.
 *
 * Barrier pairs:
 *	[wfstack.push:A]	entry and null link before head	[wfstack.pop:A], [wfstack.take:A]
 * rcu/structure/structure_sched_test.c explores them.
 */
#ifndef LULL_URCU_WFSTACK_H
#define LULL_URCU_WFSTACK_H

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <urcu/compiler.h>
#include <urcu/uatomic.h>

#include "lull/rcu/pointer.h"
#include "lull/rcu/queue.h" /* rcu_queue_pause() */

#ifdef __cplusplus
extern "C" {
#endif

#define CDS_WFS_WOULDBLOCK ((struct cds_wfs_node *)-1UL)
/* Of either type in C; in C++ the head's, as liburcu's is. */
#ifdef __cplusplus
#define CDS_WFS_END ((struct cds_wfs_head *)1UL)
#else
#define CDS_WFS_END ((void *)1UL)
#endif

/* What pop says besides: whether the stack has become empty. */
enum cds_wfs_state { CDS_WFS_STATE_LAST = 1U << 0 };

struct cds_wfs_node {
	struct cds_wfs_node *next;
};

struct cds_wfs_head {
	struct cds_wfs_node node;
};

struct __cds_wfs_stack {
	struct cds_wfs_head *head;
};

struct cds_wfs_stack {
	struct cds_wfs_head *head;
	pthread_mutex_t lock;
};

#ifdef __cplusplus
}

/* Made from a pointer to either kind of stack, as C's transparent unions are. */
struct cds_wfs_stack_ptr_t {
	struct cds_wfs_head **head;
	cds_wfs_stack_ptr_t(struct __cds_wfs_stack *stack) : head(&stack->head)
	{
	}
	cds_wfs_stack_ptr_t(struct cds_wfs_stack *stack) : head(&stack->head)
	{
	}
};

struct cds_wfs_stack_const_ptr_t {
	struct cds_wfs_head *const *head;
	cds_wfs_stack_const_ptr_t(const struct __cds_wfs_stack *stack) : head(&stack->head)
	{
	}
	cds_wfs_stack_const_ptr_t(const struct cds_wfs_stack *stack) : head(&stack->head)
	{
	}
};

static inline cds_wfs_stack_ptr_t cds_wfs_stack_cast(struct __cds_wfs_stack *s)
{
	return s;
}

static inline cds_wfs_stack_ptr_t cds_wfs_stack_cast(struct cds_wfs_stack *s)
{
	return s;
}

static inline cds_wfs_stack_const_ptr_t cds_wfs_stack_const_cast(const struct __cds_wfs_stack *s)
{
	return s;
}

static inline cds_wfs_stack_const_ptr_t cds_wfs_stack_const_cast(const struct cds_wfs_stack *s)
{
	return s;
}

extern "C" {
#else
typedef union {
	struct __cds_wfs_stack *_s;
	struct cds_wfs_stack *s;
	struct cds_wfs_head **head;
} __attribute__((__transparent_union__)) cds_wfs_stack_ptr_t;

typedef union {
	const struct __cds_wfs_stack *_s;
	const struct cds_wfs_stack *s;
	struct cds_wfs_head *const *head;
} __attribute__((__transparent_union__)) cds_wfs_stack_const_ptr_t;

static inline struct cds_wfs_stack *cds_wfs_stack_cast(struct cds_wfs_stack *s)
{
	return s;
}
#endif

static inline struct __cds_wfs_stack *__cds_wfs_stack_cast(struct __cds_wfs_stack *s)
{
	return s;
}

static inline void cds_wfs_node_init(struct cds_wfs_node *node)
{
	node->next = NULL;
}

static inline void __cds_wfs_init(struct __cds_wfs_stack *s)
{
	s->head = (struct cds_wfs_head *)CDS_WFS_END;
}

static inline void cds_wfs_init(struct cds_wfs_stack *s)
{
	s->head = (struct cds_wfs_head *)CDS_WFS_END;
	if (pthread_mutex_init(&s->lock, NULL) != 0)
		abort();
}

static inline void cds_wfs_destroy(struct cds_wfs_stack *s)
{
	pthread_mutex_destroy(&s->lock);
}

static inline bool cds_wfs_empty(cds_wfs_stack_const_ptr_t u_stack)
{
	return uatomic_read(u_stack.head) == (struct cds_wfs_head *)CDS_WFS_END;
}

/* The node as cds_wfs_node_init() made it. Returns whether the stack held something before. */
static inline int cds_wfs_push(cds_wfs_stack_ptr_t u_stack, struct cds_wfs_node *node)
{
	struct cds_wfs_head *below;

	rcu_assign_pointer(node->next, (struct cds_wfs_node *)NULL);
	/*
	 * [wfstack.push:A] exchange, full. Pairs with [wfstack.pop:A], [wfstack.take:A].
	 * Orders: the entry and its null link before the head that leads to it.
	 * Else: a taker goes by the link that the node had before, or reads an entry that is not
	 * yet written.
	 */
	below = rcu_xchg_pointer(u_stack.head, (struct cds_wfs_head *)node);
	/* Needs no order: who follows the link has seen the head, and by it all pushes before. */
	rcu_assign_pointer(node->next, (struct cds_wfs_node *)below);
	return below != (struct cds_wfs_head *)CDS_WFS_END;
}

static inline int cds_wfs_is_end_(const struct cds_wfs_node *node)
{
	return (uintptr_t)node == (uintptr_t)CDS_WFS_END;
}

/* What lies below a node, or CDS_WFS_END. Bound: a push between its steps. */
static inline struct cds_wfs_node *cds_wfs_link_(struct cds_wfs_node *node, int blocking)
{
	for (unsigned int round = 0;; round++) {
		struct cds_wfs_node *next = rcu_dereference(node->next);

		if (next)
			return next;
		if (!blocking)
			return CDS_WFS_WOULDBLOCK;
		rcu_queue_pause(round);
	}
}

static inline struct cds_wfs_node *cds_wfs_pop_(cds_wfs_stack_ptr_t u_stack, int *state,
						int blocking)
{
	struct cds_wfs_head *head;
	struct cds_wfs_node *next;

	if (state)
		*state = 0;
	/* Bound: one more try for each push or pop that comes between. */
	for (;;) {
		/*
		 * [wfstack.pop:A] consume. Pairs with [wfstack.push:A].
		 * Orders: the head before the link in it.
		 * Else: the stack's rest is lost, or is what the memory held before.
		 */
		head = rcu_dereference(*u_stack.head);
		if (head == (struct cds_wfs_head *)CDS_WFS_END)
			return NULL;
		next = cds_wfs_link_(&head->node, blocking);
		if (next == CDS_WFS_WOULDBLOCK)
			return next;
		if (rcu_cmpxchg_pointer(u_stack.head, head, (struct cds_wfs_head *)next) == head)
			break;
		if (!blocking)
			return CDS_WFS_WOULDBLOCK;
	}
	if (state && cds_wfs_is_end_(next))
		*state |= CDS_WFS_STATE_LAST;
	return &head->node;
}

static inline struct cds_wfs_node *__cds_wfs_pop_blocking(cds_wfs_stack_ptr_t u_stack)
{
	return cds_wfs_pop_(u_stack, NULL, 1);
}

static inline struct cds_wfs_node *__cds_wfs_pop_with_state_blocking(cds_wfs_stack_ptr_t u_stack,
								     int *state)
{
	return cds_wfs_pop_(u_stack, state, 1);
}

static inline struct cds_wfs_node *__cds_wfs_pop_nonblocking(cds_wfs_stack_ptr_t u_stack)
{
	return cds_wfs_pop_(u_stack, NULL, 0);
}

static inline struct cds_wfs_node *__cds_wfs_pop_with_state_nonblocking(cds_wfs_stack_ptr_t u_stack,
									int *state)
{
	return cds_wfs_pop_(u_stack, state, 0);
}

static inline struct cds_wfs_head *__cds_wfs_pop_all(cds_wfs_stack_ptr_t u_stack)
{
	/*
	 * [wfstack.take:A] exchange, full. Pairs with [wfstack.push:A].
	 * Orders: the head before all that is read through it.
	 * Else: the taker reads an entry that is not yet written.
	 */
	struct cds_wfs_head *head =
		rcu_xchg_pointer(u_stack.head, (struct cds_wfs_head *)CDS_WFS_END);

	return head == (struct cds_wfs_head *)CDS_WFS_END ? NULL : head;
}

static inline void cds_wfs_pop_lock(struct cds_wfs_stack *s)
{
	if (pthread_mutex_lock(&s->lock) != 0)
		abort();
}

static inline void cds_wfs_pop_unlock(struct cds_wfs_stack *s)
{
	if (pthread_mutex_unlock(&s->lock) != 0)
		abort();
}

static inline struct cds_wfs_node *cds_wfs_pop_with_state_blocking(struct cds_wfs_stack *s,
								   int *state)
{
	struct cds_wfs_node *node;

	cds_wfs_pop_lock(s);
	node = __cds_wfs_pop_with_state_blocking(s, state);
	cds_wfs_pop_unlock(s);
	return node;
}

static inline struct cds_wfs_node *cds_wfs_pop_blocking(struct cds_wfs_stack *s)
{
	return cds_wfs_pop_with_state_blocking(s, NULL);
}

static inline struct cds_wfs_head *cds_wfs_pop_all_blocking(struct cds_wfs_stack *s)
{
	struct cds_wfs_head *head;

	cds_wfs_pop_lock(s);
	head = __cds_wfs_pop_all(s);
	cds_wfs_pop_unlock(s);
	return head;
}

/* Iteration over what pop_all returned, from the top. */
static inline struct cds_wfs_node *cds_wfs_first(struct cds_wfs_head *head)
{
	return head ? &head->node : NULL;
}

static inline struct cds_wfs_node *cds_wfs_next_blocking(struct cds_wfs_node *node)
{
	struct cds_wfs_node *next = cds_wfs_link_(node, 1);

	return cds_wfs_is_end_(next) ? NULL : next;
}

static inline struct cds_wfs_node *cds_wfs_next_nonblocking(struct cds_wfs_node *node)
{
	struct cds_wfs_node *next = cds_wfs_link_(node, 0);

	return cds_wfs_is_end_(next) ? NULL : next;
}

#define cds_wfs_for_each_blocking(head, node) \
	for (node = cds_wfs_first(head); node; node = cds_wfs_next_blocking(node))
/* The current node may be freed or used again: @n holds its successor. */
#define cds_wfs_for_each_blocking_safe(head, node, n) \
	for (node = cds_wfs_first(head); node && (n = cds_wfs_next_blocking(node), 1); node = n)

#ifdef __cplusplus
}
#endif

#endif
