/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked list that RCU readers follow forward while one updater changes it.
 *
 * An element becomes visible by one store, the forward link to it; one that is removed keeps its
 * own forward link, so that a reader who stands on it finds the way back. Its memory is free
 * for use after a grace period. Updaters exclude each other. Paper: T 6.2.3 (figure 6.3).
 */
#ifndef LULL_URCU_RCULIST_H
#define LULL_URCU_RCULIST_H

#include <urcu/list.h>
#include <urcu/pointer.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void cds_list_add_rcu(struct cds_list_head *newp, struct cds_list_head *head)
{
	struct cds_list_head *after = head->next;

	newp->next = after;
	newp->prev = head;
	rcu_assign_pointer(head->next, newp);
	after->prev = newp;
}

static inline void cds_list_add_tail_rcu(struct cds_list_head *newp, struct cds_list_head *head)
{
	cds_list_add_rcu(newp, head->prev);
}

static inline void cds_list_replace_rcu(struct cds_list_head *old, struct cds_list_head *_new)
{
	_new->next = old->next;
	_new->prev = old->prev;
	rcu_assign_pointer(_new->prev->next, _new);
	_new->next->prev = _new;
}

static inline void cds_list_del_rcu(struct cds_list_head *elem)
{
	elem->next->prev = elem->prev;
	CMM_STORE_SHARED(elem->prev->next, elem->next);
}

#define cds_list_for_each_rcu(pos, head) \
	for (pos = rcu_dereference((head)->next); pos != (head); pos = rcu_dereference(pos->next))
#define cds_list_for_each_entry_rcu(pos, head, member)                                           \
	for (pos = cds_list_entry(rcu_dereference((head)->next), __typeof__(*(pos)), member);    \
	     &(pos)->member != (head); pos = cds_list_entry(rcu_dereference((pos)->member.next), \
							    __typeof__(*(pos)), member))

#ifdef __cplusplus
}
#endif

#endif
