/* SPDX-License-Identifier: MIT */
/*
 * List whose head is one word, for the buckets of hash tables, under liburcu's names. The last
 * element's link is null. Readers and updaters exclude each other; see urcu/rcuhlist.h.
 */
#ifndef LULL_URCU_HLIST_H
#define LULL_URCU_HLIST_H

#include <stddef.h>

#include <urcu/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cds_hlist_node {
	struct cds_hlist_node *next;
	struct cds_hlist_node *prev; /* of the first: its head, which begins as a node does */
};

struct cds_hlist_head {
	struct cds_hlist_node *next;
};

#define CDS_HLIST_HEAD_INIT(name) \
	{                         \
		NULL              \
	}
#define CDS_HLIST_HEAD(name) struct cds_hlist_head name = CDS_HLIST_HEAD_INIT(name)

static inline void CDS_INIT_HLIST_HEAD(struct cds_hlist_head *ptr)
{
	ptr->next = NULL;
}

/* The link to an element, in the one before it or in the head: as neither of the two types. */
static inline struct cds_hlist_node **cds_hlist_link_(struct cds_hlist_node *elem)
{
	return (struct cds_hlist_node **)elem->prev;
}

#define cds_hlist_entry(ptr, type, member) caa_container_of(ptr, type, member)
#define cds_hlist_entry_safe(ptr, type, member) caa_container_of_check_null(ptr, type, member)

static inline void cds_hlist_add_head(struct cds_hlist_node *newp, struct cds_hlist_head *head)
{
	newp->next = head->next;
	newp->prev = (struct cds_hlist_node *)head;
	if (newp->next)
		newp->next->prev = newp;
	head->next = newp;
}

static inline void cds_hlist_del(struct cds_hlist_node *elem)
{
	if (elem->next)
		elem->next->prev = elem->prev;
	*cds_hlist_link_(elem) = elem->next;
}

static inline int cds_hlist_empty(const struct cds_hlist_head *head)
{
	return !head->next;
}

#define cds_hlist_for_each(pos, head) for (pos = (head)->next; pos; pos = pos->next)
/* The safe forms allow the current element to be removed: they hold its successor. */
#define cds_hlist_for_each_safe(pos, p, head) \
	for (pos = (head)->next; pos && (p = pos->next, 1); pos = p)

/* Two forms: with the node's pointer at hand, and (_2) with that of the entry alone. */
#define cds_hlist_for_each_entry(entry, pos, head, member)                           \
	for (pos = (head)->next;                                                     \
	     pos && (entry = cds_hlist_entry(pos, __typeof__(*(entry)), member), 1); \
	     pos = pos->next)
#define cds_hlist_for_each_entry_safe(entry, pos, p, head, member)                           \
	for (pos = (head)->next;                                                             \
	     pos &&                                                                          \
	     (p = pos->next, entry = cds_hlist_entry(pos, __typeof__(*(entry)), member), 1); \
	     pos = p)

#define CDS_HLIST_STEP_(entry, from, member) \
	(entry = cds_hlist_entry_safe(from, __typeof__(*(entry)), member))
#define cds_hlist_for_each_entry_2(entry, head, member)           \
	for (CDS_HLIST_STEP_(entry, (head)->next, member); entry; \
	     CDS_HLIST_STEP_(entry, (entry)->member.next, member))
#define cds_hlist_for_each_entry_safe_2(entry, e, head, member)                                 \
	for (CDS_HLIST_STEP_(entry, (head)->next, member);                                      \
	     entry &&                                                                           \
	     (e = cds_hlist_entry_safe((entry)->member.next, __typeof__(*(entry)), member), 1); \
	     entry = e)

#ifdef __cplusplus
}
#endif

#endif
