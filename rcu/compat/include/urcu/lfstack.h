/* SPDX-License-Identifier: MIT */
/*
 * Stack with lock-free push and pop and wait-free pop_all, under liburcu's names: lull/rcu/stack.h
 * does the work and says what each function guarantees.
 *
 * pop must not find at the top a node that was taken and pushed again meanwhile: callers hold the
 * stack's lock, or, for the functions that begin with __, are the only one that pops, or pop within
 * an RCU section and let a grace period pass before a node is used again.
 */
#ifndef LULL_URCU_LFSTACK_H
#define LULL_URCU_LFSTACK_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <urcu/compiler.h>
#include <urcu/pointer.h>
#include <urcu/uatomic.h>

#include "lull/rcu/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfs_node {
	__extension__ union {
		struct cds_lfs_node *next;
		struct rcu_stack_node lull;
	};
};

struct cds_lfs_head {
	struct cds_lfs_node node;
};

struct __cds_lfs_stack {
	__extension__ union {
		struct cds_lfs_head *head;
		struct rcu_stack lull;
	};
};

struct cds_lfs_stack {
	__extension__ union {
		struct cds_lfs_head *head;
		struct rcu_stack lull;
	};
	pthread_mutex_t lock;
};

#ifdef __cplusplus
}

/* Made from a pointer to either kind of stack, as C's transparent unions are. */
struct cds_lfs_stack_ptr_t {
	struct rcu_stack *lull;
	cds_lfs_stack_ptr_t(struct __cds_lfs_stack *stack) : lull(&stack->lull)
	{
	}
	cds_lfs_stack_ptr_t(struct cds_lfs_stack *stack) : lull(&stack->lull)
	{
	}
};

struct cds_lfs_stack_const_ptr_t {
	const struct rcu_stack *lull;
	cds_lfs_stack_const_ptr_t(const struct __cds_lfs_stack *stack) : lull(&stack->lull)
	{
	}
	cds_lfs_stack_const_ptr_t(const struct cds_lfs_stack *stack) : lull(&stack->lull)
	{
	}
};

static inline cds_lfs_stack_ptr_t cds_lfs_stack_cast(struct __cds_lfs_stack *s)
{
	return s;
}

static inline cds_lfs_stack_ptr_t cds_lfs_stack_cast(struct cds_lfs_stack *s)
{
	return s;
}

static inline cds_lfs_stack_const_ptr_t cds_lfs_stack_const_cast(const struct __cds_lfs_stack *s)
{
	return s;
}

static inline cds_lfs_stack_const_ptr_t cds_lfs_stack_const_cast(const struct cds_lfs_stack *s)
{
	return s;
}

extern "C" {
#else
typedef union {
	struct __cds_lfs_stack *_s;
	struct cds_lfs_stack *s;
	struct rcu_stack *lull;
} __attribute__((__transparent_union__)) cds_lfs_stack_ptr_t;

typedef union {
	const struct __cds_lfs_stack *_s;
	const struct cds_lfs_stack *s;
	const struct rcu_stack *lull;
} __attribute__((__transparent_union__)) cds_lfs_stack_const_ptr_t;

static inline struct cds_lfs_stack *cds_lfs_stack_cast(struct cds_lfs_stack *s)
{
	return s;
}
#endif

static inline struct __cds_lfs_stack *__cds_lfs_stack_cast(struct __cds_lfs_stack *s)
{
	return s;
}

static inline void cds_lfs_node_init(struct cds_lfs_node *node)
{
	(void)node;
}

static inline void __cds_lfs_init(struct __cds_lfs_stack *s)
{
	rcu_stack_init(&s->lull);
}

static inline void cds_lfs_init(struct cds_lfs_stack *s)
{
	rcu_stack_init(&s->lull);
	if (pthread_mutex_init(&s->lock, NULL) != 0)
		abort();
}

static inline void cds_lfs_destroy(struct cds_lfs_stack *s)
{
	pthread_mutex_destroy(&s->lock);
}

static inline bool cds_lfs_empty(cds_lfs_stack_const_ptr_t s)
{
	return rcu_stack_empty(s.lull) != 0;
}

/* Returns whether the stack held something before. */
static inline bool cds_lfs_push(cds_lfs_stack_ptr_t s, struct cds_lfs_node *node)
{
	return rcu_stack_push(s.lull, &node->lull) != 0;
}

static inline struct cds_lfs_node *__cds_lfs_pop(cds_lfs_stack_ptr_t s)
{
	return (struct cds_lfs_node *)rcu_stack_pop(s.lull);
}

static inline struct cds_lfs_head *__cds_lfs_pop_all(cds_lfs_stack_ptr_t s)
{
	return (struct cds_lfs_head *)rcu_stack_pop_all(s.lull);
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
static inline struct cds_lfs_node *cds_lfs_first_(struct cds_lfs_head *head)
{
	return head ? &head->node : NULL;
}

static inline struct cds_lfs_node *cds_lfs_next_(const struct cds_lfs_node *node)
{
	return (struct cds_lfs_node *)rcu_stack_next(&node->lull);
}

#define cds_lfs_for_each(__head, __node) \
	for (__node = cds_lfs_first_(__head); __node; __node = cds_lfs_next_(__node))
/* The current node may be freed or used again: @__n holds its successor. */
#define cds_lfs_for_each_safe(__head, __node, __n)                                        \
	for (__node = cds_lfs_first_(__head); __node && (__n = cds_lfs_next_(__node), 1); \
	     __node = __n)

#ifdef __cplusplus
}
#endif

#endif
