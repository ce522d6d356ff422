/* SPDX-License-Identifier: MIT */
/*
 * A hash table that many threads read and change at once while it grows and shrinks.
 *
 * One list holds all nodes, in an order in which each bucket is a run of it; buckets are words
 * that point into the list, so resizing adds and removes such words and moves no node. Lookups
 * take no lock and write nothing; updates are compare-and-swaps. Nodes live in the program's own
 * objects and are reclaimed after a grace period of the table's domain: call_rcu() on what
 * rcu_hash_del(), rcu_hash_replace() or rcu_hash_add_replace() took out.
 *
 * The thread that resizes tables is a reader too: wait for that grace period even where no other
 * thread of the program uses the table.
 *
 * Duty of the caller, in every call that takes a node or finds one: be within a read-side critical
 * section of the table's domain, also to update. Nodes stay valid until that section ends.
 * Design: docs/design/42-hash.md. Paper: T 6.2 (read-copy update), 6.4.5 (reclamation).
 */
#ifndef LULL_RCU_HASH_H
#define LULL_RCU_HASH_H

#include <stddef.h>
#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_hash_node - Room in an object for its place in a table.
 * @next: the library's: the next element's address and two tags, RCU_HASH_REMOVED of this node
 *	and RCU_HASH_BUCKET of the next.
 * @hash: the library's: what the node was added with. Does not change while it is in a table.
 */
struct rcu_hash_node {
	unsigned long next;
	unsigned long hash;
};

/* In a node's or bucket's word: it is not in the table any more. */
#define RCU_HASH_REMOVED 1UL
/* In a word: what it points to is a bucket's word, not a node; alone, the end of the list. */
#define RCU_HASH_BUCKET 2UL
#define RCU_HASH_TAGS 3UL

/**
 * struct rcu_hash - A table, as lookups see it; the rest is the library's.
 * @buckets: the words of the buckets; the array never moves.
 * @mask: the number of buckets, which is a power of two, less 1.
 * @counters: of nodes, one for each CPU; NULL if the table does not count.
 */
struct rcu_hash {
	unsigned long *buckets;
	unsigned long mask;
	struct rcu_hash_counter *counters;
};

/**
 * struct rcu_hash_iterator - Where a lookup or a walk is.
 * @node: the node found, or NULL.
 * @next: the library's: what followed it when it was found.
 */
struct rcu_hash_iterator {
	struct rcu_hash_node *node;
	unsigned long next;
};

/* The table grows and shrinks with the number of its nodes, by a thread of the library. */
#define RCU_HASH_AUTO_RESIZE 1UL
/* The table counts its nodes, as approximately as rcu_hash_count_estimate() says. */
#define RCU_HASH_ACCOUNTING 2UL

/**
 * struct rcu_hash_config - How a table begins and how far it may go.
 * @initial_buckets: at the beginning. 0: @minimum_buckets.
 * @minimum_buckets: never fewer. 0: 1.
 * @maximum_buckets: never more; address space for them is reserved. 0: as many as a quarter of the
 *	machine's memory holds.
 * @flags: RCU_HASH_AUTO_RESIZE, RCU_HASH_ACCOUNTING, or both.
 *
 * Numbers are rounded up to powers of two, and a quarter of the memory down.
 */
struct rcu_hash_config {
	unsigned long initial_buckets;
	unsigned long minimum_buckets;
	unsigned long maximum_buckets;
	unsigned long flags;
};

/* Whether a node, whose hash is the one looked for, has the key. Not 0: yes. */
typedef int rcu_hash_match(struct rcu_hash_node *node, const void *key);

/* The object that a node is in: rcu_hash_entry(node, struct session, node). */
#define rcu_hash_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* What follows is the list's, and here only so that lookups are inlined. */

/* Whether a comes after b in the list: by their lowest bits that differ. */
static inline int rcu_hash_after(unsigned long a, unsigned long b)
{
	unsigned long differ = a ^ b;

	return (differ & (0 - differ) & a) != 0;
}

/* Whether a word tagged RCU_HASH_BUCKET ends the run of a hash. Does not touch the bucket. */
static inline int rcu_hash_ends(const struct rcu_hash *table, unsigned long word,
				unsigned long hash)
{
	unsigned long bucket = word & ~RCU_HASH_TAGS;
	unsigned long index = (bucket - (unsigned long)table->buckets) / sizeof(unsigned long);

	return !bucket || rcu_hash_after(index, hash);
}

static inline unsigned long *rcu_hash_bucket(const struct rcu_hash *table, unsigned long hash)
{
	/*
	 * [hash.start:A] acquire. Pairs with [hash.grow:A].
	 * Orders: the number of buckets before the look into one of them.
	 * Else: a lookup starts at a bucket's word that is not written yet, and finds nothing.
	 */
	unsigned long mask = lull_mem_load_acquire(&table->mask);

	return &table->buckets[hash & mask];
}

/* From a word on, the first node of @hash that is not removed and matches. */
static inline struct rcu_hash_node *rcu_hash_walk(const struct rcu_hash *table, unsigned long next,
						  unsigned long hash, rcu_hash_match *match,
						  const void *key,
						  struct rcu_hash_iterator *iterator)
{
	/* Bound: the run of the hash's bucket, and what is added ahead meanwhile. */
	for (;;) {
		/* A node's address is that of its word, as a bucket's is. */
		struct rcu_hash_node *node = (struct rcu_hash_node *)(next & ~RCU_HASH_TAGS);
		unsigned long following, other;

		if (__builtin_expect((next & RCU_HASH_BUCKET) != 0, 0)) {
			if (__builtin_expect(rcu_hash_ends(table, next, hash), 1))
				break;
			next = lull_mem_load_acquire(&node->next); /* as [hash.walk:A] */
			continue;
		}
		/*
		 * [hash.walk:A] acquire.
		 * Pairs with [hash.add:A], [hash.replace:A], [hash.bucket:A].
		 * Orders: the word that leads to an element before the look into the element.
		 * Else: a reader sees a node before its hash and key are written.
		 */
		following = lull_mem_load_acquire(&node->next);
		other = lull_mem_load(&node->hash);
		if (__builtin_expect(other == hash, 1)) {
			if (__builtin_expect(!(following & RCU_HASH_REMOVED), 1) &&
			    match(node, key)) {
				iterator->node = node;
				iterator->next = following;
				return node;
			}
		} else if (rcu_hash_after(other, hash)) {
			break;
		}
		next = following;
	}
	iterator->node = NULL;
	iterator->next = RCU_HASH_BUCKET;
	return NULL;
}

/**
 * rcu_hash_lookup() - Find a node by its key.
 * @table: the table.
 * @hash: of the key. Its low bits choose the bucket: they should differ.
 * @match: called for nodes of this hash until it says yes.
 * @key: passed to @match.
 * @iterator: where to put what was found, for rcu_hash_next_duplicate().
 *
 * A node that was in the table from before the call until its return is found. A node that is
 * replaced meanwhile is found in its old form or its new one.
 *
 * Context: read-side critical section; in signal handlers too, where the flavour allows those.
 * Progress: wait-free: it never starts again, whatever updaters and resizing do. It passes the
 * nodes of one bucket, and those added ahead of it meanwhile.
 * Ordering: what was written before the node was added is seen.
 * Return: the node, which is also in @iterator; NULL if there is none.
 * Paper: T 6.2.4 (publication).
 */
static inline struct rcu_hash_node *rcu_hash_lookup(const struct rcu_hash *table,
						    unsigned long hash, rcu_hash_match *match,
						    const void *key,
						    struct rcu_hash_iterator *iterator)
{
	unsigned long *bucket = rcu_hash_bucket(table, hash);

	/* [hash.walk:A], in rcu_hash_walk(). */
	return rcu_hash_walk(table, lull_mem_load_acquire(bucket), hash, match, key, iterator);
}

/**
 * rcu_hash_next_duplicate() - Find the next node with the same key.
 * @table: the table.
 * @match: as given to rcu_hash_lookup().
 * @key: as given to rcu_hash_lookup().
 * @iterator: what that or this function found last; not one that found NULL.
 *
 * Newer duplicates come first. Those added after the lookup are not seen; nor is one that replaces
 * a node already returned.
 *
 * Context: the read-side critical section of the lookup.
 * Progress: wait-free.
 * Return: the node, which is also in @iterator; NULL if there is no other.
 */
static inline struct rcu_hash_node *rcu_hash_next_duplicate(const struct rcu_hash *table,
							    rcu_hash_match *match, const void *key,
							    struct rcu_hash_iterator *iterator)
{
	unsigned long hash = lull_mem_load(&iterator->node->hash);

	return rcu_hash_walk(table, iterator->next, hash, match, key, iterator);
}

/**
 * rcu_hash_prefetch() - Begin to load what a lookup will need first.
 * @table: the table.
 * @hash: of a key that will be looked up, added or deleted soon.
 *
 * For callers that know several keys at once: prefetch all, then look up each.
 *
 * Context: as rcu_hash_lookup(). Progress: wait-free.
 */
static inline void rcu_hash_prefetch(const struct rcu_hash *table, unsigned long hash)
{
	__builtin_prefetch(rcu_hash_bucket(table, hash));
}

/**
 * rcu_hash_is_deleted() - Whether a node was taken out of its table.
 * @node: a node that was added or prepared by rcu_hash_node_init_deleted().
 *
 * Context: read-side critical section, or the caller keeps the node otherwise.
 * Progress: wait-free.
 * Return: not 0 if it was deleted or replaced.
 */
static inline int rcu_hash_is_deleted(const struct rcu_hash_node *node)
{
	return (lull_mem_load(&node->next) & RCU_HASH_REMOVED) != 0;
}

/**
 * rcu_hash_node_init_deleted() - Make a node that is in no table look deleted.
 * @node: a node that is in no table. It need not be prepared to be added.
 *
 * Context: any. Progress: wait-free.
 */
static inline void rcu_hash_node_init_deleted(struct rcu_hash_node *node)
{
	lull_mem_store(&node->next, RCU_HASH_BUCKET | RCU_HASH_REMOVED);
	lull_mem_store(&node->hash, 0);
}

/**
 * rcu_hash_new() - Make a table.
 * @domain: whose readers use it: &rcu_memb_domain, &rcu_qsbr_domain, ...
 * @config: its sizes and flags. NULL: one bucket, RCU_HASH_AUTO_RESIZE.
 *
 * Buckets take a word each. With more than 512 of them at most, the table reserves address space
 * for the most buckets it may have, and takes memory for those it has.
 *
 * Context: thread. Not in a signal handler.
 * Progress: blocking: allocates, and starts the library's thread with the first table that resizes
 * itself.
 * Return: the table; NULL with errno EINVAL (flags unknown, or minimum above maximum), ENOMEM, or
 * what pthread_create() says.
 */
struct rcu_hash *rcu_hash_new(struct rcu_domain *domain, const struct rcu_hash_config *config);

/**
 * rcu_hash_destroy() - Free a table that has no nodes.
 * @table: the table. Nobody may use it any more: readers that could hold it have left their
 *	sections.
 *
 * Does not wait: if the table is being resized, who resizes it frees it.
 *
 * Context: thread, RCU callbacks too. Not in a signal handler.
 * Progress: blocking: waits for a step of a resize.
 * Return: 0; -EBUSY when nodes are in it, and then nothing has happened.
 */
int rcu_hash_destroy(struct rcu_hash *table);

/**
 * rcu_hash_add() - Add a node, whether its key is there or not.
 * @table: the table.
 * @hash: of the node's key.
 * @node: the node, in no table, and out of any since a grace period.
 *
 * Context: read-side critical section; in signal handlers too, where the flavour allows those and
 * the table does not resize itself.
 * Progress: lock-free. Never waits for a resize.
 * Ordering: full. What the caller wrote before is seen by whoever finds the node.
 */
void rcu_hash_add(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node);

/**
 * rcu_hash_add_unique() - Add a node unless its key is there.
 * @table: the table.
 * @hash: of the key.
 * @match: called for nodes of this hash.
 * @key: passed to @match; the key of @node.
 * @node: as in rcu_hash_add().
 *
 * Of concurrent calls for one key, one adds. While all nodes of a key are added by this function
 * and rcu_hash_add_replace(), lookups and walks never find two.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full if added. If not, what was written before the other node was added is seen.
 * Return: @node if it was added; else the node that is there, which the caller may use until its
 * section ends.
 */
struct rcu_hash_node *rcu_hash_add_unique(struct rcu_hash *table, unsigned long hash,
					  rcu_hash_match *match, const void *key,
					  struct rcu_hash_node *node);

/**
 * rcu_hash_add_replace() - Add a node, in the place of the one with its key if there is one.
 * @table: the table.
 * @hash: of the key.
 * @match: called for nodes of this hash.
 * @key: passed to @match; the key of @node.
 * @node: as in rcu_hash_add().
 *
 * Lookups find the old node or the new one, never neither.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full.
 * Return: the node replaced, which is the caller's to reclaim after a grace period; NULL if there
 * was none.
 */
struct rcu_hash_node *rcu_hash_add_replace(struct rcu_hash *table, unsigned long hash,
					   rcu_hash_match *match, const void *key,
					   struct rcu_hash_node *node);

/**
 * rcu_hash_replace() - Put a node in the place of another one.
 * @table: the table.
 * @old: a node found in this section.
 * @node: as in rcu_hash_add(). Takes the hash of @old, and must have its key.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full if replaced.
 * Return: 0, and @old is the caller's to reclaim after a grace period; -ENOENT when @old was
 * deleted or replaced by another, and then @node was not added.
 */
int rcu_hash_replace(struct rcu_hash *table, struct rcu_hash_node *old, struct rcu_hash_node *node);

/**
 * rcu_hash_del() - Take a node out.
 * @table: the table.
 * @node: a node found in this section, or one that the caller knows not to be reclaimed.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full. When it returns, sections that begin cannot find the node.
 * Return: 0, and the node is the caller's to reclaim after a grace period; -ENOENT when another
 * call deleted or replaced it. Of concurrent calls one returns 0.
 */
int rcu_hash_del(struct rcu_hash *table, struct rcu_hash_node *node);

/**
 * rcu_hash_first() - Begin a walk over all nodes.
 * @table: the table.
 * @iterator: where the walk is.
 *
 * A walk meets each node that is in the table from its beginning to its end exactly once, also
 * while the table is resized. Nodes added or taken out meanwhile may be met or missed; of a node
 * and the one that replaces it exactly one is met. A key that is deleted and added again is not met
 * twice. Nodes come in the order of their hashes' bits, lowest first, which means nothing to
 * programs; duplicates follow each other, though others of the same hash may stand between.
 *
 * Context: a read-side critical section that lasts as long as the walk. Nodes may be added and
 * deleted in it, the current one too.
 * Progress: wait-free for each step, but for runs of empty buckets.
 * Return: the first node; NULL if there is none.
 */
struct rcu_hash_node *rcu_hash_first(const struct rcu_hash *table,
				     struct rcu_hash_iterator *iterator);

/**
 * rcu_hash_next() - Continue a walk over all nodes.
 * @table: the table.
 * @iterator: from rcu_hash_first() or this function; or from a lookup, to walk on from there.
 *
 * Context and progress: as rcu_hash_first().
 * Return: the next node; NULL at the end.
 */
struct rcu_hash_node *rcu_hash_next(const struct rcu_hash *table,
				    struct rcu_hash_iterator *iterator);

/* Each node: struct rcu_hash_iterator *it; within, it->node. */
#define rcu_hash_for_each(table, it) \
	for (rcu_hash_first((table), (it)); (it)->node; rcu_hash_next((table), (it)))

/* Each node of a key. */
#define rcu_hash_for_each_duplicate(table, hash, match, key, it)                 \
	for (rcu_hash_lookup((table), (hash), (match), (key), (it)); (it)->node; \
	     rcu_hash_next_duplicate((table), (match), (key), (it)))

/**
 * rcu_hash_count_nodes() - Count the nodes by a walk.
 * @table: the table.
 *
 * Exact when nobody updates; else nodes added and deleted meanwhile may be counted or not.
 *
 * Context: as rcu_hash_first(). Progress: as a whole walk.
 * Return: the number of nodes.
 */
unsigned long rcu_hash_count_nodes(const struct rcu_hash *table);

/**
 * rcu_hash_count_estimate() - Add up the counters of a table.
 * @table: a table made with RCU_HASH_ACCOUNTING or RCU_HASH_AUTO_RESIZE.
 *
 * Updates add to a counter of their CPU. The sum is exact when nobody updates; else it is off by
 * updates in progress.
 *
 * Context: any. Progress: wait-free, in proportion to the number of CPUs.
 * Return: the number of nodes; 0 if the table does not count.
 */
unsigned long rcu_hash_count_estimate(const struct rcu_hash *table);

/**
 * rcu_hash_resize() - Set the number of buckets.
 * @table: the table.
 * @buckets: how many; rounded up to a power of two, and kept between minimum and maximum.
 *
 * Lookups and updates go on meanwhile. A table with RCU_HASH_AUTO_RESIZE keeps this size until its
 * nodes are too many or too few for it. A shrunk table's memory is given back after a grace period.
 *
 * Context: thread, registered or not, outside read-side critical sections; with QSBR it may be
 * online. Not in a signal handler.
 * Progress: blocking: with readers, for it waits for grace periods; with others that resize any
 * table, for a step of theirs.
 * Return: 0, also when another call has set another size meanwhile; -ENOMEM, and the table has as
 * many buckets as there was memory for.
 */
int rcu_hash_resize(struct rcu_hash *table, unsigned long buckets);

/**
 * rcu_hash_bucket_count() - How many buckets a table has now.
 * @table: the table.
 *
 * Context: any. Progress: wait-free.
 * Return: a power of two.
 */
static inline unsigned long rcu_hash_bucket_count(const struct rcu_hash *table)
{
	return lull_mem_load(&table->mask) + 1;
}

#ifdef __cplusplus
}
#endif

#endif
