/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked circular lists that readers follow while an updater changes them.
 *
 * An entry embeds a struct rcu_list_node, and rcu_entry() leads from that node to the entry.
 * Readers are in a read-side critical section of some flavour. Updaters exclude each other, by a
 * lock or by being one thread.
 *
 * States of a node:
 *
 *	private --add, replace--> listed --del, replace--> leaving --grace period--> private
 *
 * A leaving node keeps its forward link, so a reader that is on it goes on into the list. Until
 * the grace period has ended the node must not be freed, changed or added to any list.
 *
 * Which threads write and read each word:
 *	next		written by the updater; followed by readers
 *	previous	written and read by the updater; NULL while the node is leaving, so that
 *			deleting it twice crashes
 *
 * Barrier pairs:
 *	[list.publish:A]	entry before the link to it	[list.follow:A]
 *
 * What a reader sees: each entry that is in the list during all of its walk, exactly once, in
 * order; others once or not at all.
 *
 * Progress: everything is wait-free; a walk takes as many steps as it meets entries.
 * Left out: moving a node to another list without a grace period (a reader on the node would get
 * into the other list and never meet the end of its own), and readers that walk backwards.
 * Paper: T 6.2.3 (figure 6.3), 6.2.4 (equation 6.2).
 */
#ifndef LULL_RCU_LIST_H
#define LULL_RCU_LIST_H

#include "lull/rcu/entry.h"
#include "lull/rcu/pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_list_node - An entry's place in a list.
 * @next: the next entry's node, or the list's head; it belongs to the library.
 * @previous: the previous entry's node, or the list's head; it belongs to the library.
 */
struct rcu_list_node {
	struct rcu_list_node *next;
	struct rcu_list_node *previous;
};

/**
 * struct rcu_list - A list.
 * @head: the node before the first entry and behind the last.
 */
struct rcu_list {
	struct rcu_list_node head;
};

/* clang-format off */
/**
 * RCU_LIST_INIT() - Initializer of an empty list.
 * @name: the variable that is initialized.
 */
#define RCU_LIST_INIT(name) { { &(name).head, &(name).head } }
/* clang-format on */

/**
 * rcu_list_init() - Make a list empty.
 * @list: no reader may know it yet.
 *
 * Context: any. Progress: wait-free.
 */
static inline void rcu_list_init(struct rcu_list *list)
{
	list->head.next = &list->head;
	list->head.previous = &list->head;
}

/* Lets readers that come from @node go to @next. */
static inline void rcu_list_publish(struct rcu_list_node *node, struct rcu_list_node *next)
{
	/*
	 * [list.publish:A] release. Pairs with [list.follow:A].
	 * Orders: the writes of the entry and of its forward link before the link that leads
	 * readers to it.
	 * Else: a reader reads an entry that is not yet written, or follows a forward link that is
	 * not yet written and so leaves the list.
	 */
	rcu_assign_pointer(node->next, next);
}

/* The node to which a reader goes from @node. */
static inline struct rcu_list_node *rcu_list_follow(const struct rcu_list_node *node)
{
	/*
	 * [list.follow:A] consume. Pairs with [list.publish:A].
	 * Orders: the read of the link before the reads of the entry to which it leads.
	 * Else: a reader reads an entry that is not yet written, or follows a forward link that is
	 * not yet written and so leaves the list.
	 */
	return rcu_dereference(node->next);
}

static inline void rcu_list_insert(struct rcu_list_node *node, struct rcu_list_node *before,
				   struct rcu_list_node *after)
{
	node->next = after;
	node->previous = before;
	after->previous = node;
	rcu_list_publish(before, node);
}

/**
 * rcu_list_add() - Add an entry as the first.
 * @node: the entry's node, which is private.
 * @list: the list.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: what was written to the entry before is seen by readers that find it.
 * Paper: T 6.2.4.
 */
static inline void rcu_list_add(struct rcu_list_node *node, struct rcu_list *list)
{
	rcu_list_insert(node, &list->head, list->head.next);
}

/**
 * rcu_list_add_tail() - Add an entry as the last.
 * @node: the entry's node, which is private.
 * @list: the list.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_list_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_list_add_tail(struct rcu_list_node *node, struct rcu_list *list)
{
	rcu_list_insert(node, list->head.previous, &list->head);
}

/**
 * rcu_list_add_after() - Add an entry behind another.
 * @node: the entry's node, which is private.
 * @position: node of an entry that is in the list.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_list_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_list_add_after(struct rcu_list_node *node, struct rcu_list_node *position)
{
	rcu_list_insert(node, position, position->next);
}

/**
 * rcu_list_add_before() - Add an entry in front of another.
 * @node: the entry's node, which is private.
 * @position: node of an entry that is in the list.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_list_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_list_add_before(struct rcu_list_node *node, struct rcu_list_node *position)
{
	rcu_list_insert(node, position->previous, position);
}

/**
 * rcu_list_del() - Take an entry out.
 * @node: the entry's node.
 *
 * Readers that are on the entry, or reach it by a link that they read before, go on to its
 * successor. Free or reuse the entry after a grace period: by synchronize_rcu() or call_rcu().
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Paper: T 6.2.3, figure 6.3.
 */
static inline void rcu_list_del(struct rcu_list_node *node)
{
	node->next->previous = node->previous;
	rcu_list_publish(node->previous, node->next);
	node->previous = NULL;
}

/**
 * rcu_list_replace() - Put an entry into the place of another.
 * @old: node of the entry that leaves. Free or reuse that entry after a grace period.
 * @node: node of the entry that comes, which is private.
 *
 * Readers meet one of the two: the copy and update that give RCU its name.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_list_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_list_replace(struct rcu_list_node *old, struct rcu_list_node *node)
{
	rcu_list_insert(node, old->previous, old->next);
	old->previous = NULL;
}

/**
 * rcu_list_splice() - Publish all entries of a private list at once.
 * @from: a list that no reader knows; it is empty afterwards.
 * @to: the list in which the entries come first, in their order.
 *
 * A reader that begins its walk meets all of them, or none.
 *
 * Context: the updater of both; readers may walk @to. Progress: wait-free.
 * Ordering: as rcu_list_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_list_splice(struct rcu_list *from, struct rcu_list *to)
{
	struct rcu_list_node *first = from->head.next, *last = from->head.previous;

	if (first == &from->head)
		return;
	last->next = to->head.next;
	first->previous = &to->head;
	to->head.next->previous = last;
	rcu_list_publish(&to->head, first);
	rcu_list_init(from);
}

/**
 * rcu_list_first() - The first entry.
 * @list: the list.
 *
 * The function reads one link. A reader that called rcu_list_empty() before could find the list
 * empty afterwards.
 *
 * Context: read-side critical section, or the updater. Progress: wait-free.
 * Ordering: as rcu_dereference().
 * Return: the first entry's node; NULL when the list is empty.
 */
static inline struct rcu_list_node *rcu_list_first(const struct rcu_list *list)
{
	struct rcu_list_node *first = rcu_list_follow(&list->head);

	return first == &list->head ? NULL : first;
}

/**
 * rcu_list_empty() - Whether a list is empty.
 * @list: the list.
 *
 * Context: any; for any thread but the updater, the answer may be out of date.
 * Progress: wait-free.
 * Return: not 0 when the list is empty.
 */
static inline int rcu_list_empty(const struct rcu_list *list)
{
	return rcu_list_follow(&list->head) == &list->head;
}

/**
 * rcu_list_for_each_rcu() - Walk a list as a reader.
 * @node: loop variable, const struct rcu_list_node *; unspecified behind the loop.
 * @list: the list.
 *
 * Context: read-side critical section, the whole walk in one.
 * Progress: wait-free, one step for each entry it meets.
 * Ordering: each step as rcu_dereference().
 * Paper: T 6.2.3.
 */
#define rcu_list_for_each_rcu(node, list)                                      \
	for ((node) = rcu_list_follow(&(list)->head); (node) != &(list)->head; \
	     (node) = rcu_list_follow(node))

/**
 * rcu_list_for_each_entry_rcu() - Walk the entries of a list as a reader.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @list: the list; evaluated once.
 * @member: name of the node in the entry.
 *
 * Context: read-side critical section, the whole walk in one.
 * Progress: wait-free, one step for each entry it meets.
 * Ordering: each step as rcu_dereference().
 * Paper: T 6.2.3.
 */
#define rcu_list_for_each_entry_rcu(entry, list, member)                                           \
	for (struct rcu_list_node *rcu_end_ = &(list)->head, *rcu_at_ = rcu_list_follow(rcu_end_); \
	     rcu_at_ != rcu_end_ &&                                                                \
	     ((entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1);                      \
	     rcu_at_ = rcu_list_follow(rcu_at_))

/**
 * rcu_list_for_each() - Walk a list as its updater.
 * @node: loop variable, struct rcu_list_node *; unspecified behind the loop.
 * @list: the list.
 *
 * The body may delete the entry that the walk is at, but not free or reuse it.
 *
 * Context: the updater. Progress: wait-free, one step for each entry.
 */
#define rcu_list_for_each(node, list) \
	for ((node) = (list)->head.next; (node) != &(list)->head; (node) = (node)->next)

/**
 * rcu_list_for_each_entry() - Walk the entries of a list as its updater.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @list: the list; evaluated once.
 * @member: name of the node in the entry.
 *
 * The next entry is read before the body runs. So the body may delete the entry that the walk is
 * at, and free that entry after a grace period, but not delete the next entry; and the body may add
 * entries anywhere.
 *
 * Context: the updater. Progress: wait-free, one step for each entry.
 */
#define rcu_list_for_each_entry(entry, list, member)                                    \
	for (struct rcu_list_node *rcu_end_ = &(list)->head, *rcu_at_ = rcu_end_->next, \
				  *rcu_next_ = rcu_at_->next;                           \
	     rcu_at_ != rcu_end_ &&                                                     \
	     ((entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1);           \
	     rcu_at_ = rcu_next_, rcu_next_ = rcu_at_->next)

/**
 * rcu_list_for_each_entry_reverse() - Walk the entries of a list backwards, as its updater.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @list: the list; evaluated once.
 * @member: name of the node in the entry.
 *
 * The walk is that of rcu_list_for_each_entry(), from the last entry to the first.
 *
 * Context: the updater. Progress: wait-free, one step for each entry.
 */
#define rcu_list_for_each_entry_reverse(entry, list, member)                                \
	for (struct rcu_list_node *rcu_end_ = &(list)->head, *rcu_at_ = rcu_end_->previous, \
				  *rcu_next_ = rcu_at_->previous;                           \
	     rcu_at_ != rcu_end_ &&                                                         \
	     ((entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1);               \
	     rcu_at_ = rcu_next_, rcu_next_ = rcu_at_->previous)

#ifdef __cplusplus
}
#endif

#endif
