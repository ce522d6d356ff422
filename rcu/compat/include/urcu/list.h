/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked circular list, under liburcu's names. Readers and updaters exclude each other;
 * urcu/rculist.h has the functions for readers that do not.
 */
#ifndef LULL_URCU_LIST_H
#define LULL_URCU_LIST_H

#include <urcu/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cds_list_head {
	struct cds_list_head *next, *prev;
};

#define CDS_LIST_HEAD_INIT(name) \
	{                        \
		&(name), &(name) \
	}
#define CDS_LIST_HEAD(name) struct cds_list_head name = CDS_LIST_HEAD_INIT(name)
#define CDS_INIT_LIST_HEAD(ptr) cds_list_join_((ptr), (ptr))

/* Makes two elements neighbours. */
static inline void cds_list_join_(struct cds_list_head *first, struct cds_list_head *second)
{
	first->next = second;
	second->prev = first;
}

static inline void cds_list_add(struct cds_list_head *newp, struct cds_list_head *head)
{
	cds_list_join_(newp, head->next);
	cds_list_join_(head, newp);
}

static inline void cds_list_add_tail(struct cds_list_head *newp, struct cds_list_head *head)
{
	cds_list_add(newp, head->prev);
}

static inline void __cds_list_del(struct cds_list_head *prev, struct cds_list_head *next)
{
	cds_list_join_(prev, next);
}

static inline void cds_list_del(struct cds_list_head *elem)
{
	cds_list_join_(elem->prev, elem->next);
}

static inline void cds_list_del_init(struct cds_list_head *elem)
{
	cds_list_del(elem);
	CDS_INIT_LIST_HEAD(elem);
}

static inline void cds_list_move(struct cds_list_head *elem, struct cds_list_head *head)
{
	cds_list_del(elem);
	cds_list_add(elem, head);
}

/* The new element takes the old one's place; a list's head can be replaced too. */
static inline void cds_list_replace(const struct cds_list_head *old, struct cds_list_head *_new)
{
	cds_list_join_(_new, old->next);
	cds_list_join_(old->prev, _new);
}

static inline int cds_list_empty(const struct cds_list_head *head)
{
	return head->next == head;
}

static inline void cds_list_replace_init(struct cds_list_head *old, struct cds_list_head *_new)
{
	if (cds_list_empty(old)) {
		CDS_INIT_LIST_HEAD(_new);
		return;
	}
	cds_list_replace(old, _new);
	CDS_INIT_LIST_HEAD(old);
}

/* Puts the elements of one list at the front of another; the first list's head is left as it is. */
static inline void cds_list_splice(struct cds_list_head *add, struct cds_list_head *head)
{
	if (cds_list_empty(add))
		return;
	cds_list_join_(add->prev, head->next);
	cds_list_join_(head, add->next);
}

#define cds_list_entry(ptr, type, member) caa_container_of(ptr, type, member)
#define cds_list_first_entry(ptr, type, member) cds_list_entry((ptr)->next, type, member)
#define cds_list_last_entry(ptr, type, member) cds_list_entry((ptr)->prev, type, member)

#define CDS_LIST_STEP_(pos, direction, member) \
	cds_list_entry((pos)->member.direction, __typeof__(*(pos)), member)
#define CDS_LIST_BEGIN_(pos, head, direction, member) \
	cds_list_entry((head)->direction, __typeof__(*(pos)), member)

#define cds_list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
#define cds_list_for_each_prev(pos, head) for (pos = (head)->prev; pos != (head); pos = pos->prev)

/* The safe forms allow the current element to be removed: they hold its successor in @p. */
#define cds_list_for_each_safe(pos, p, head) \
	for (pos = (head)->next, p = pos->next; pos != (head); pos = p, p = pos->next)
#define cds_list_for_each_prev_safe(pos, p, head) \
	for (pos = (head)->prev, p = pos->prev; pos != (head); pos = p, p = pos->prev)

#define cds_list_for_each_entry(pos, head, member)                                     \
	for (pos = CDS_LIST_BEGIN_(pos, head, next, member); &(pos)->member != (head); \
	     pos = CDS_LIST_STEP_(pos, next, member))
#define cds_list_for_each_entry_reverse(pos, head, member)                             \
	for (pos = CDS_LIST_BEGIN_(pos, head, prev, member); &(pos)->member != (head); \
	     pos = CDS_LIST_STEP_(pos, prev, member))
#define cds_list_for_each_entry_safe(pos, p, head, member)   \
	for (pos = CDS_LIST_BEGIN_(pos, head, next, member), \
	    p = CDS_LIST_STEP_(pos, next, member);           \
	     &(pos)->member != (head); pos = p, p = CDS_LIST_STEP_(p, next, member))
/* Goes on from @pos. */
#define cds_list_for_each_entry_safe_from(pos, p, head, member)               \
	for (p = CDS_LIST_STEP_(pos, next, member); &(pos)->member != (head); \
	     pos = p, p = CDS_LIST_STEP_(p, next, member))

#ifdef __cplusplus
}
#endif

#endif
