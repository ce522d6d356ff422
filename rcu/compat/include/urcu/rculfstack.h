/* SPDX-License-Identifier: MIT */
/*
 * The stack of urcu/lfstack.h in its old form, for callers in RCU sections only.
 *
 * A popped node is used again after a grace period.
 */
#ifndef LULL_URCU_RCULFSTACK_H
#define LULL_URCU_RCULFSTACK_H

#include <urcu/lfstack.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cds_lfs_node_rcu {
	struct cds_lfs_node_rcu *next;
};

struct cds_lfs_stack_rcu {
	struct cds_lfs_node_rcu *head;
};

static inline void cds_lfs_node_init_rcu(struct cds_lfs_node_rcu *node)
{
	(void)node;
}

static inline void cds_lfs_init_rcu(struct cds_lfs_stack_rcu *s)
{
	s->head = NULL;
}

/* Returns whether the stack held something before. */
static inline int cds_lfs_push_rcu(struct cds_lfs_stack_rcu *s, struct cds_lfs_node_rcu *node)
{
	return cds_lfs_push((struct __cds_lfs_stack *)s, (struct cds_lfs_node *)node);
}

static inline struct cds_lfs_node_rcu *cds_lfs_pop_rcu(struct cds_lfs_stack_rcu *s)
{
	return (struct cds_lfs_node_rcu *)__cds_lfs_pop((struct __cds_lfs_stack *)s);
}

#ifdef __cplusplus
}
#endif

#endif
