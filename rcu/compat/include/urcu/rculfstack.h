/* SPDX-License-Identifier: MIT */
/*
 * The stack of urcu/lfstack.h in its old form, for callers in RCU sections only: lull/rcu/stack.h
 * does the work. A popped node is used again after a grace period.
 */
#ifndef LULL_URCU_RCULFSTACK_H
#define LULL_URCU_RCULFSTACK_H

#include <urcu/lfstack.h>

#include "lull/rcu/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfs_node_rcu {
	__extension__ union {
		struct cds_lfs_node_rcu *next;
		struct rcu_stack_node lull;
	};
};

struct cds_lfs_stack_rcu {
	__extension__ union {
		struct cds_lfs_node_rcu *head;
		struct rcu_stack lull;
	};
};

static inline void cds_lfs_node_init_rcu(struct cds_lfs_node_rcu *node)
{
	(void)node;
}

static inline void cds_lfs_init_rcu(struct cds_lfs_stack_rcu *s)
{
	rcu_stack_init(&s->lull);
}

/* Returns whether the stack held something before. */
static inline int cds_lfs_push_rcu(struct cds_lfs_stack_rcu *s, struct cds_lfs_node_rcu *node)
{
	return rcu_stack_push(&s->lull, &node->lull);
}

static inline struct cds_lfs_node_rcu *cds_lfs_pop_rcu(struct cds_lfs_stack_rcu *s)
{
	return (struct cds_lfs_node_rcu *)rcu_stack_pop(&s->lull);
}

#ifdef __cplusplus
}
#endif

#endif
