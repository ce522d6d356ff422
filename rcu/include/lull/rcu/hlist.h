/* SPDX-License-Identifier: MIT */
/*
 * Lists with one word for a head: the chains of hash tables whose size is fixed.
 *
 * These lists are like those of lull/rcu/list.h, but not circular: the last entry leads to NULL,
 * and the head knows only the first entry. A table of such heads is half as large, which is what
 * counts when most chains have no entry or one.
 *
 * States of a node:
 *
 *	private --add, replace--> listed --del, replace--> leaving --grace period--> private
 *
 * A leaving node keeps its forward link, so a reader that is on it goes on into the chain.
 *
 * Which threads write and read each word (updaters exclude each other, by a lock or by being one
 * thread):
 *	first, next	written by the updater; followed by readers
 *	link		written and read by the updater: the address of the pointer that leads to
 *			this node; NULL while the node is leaving, so that deleting it twice crashes
 *
 * Barrier pairs:
 *	[hlist.publish:A]	entry before the link to it	[hlist.follow:A]
 *
 * What a reader sees: each entry that is in the chain during all of its walk, exactly once, in
 * order; others once or not at all.
 *
 * Progress: everything is wait-free; a walk takes as many steps as it meets entries.
 * Paper: T 6.2.3 (figure 6.3), 6.2.4 (equation 6.2).
 */
#ifndef LULL_RCU_HLIST_H
#define LULL_RCU_HLIST_H

#include "lull/rcu/entry.h"
#include "lull/rcu/pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_hlist_node - An entry's place in a chain.
 * @next: the next entry's node, or NULL; it belongs to the library.
 * @link: the address of the pointer that leads to this node; it belongs to the library.
 */
struct rcu_hlist_node {
	struct rcu_hlist_node *next;
	struct rcu_hlist_node **link;
};

/**
 * struct rcu_hlist - A chain. All zeroes is an empty one.
 * @first: the first entry's node, or NULL.
 */
struct rcu_hlist {
	struct rcu_hlist_node *first;
};

/* clang-format off */
/**
 * RCU_HLIST_INIT - Initializer of an empty chain.
 */
#define RCU_HLIST_INIT { NULL }
/* clang-format on */

/**
 * rcu_hlist_init() - Make a chain empty.
 * @list: no reader may know it yet.
 *
 * Context: any. Progress: wait-free.
 */
static inline void rcu_hlist_init(struct rcu_hlist *list)
{
	list->first = NULL;
}

/* Lets readers that come by @link go to @next. */
static inline void rcu_hlist_publish(struct rcu_hlist_node **link, struct rcu_hlist_node *next)
{
	/*
	 * [hlist.publish:A] release. Pairs with [hlist.follow:A].
	 * Orders: the writes of the entry and of its forward link before the link that leads
	 * readers to it.
	 * Else: a reader reads an entry that is not yet written, or follows a forward link that is
	 * not yet written and so leaves the chain.
	 */
	rcu_assign_pointer(*link, next);
}

/* The node to which a reader goes by @link. */
static inline struct rcu_hlist_node *rcu_hlist_follow(struct rcu_hlist_node *const *link)
{
	/*
	 * [hlist.follow:A] consume. Pairs with [hlist.publish:A].
	 * Orders: the read of the link before the reads of the entry to which it leads.
	 * Else: a reader reads an entry that is not yet written, or follows a forward link that is
	 * not yet written and so leaves the chain.
	 */
	return rcu_dereference(*link);
}

static inline void rcu_hlist_insert(struct rcu_hlist_node *node, struct rcu_hlist_node **link,
				    struct rcu_hlist_node *next)
{
	node->next = next;
	node->link = link;
	if (next)
		next->link = &node->next;
	rcu_hlist_publish(link, node);
}

/**
 * rcu_hlist_add() - Add an entry as the first.
 * @node: the entry's node, which is private.
 * @list: the chain.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: what was written to the entry before is seen by readers that find it.
 * Paper: T 6.2.4.
 */
static inline void rcu_hlist_add(struct rcu_hlist_node *node, struct rcu_hlist *list)
{
	rcu_hlist_insert(node, &list->first, list->first);
}

/**
 * rcu_hlist_add_after() - Add an entry behind another.
 * @node: the entry's node, which is private.
 * @position: node of an entry that is in the chain.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_hlist_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_hlist_add_after(struct rcu_hlist_node *node, struct rcu_hlist_node *position)
{
	rcu_hlist_insert(node, &position->next, position->next);
}

/**
 * rcu_hlist_add_before() - Add an entry in front of another.
 * @node: the entry's node, which is private.
 * @position: node of an entry that is in the chain.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_hlist_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_hlist_add_before(struct rcu_hlist_node *node,
					struct rcu_hlist_node *position)
{
	rcu_hlist_insert(node, position->link, position);
}

/**
 * rcu_hlist_del() - Take an entry out.
 * @node: the entry's node.
 *
 * Readers that are on the entry, or reach it by a link that they read before, go on to its
 * successor. Free or reuse the entry after a grace period: by synchronize_rcu() or call_rcu().
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Paper: T 6.2.3, figure 6.3.
 */
static inline void rcu_hlist_del(struct rcu_hlist_node *node)
{
	struct rcu_hlist_node *next = node->next;

	if (next)
		next->link = node->link;
	rcu_hlist_publish(node->link, next);
	node->link = NULL;
}

/**
 * rcu_hlist_replace() - Put an entry into the place of another.
 * @old: node of the entry that leaves. Free or reuse that entry after a grace period.
 * @node: node of the entry that comes, which is private.
 *
 * Readers meet one of the two.
 *
 * Context: updaters, one at a time; readers may walk. Progress: wait-free.
 * Ordering: as rcu_hlist_add().
 * Paper: T 6.2.4.
 */
static inline void rcu_hlist_replace(struct rcu_hlist_node *old, struct rcu_hlist_node *node)
{
	rcu_hlist_insert(node, old->link, old->next);
	old->link = NULL;
}

/**
 * rcu_hlist_first() - The first entry.
 * @list: the chain.
 *
 * Context: read-side critical section, or the updater. Progress: wait-free.
 * Ordering: as rcu_dereference().
 * Return: the first entry's node; NULL when the chain is empty.
 */
static inline struct rcu_hlist_node *rcu_hlist_first(const struct rcu_hlist *list)
{
	return rcu_hlist_follow(&list->first);
}

/**
 * rcu_hlist_empty() - Whether a chain is empty.
 * @list: the chain.
 *
 * Context: any; for any thread but the updater, the answer may be out of date.
 * Progress: wait-free.
 * Return: not 0 when the chain is empty.
 */
static inline int rcu_hlist_empty(const struct rcu_hlist *list)
{
	return rcu_hlist_follow(&list->first) == NULL;
}

/**
 * rcu_hlist_for_each_rcu() - Walk a chain as a reader.
 * @node: loop variable, struct rcu_hlist_node *; NULL behind a loop that was not left.
 * @list: the chain; evaluated once.
 *
 * Context: read-side critical section, the whole walk in one.
 * Progress: wait-free, one step for each entry it meets.
 * Ordering: each step as rcu_dereference().
 * Paper: T 6.2.3.
 */
#define rcu_hlist_for_each_rcu(node, list)                      \
	for ((node) = rcu_hlist_follow(&(list)->first); (node); \
	     (node) = rcu_hlist_follow(&(node)->next))

/**
 * rcu_hlist_for_each_entry_rcu() - Walk the entries of a chain as a reader.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @list: the chain; evaluated once.
 * @member: name of the node in the entry.
 *
 * Context: read-side critical section, the whole walk in one.
 * Progress: wait-free, one step for each entry it meets.
 * Ordering: each step as rcu_dereference().
 * Paper: T 6.2.3.
 */
#define rcu_hlist_for_each_entry_rcu(entry, list, member)                                \
	for (struct rcu_hlist_node *rcu_at_ = rcu_hlist_follow(&(list)->first);          \
	     rcu_at_ && ((entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1); \
	     rcu_at_ = rcu_hlist_follow(&rcu_at_->next))

/**
 * rcu_hlist_for_each() - Walk a chain as its updater.
 * @node: loop variable, struct rcu_hlist_node *; NULL behind a loop that was not left.
 * @list: the chain; evaluated once.
 *
 * The body may delete the entry that the walk is at, but not free or reuse it.
 *
 * Context: the updater. Progress: wait-free, one step for each entry.
 */
#define rcu_hlist_for_each(node, list) for ((node) = (list)->first; (node); (node) = (node)->next)

/**
 * rcu_hlist_for_each_entry() - Walk the entries of a chain as its updater.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @list: the chain; evaluated once.
 * @member: name of the node in the entry.
 *
 * The next entry is read before the body runs. So the body may delete the entry that the walk is
 * at, and free that entry after a grace period, but not delete the next entry; and the body may add
 * entries anywhere.
 *
 * Context: the updater. Progress: wait-free, one step for each entry.
 */
#define rcu_hlist_for_each_entry(entry, list, member)                                   \
	for (struct rcu_hlist_node *rcu_at_ = (list)->first, *rcu_next_;                \
	     rcu_at_ && (rcu_next_ = rcu_at_->next,                                     \
			(entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1); \
	     rcu_at_ = rcu_next_)

#ifdef __cplusplus
}
#endif

#endif
