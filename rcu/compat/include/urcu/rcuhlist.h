/* SPDX-License-Identifier: MIT */
/*
 * The list of urcu/hlist.h, for RCU readers that follow it while one updater changes it.
 *
 * As in urcu/rculist.h: one store makes an element visible, and a removed one keeps its link.
 */
#ifndef LULL_URCU_RCUHLIST_H
#define LULL_URCU_RCUHLIST_H

#include <urcu/hlist.h>
#include <urcu/pointer.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void cds_hlist_add_head_rcu(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
	newp->next = head->next;
	newp->prev = (struct cds_hlist_node *)head;
	if (newp->next)
		newp->next->prev = newp;
	rcu_assign_pointer(head->next, newp);
}

static inline void cds_hlist_del_rcu(struct cds_hlist_node *elem)
{
	if (elem->next)
		elem->next->prev = elem->prev;
	CMM_STORE_SHARED(*cds_hlist_link_(elem), elem->next);
}

#define cds_hlist_for_each_rcu(pos, head) \
	for (pos = rcu_dereference((head)->next); pos; pos = rcu_dereference(pos->next))
#define cds_hlist_for_each_entry_rcu(entry, pos, head, member)                       \
	for (pos = rcu_dereference((head)->next);                                    \
	     pos && (entry = cds_hlist_entry(pos, __typeof__(*(entry)), member), 1); \
	     pos = rcu_dereference(pos->next))
#define cds_hlist_for_each_entry_rcu_2(entry, head, member)                        \
	for (CDS_HLIST_STEP_(entry, rcu_dereference((head)->next), member); entry; \
	     CDS_HLIST_STEP_(entry, rcu_dereference((entry)->member.next), member))

#ifdef __cplusplus
}
#endif

#endif
