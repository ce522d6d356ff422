/* SPDX-License-Identifier: MIT */
/*
 * Stack with lock-free push and pop and wait-free pop_all, under liburcu's names.
 *
 * The bottom's link is null. pop must not find at the top a node that was taken and pushed again
 * meanwhile: callers hold the stack's lock, or, for the functions that begin with __, are the
 * only one that pops, or pop within an RCU section and let a grace period pass before a node is
 * used again.
 */
#ifndef LULL_URCU_LFSTACK_H
#define LULL_URCU_LFSTACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <urcu/compiler.h>
#include <urcu/uatomic.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfs_node {
	struct cds_lfs_node *next;
};

struct cds_lfs_head {
	struct cds_lfs_node node;
};

struct __cds_lfs_stack {
	struct cds_lfs_head *head;
};

struct cds_lfs_stack {
	struct cds_lfs_head *head;
	pthread_mutex_t lock;
};

#ifdef __cplusplus
}

/* Made from a pointer to either kind of stack, as C's transparent union is. */
struct cds_lfs_stack_ptr_t {
	struct __cds_lfs_stack *_s;
	cds_lfs_stack_ptr_t(struct __cds_lfs_stack *stack) : _s(stack)
	{
	}
	cds_lfs_stack_ptr_t(struct cds_lfs_stack *stack)
	    : _s(reinterpret_cast<struct __cds_lfs_stack *>(&stack->head))
	{
	}
};

extern "C" {
#else
typedef union {
	struct __cds_lfs_stack *_s;
	struct cds_lfs_stack *s;
} __attribute__((__transparent_union__)) cds_lfs_stack_ptr_t;
#endif

static inline struct __cds_lfs_stack *__cds_lfs_stack_cast(struct __cds_lfs_stack *s)
{
	return s;
}

static inline struct cds_lfs_stack *cds_lfs_stack_cast(struct cds_lfs_stack *s)
{
	return s;
}

static inline void cds_lfs_node_init(struct cds_lfs_node *node)
{
	(void)node;
}

static inline void __cds_lfs_init(struct __cds_lfs_stack *s)
{
	s->head = NULL;
}

static inline void cds_lfs_init(struct cds_lfs_stack *s)
{
	s->head = NULL;
	if (pthread_mutex_init(&s->lock, NULL) != 0)
		abort();
}

static inline void cds_lfs_destroy(struct cds_lfs_stack *s)
{
	pthread_mutex_destroy(&s->lock);
}

static inline bool cds_lfs_empty(cds_lfs_stack_ptr_t s)
{
	return !uatomic_read(&s._s->head);
}

/* Returns whether the stack held something before. Bound: a try for each push or pop between. */
static inline bool cds_lfs_push(cds_lfs_stack_ptr_t s, struct cds_lfs_node *node)
{
	struct cds_lfs_head *below = uatomic_read(&s._s->head), *found;

	for (;;) {
		uatomic_set(&node->next, (struct cds_lfs_node *)below);
		found = uatomic_cmpxchg(&s._s->head, below, (struct cds_lfs_head *)node);
		if (found == below)
			return below != NULL;
		below = found;
	}
}

/* Bound: a try for each push or pop between. */
static inline struct cds_lfs_node *__cds_lfs_pop(cds_lfs_stack_ptr_t s)
{
	struct cds_lfs_head *top = __atomic_load_n(&s._s->head, __ATOMIC_ACQUIRE), *found;

	while (top) {
		found = uatomic_cmpxchg(&s._s->head, top,
					(struct cds_lfs_head *)uatomic_read(&top->node.next));
		if (found == top)
			return &top->node;
		top = found;
	}
	return NULL;
}

static inline struct cds_lfs_head *__cds_lfs_pop_all(cds_lfs_stack_ptr_t s)
{
	return uatomic_xchg(&s._s->head, (struct cds_lfs_head *)NULL);
}

static inline void cds_lfs_pop_lock(struct cds_lfs_stack *s)
{
	if (pthread_mutex_lock(&s->lock) != 0)
		abort();
}

static inline void cds_lfs_pop_unlock(struct cds_lfs_stack *s)
{
	if (pthread_mutex_unlock(&s->lock) != 0)
		abort();
}

static inline struct cds_lfs_node *cds_lfs_pop_blocking(struct cds_lfs_stack *s)
{
	struct cds_lfs_node *node;

	cds_lfs_pop_lock(s);
	node = __cds_lfs_pop(s);
	cds_lfs_pop_unlock(s);
	return node;
}

static inline struct cds_lfs_head *cds_lfs_pop_all_blocking(struct cds_lfs_stack *s)
{
	struct cds_lfs_head *head;

	cds_lfs_pop_lock(s);
	head = __cds_lfs_pop_all(s);
	cds_lfs_pop_unlock(s);
	return head;
}

/* Iteration over what pop_all returned, from the top. */
#define cds_lfs_for_each(__head, __node) \
	for (__node = (__head) ? &(__head)->node : NULL; __node; __node = __node->next)
/* The current node may be freed or used again: @__n holds its successor. */
#define cds_lfs_for_each_safe(__head, __node, __n)                                          \
	for (__node = (__head) ? &(__head)->node : NULL; __node && (__n = __node->next, 1); \
	     __node = __n)

#ifdef __cplusplus
}
#endif

#endif
