/* SPDX-License-Identifier: MIT */
/*
 * A hash table that many threads read and change at once while it grows and shrinks.
 *
 * One list holds all nodes, in an order in which the nodes of each bucket follow each other.
 * Buckets are words in that list, so resizing adds and removes such words and moves no node.
 * Lookups take no lock and write nothing; updates are compare-and-swaps. Nodes lie in the program's
 * own objects. A program reclaims an object, by call_rcu() for example, after a grace period of the
 * table's domain that begins when rcu_hash_del(), rcu_hash_replace() or rcu_hash_add_replace() has
 * taken its node out. The library's thread that resizes tables is a reader too: the program waits
 * for that grace period even where no other thread of its own uses the table.
 *
 * The caller is within a read-side critical section of the table's domain in every call that takes
 * a node or finds one, also in updates. Nodes stay valid until that section ends.
 * Design: docs/design/42-hash.md. Paper: T 6.2 (read-copy update), 6.4.5 (reclamation).
 */
#ifndef LULL_RCU_HASH_H
#define LULL_RCU_HASH_H

#include <stddef.h>
#include "lull/rcu/annotate.h"
#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_hash_node - Room in an object for its place in a table; it belongs to the library.
 * @next: the address of the next element, with two tags: RCU_HASH_REMOVED is about this node,
 *	RCU_HASH_BUCKET about the next element.
 * @hash: the hash with which the node was added. It does not change while the node is in a table.
 */
struct rcu_hash_node {
	unsigned long next;
	unsigned long hash;
};

/* In a node's or bucket's own word: this element has been taken out of the table. */
#define RCU_HASH_REMOVED 1UL
/* In a word: the next element is a bucket's word, not a node. Without an address: the list ends. */
#define RCU_HASH_BUCKET 2UL
#define RCU_HASH_TAGS 3UL

/**
 * struct rcu_hash - A table, as lookups see it. The library has further data behind it.
 * @buckets: the words of the buckets: an array, which a resize may exchange for another.
 * @mask: the number of buckets, which is a power of two, less 1.
 * @last: the array has words up to this index. While the list has buckets of two arrays, both do.
 * @both: the sum of those two arrays' addresses.
 * @counters: counters of nodes, each for some CPUs; NULL if the table does not count its nodes.
 */
struct rcu_hash {
	unsigned long *buckets;
	unsigned long mask;
	unsigned long last;
	unsigned long both;
	struct rcu_hash_counter *counters;
};

/**
 * struct rcu_hash_iterator - Where a lookup or a walk is.
 * @node: the node that was found, or NULL.
 * @next: the word of that node when it was found, which belongs to the library.
 */
struct rcu_hash_iterator {
	struct rcu_hash_node *node;
	unsigned long next;
};

/* A thread of the library grows and shrinks the table with the number of its nodes. */
#define RCU_HASH_AUTO_RESIZE 1UL
/* The table counts its nodes, for rcu_hash_count_estimate(). */
#define RCU_HASH_ACCOUNTING 2UL

/**
 * struct rcu_hash_config - How a table begins and how far it may go.
 * @initial_buckets: the number of buckets at the beginning. 0: @minimum_buckets.
 * @minimum_buckets: the table never has fewer. 0: 1.
 * @maximum_buckets: the table never has more; a table that has become large reserves address space
 *	for so many. 0: as many as fit in a quarter of the machine's memory or a 64th of
 *	RLIMIT_AS, whichever is less.
 * @flags: 0, RCU_HASH_AUTO_RESIZE, RCU_HASH_ACCOUNTING, or both.
 *
 * Numbers of buckets are rounded up to powers of two; the maximum that the machine's memory gives
 * is rounded down.
 */
struct rcu_hash_config {
	unsigned long initial_buckets;
	unsigned long minimum_buckets;
	unsigned long maximum_buckets;
	unsigned long flags;
};

/* A function of the program's: whether a node, of the hash looked for, has the key. Not 0: yes. */
typedef int rcu_hash_match(struct rcu_hash_node *node, const void *key);

/* The object in which a node lies: rcu_hash_entry(node, struct session, node). */
#define rcu_hash_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* The next four functions are details of the list. They are here so that lookups are inlined. */

/* Whether hash a comes after hash b in the list: the lowest bit in which they differ decides. */
static inline int rcu_hash_after(unsigned long a, unsigned long b)
{
	unsigned long differ = a ^ b;

	return (differ & (0 - differ) & a) != 0;
}

/*
 * Whether the bucket to which a word leads, tagged RCU_HASH_BUCKET, lies behind all nodes of a
 * hash. The function does not read the bucket.
 *
 * The bucket's index follows from its address. An address outside of the array gives an index above
 * the last one: it is 0, where the list ends, or lies in the other array, from which the buckets
 * move or to which. Of the two arrays, this call may find either one in @buckets.
 */
static inline int rcu_hash_ends(const struct rcu_hash *table, unsigned long word,
				unsigned long hash)
{
	unsigned long bucket = word & ~RCU_HASH_TAGS;
	unsigned long buckets = (unsigned long)lull_mem_load_pointer(&table->buckets);
	unsigned long index = (bucket - buckets) / sizeof(unsigned long);

	if (__builtin_expect(index > lull_mem_load(&table->last), 0)) {
		if (!bucket)
			return 1;
		buckets = lull_mem_load(&table->both) - buckets;
		index = (bucket - buckets) / sizeof(unsigned long);
	}
	return rcu_hash_after(index, hash);
}

static inline unsigned long *rcu_hash_bucket(const struct rcu_hash *table, unsigned long hash)
{
	/*
	 * [hash.start:A] acquire. Pairs with [hash.grow:A].
	 * Orders: the read of the number of buckets before the reads of the array that has room for
	 * them and of a bucket's word.
	 * Else: a lookup starts at a new bucket whose word it sees as not written yet, and misses
	 * nodes that are in the table.
	 */
	unsigned long mask = lull_mem_load_acquire(&table->mask);
	unsigned long *buckets = lull_mem_load_pointer(&table->buckets);

	rcu_annotate_reach(table); /* as publish() and move_switch() released it */
	return &buckets[hash & mask];
}

/* Finds the first node, from the one to which @next leads on, that has @hash, is in and matches. */
static inline struct rcu_hash_node *rcu_hash_walk(const struct rcu_hash *table, unsigned long next,
						  unsigned long hash, rcu_hash_match *match,
						  const void *key,
						  struct rcu_hash_iterator *iterator)
{
	/* Bound: the nodes of the hash's bucket, and those that are added ahead meanwhile. */
	for (;;) {
		/* An element's word comes first in it: so this holds for a bucket too. */
		struct rcu_hash_node *node = (struct rcu_hash_node *)(next & ~RCU_HASH_TAGS);
		unsigned long following, other;

		if (__builtin_expect((next & RCU_HASH_BUCKET) != 0, 0)) {
			if (__builtin_expect(rcu_hash_ends(table, next, hash), 1))
				break;
			rcu_annotate_reach(table);
			/* As [hash.walk:A]: the word before the element to which it leads. */
			next = lull_mem_load_acquire(&node->next);
			continue;
		}
		/*
		 * [hash.walk:A] acquire.
		 * Pairs with [hash.add:A], [hash.replace:A], [hash.bucket:A].
		 * Orders: the word that leads to an element before the reads of the element.
		 * Else: a reader reads a hash, a key or a next that is not written yet.
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
 * @hash: the key's hash. Its low bits choose the bucket: they should differ from key to key.
 * @match: a function that is called for nodes of this hash until it says yes.
 * @key: the key, which is passed to @match.
 * @iterator: where to put the result, for rcu_hash_next_duplicate() or rcu_hash_next().
 *
 * A node that was in the table from before the call until its return is found. A node that is
 * replaced meanwhile is found in its old form or its new one.
 *
 * Context: read-side critical section; in signal handlers too, where the flavour allows those.
 * Progress: wait-free: it never starts again, whatever updaters and resizing do. It passes the
 * nodes of one bucket, and those added ahead of it meanwhile.
 * Ordering: what was written before the node was added is seen (acquire).
 * Return: the node, which is also in @iterator; NULL if there is none.
 * Paper: T 6.2.4 (publication).
 */
static inline struct rcu_hash_node *rcu_hash_lookup(const struct rcu_hash *table,
						    unsigned long hash, rcu_hash_match *match,
						    const void *key,
						    struct rcu_hash_iterator *iterator)
{
	unsigned long *bucket = rcu_hash_bucket(table, hash);

	/* [hash.walk:A]: the bucket's word before the node to which it leads. */
	return rcu_hash_walk(table, lull_mem_load_acquire(bucket), hash, match, key, iterator);
}

/**
 * rcu_hash_next_duplicate() - Find the next node with the same key.
 * @table: the table.
 * @match: as given to rcu_hash_lookup().
 * @key: as given to rcu_hash_lookup().
 * @iterator: what rcu_hash_lookup() or this function found last; it must not have found NULL.
 *
 * Newer duplicates come first. Nodes that are added after the lookup are not found; nor is a node
 * that replaces one already returned.
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
 * rcu_hash_prefetch() - Begin to load the bucket that a lookup reads first.
 * @table: the table.
 * @hash: the hash of a key that will be looked up, added or deleted soon.
 *
 * This is for callers that know several keys at once: they prefetch all, then look up each.
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
 * Context: read-side critical section, or any if the caller keeps the node from being reclaimed.
 * Progress: wait-free.
 * Return: not 0 if the node was deleted or replaced.
 */
static inline int rcu_hash_is_deleted(const struct rcu_hash_node *node)
{
	return (lull_mem_load(&node->next) & RCU_HASH_REMOVED) != 0;
}

/**
 * rcu_hash_node_init_deleted() - Make a node that is in no table look deleted.
 * @node: a node that is in no table.
 *
 * A node need not be prepared like this before it is added.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 */
static inline void rcu_hash_node_init_deleted(struct rcu_hash_node *node)
{
	lull_mem_store(&node->next, RCU_HASH_BUCKET | RCU_HASH_REMOVED);
	lull_mem_store(&node->hash, 0);
}

/**
 * rcu_hash_new() - Make a table.
 * @domain: the domain whose readers use the table: &rcu_memb_domain or another.
 * @config: its sizes and flags. NULL: one bucket, RCU_HASH_AUTO_RESIZE.
 *
 * A bucket takes one word. A table of 32 buckets at most has them in its own memory, less than 1024
 * bytes in all; up to 2048 buckets are in the heap. Only a table of more buckets reserves address
 * space for as many as it may ever have, or for as many as can be had, and takes memory for those
 * that it has.
 *
 * Context: thread. Not in a signal handler.
 * Progress: blocking: allocates, and starts the library's thread with the first table that resizes
 * itself.
 * Return: the table; NULL with errno EINVAL (unknown flags, the minimum above the maximum, or more
 * buckets than addresses leave room for), ENOMEM, or EAGAIN (the thread cannot be started).
 */
struct rcu_hash *rcu_hash_new(struct rcu_domain *domain, const struct rcu_hash_config *config);

/**
 * rcu_hash_destroy() - Free a table that has no nodes.
 * @table: the table. No thread may use it any more: readers that found it have left their
 *	sections.
 *
 * The call does not wait for a resize: if the table is being resized, the thread that resizes it
 * frees it afterwards.
 *
 * Context: thread, RCU callbacks too. Not in a signal handler.
 * Progress: blocking, for one step of a resize of any table; then it looks at every bucket.
 * Return: 0; -EBUSY when nodes are in the table, and then nothing has happened.
 */
int rcu_hash_destroy(struct rcu_hash *table);

/**
 * rcu_hash_add() - Add a node, whether its key is there or not.
 * @table: the table.
 * @hash: the hash of the node's key.
 * @node: the node. It is in no table; if it was in one, a grace period has ended since it was
 *	taken out.
 *
 * Context: read-side critical section; in signal handlers too, where the flavour allows those and
 * the table does not resize itself.
 * Progress: lock-free. It never waits for a resize.
 * Ordering: full. What the caller wrote before is seen by every thread that finds the node.
 */
void rcu_hash_add(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node);

/**
 * rcu_hash_add_last() - Add a node behind those of the same hash, which walks then meet first.
 * @table: the table.
 * @hash: of the node's key.
 * @node: as in rcu_hash_add().
 *
 * The call passes all nodes of the same hash; so does a walk over duplicates of a node that is
 * added while it runs.
 *
 * Context: as rcu_hash_add(). Progress: lock-free. Ordering: full.
 */
void rcu_hash_add_last(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node);

/**
 * rcu_hash_add_unique() - Add a node unless its key is there.
 * @table: the table.
 * @hash: the key's hash.
 * @match: a function that is called for nodes of this hash until it says yes.
 * @key: the key of @node, which is passed to @match.
 * @node: as in rcu_hash_add().
 *
 * Of concurrent calls for one key, one adds its node. As long as all nodes of a key are added by
 * this function and rcu_hash_add_replace(), lookups and walks never find two of them.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full if @node was added. Else what was written before the other node was added is seen.
 * Return: @node if it was added; else the node of that key which is in the table, and which the
 * caller may use until its section ends.
 */
struct rcu_hash_node *rcu_hash_add_unique(struct rcu_hash *table, unsigned long hash,
					  rcu_hash_match *match, const void *key,
					  struct rcu_hash_node *node);

/**
 * rcu_hash_add_replace() - Add a node, in the place of the one with its key if there is one.
 * @table: the table.
 * @hash: the key's hash.
 * @match: a function that is called for nodes of this hash until it says yes.
 * @key: the key of @node, which is passed to @match.
 * @node: as in rcu_hash_add().
 *
 * Lookups find the old node or the new one, never neither.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full.
 * Return: the node that was replaced, which the caller reclaims after a grace period; NULL if there
 * was none.
 */
struct rcu_hash_node *rcu_hash_add_replace(struct rcu_hash *table, unsigned long hash,
					   rcu_hash_match *match, const void *key,
					   struct rcu_hash_node *node);

/**
 * rcu_hash_replace() - Put a node in the place of another one.
 * @table: the table.
 * @old: a node that was found in this section.
 * @node: as in rcu_hash_add(). It gets the hash of @old, and must have the same key.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full if @old was replaced.
 * Return: 0, and the caller reclaims @old after a grace period; -ENOENT when another call had
 * deleted or replaced @old, and then @node was not added.
 */
int rcu_hash_replace(struct rcu_hash *table, struct rcu_hash_node *old, struct rcu_hash_node *node);

/**
 * rcu_hash_del() - Take a node out.
 * @table: the table.
 * @node: a node that was found in this section, or that the caller keeps from being reclaimed.
 *
 * Context: as rcu_hash_add(). Progress: lock-free.
 * Ordering: full. Sections that begin after the return cannot find the node.
 * Return: 0, and the caller reclaims the node after a grace period; -ENOENT when another call has
 * deleted or replaced it. Of concurrent calls for one node, one returns 0.
 */
int rcu_hash_del(struct rcu_hash *table, struct rcu_hash_node *node);

/**
 * rcu_hash_first() - Begin a walk over all nodes.
 * @table: the table.
 * @iterator: where the walk is; its node is the one that is returned.
 *
 * A walk meets each node that is in the table from its beginning to its end exactly once, also
 * while the table is resized. Nodes added or taken out meanwhile may be met or missed; of a node
 * and the one that replaces it exactly one is met. A key that is deleted and added again is not met
 * twice. Nodes come in the order of their hashes' bits, lowest first, which means nothing to
 * programs; duplicates follow each other, though others of the same hash may stand between.
 *
 * Context: a read-side critical section that lasts as long as the walk. Nodes may be added and
 * deleted in it, the current one too.
 * Progress: wait-free: a step passes the empty buckets, and the nodes taken out meanwhile, that lie
 * before the next node.
 * Return: the first node; NULL if there is none.
 */
struct rcu_hash_node *rcu_hash_first(const struct rcu_hash *table,
				     struct rcu_hash_iterator *iterator);

/**
 * rcu_hash_next() - Continue a walk over all nodes.
 * @table: the table.
 * @iterator: what rcu_hash_first() or this function has filled; or a lookup, to walk on from there.
 *
 * Context: as rcu_hash_first(). Progress: as rcu_hash_first().
 * Return: the next node; NULL at the end.
 */
struct rcu_hash_node *rcu_hash_next(const struct rcu_hash *table,
				    struct rcu_hash_iterator *iterator);

/* Walks over all nodes: @it is a struct rcu_hash_iterator *, and it->node the node in the body. */
#define rcu_hash_for_each(table, it) \
	for (rcu_hash_first((table), (it)); (it)->node; rcu_hash_next((table), (it)))

/* Looks up all nodes of a key, newest first: it->node is the node in the body. */
#define rcu_hash_for_each_duplicate(table, hash, match, key, it)                 \
	for (rcu_hash_lookup((table), (hash), (match), (key), (it)); (it)->node; \
	     rcu_hash_next_duplicate((table), (match), (key), (it)))

/**
 * rcu_hash_count_nodes() - Count the nodes by a walk.
 * @table: the table.
 *
 * The number is exact when no thread updates the table; else nodes that are added and deleted
 * meanwhile may be counted or not.
 *
 * Context: as rcu_hash_first(). Progress: as a whole walk.
 * Return: the number of nodes.
 */
unsigned long rcu_hash_count_nodes(const struct rcu_hash *table);

/**
 * rcu_hash_count_estimate() - Add up the counters of a table.
 * @table: a table made with RCU_HASH_ACCOUNTING or RCU_HASH_AUTO_RESIZE.
 *
 * An update adds to a counter of its CPU, and now and then moves what has gathered there, about
 * 1024 nodes at most, to the table's count. The sum is exact when no thread updates the table; else
 * it may miss what an update moves at this moment.
 *
 * Context: any, signal handlers too. Progress: wait-free, in proportion to the number of CPUs.
 * Return: the number of nodes; 0 if the table does not count.
 */
unsigned long rcu_hash_count_estimate(const struct rcu_hash *table);

/**
 * rcu_hash_resize() - Set the number of buckets.
 * @table: the table.
 * @buckets: how many; it is rounded up to a power of two and kept between minimum and maximum.
 *
 * Lookups and updates go on meanwhile. A table with RCU_HASH_AUTO_RESIZE keeps this size until its
 * nodes are too many or too few for it. A shrunk table's memory is given back after a grace period.
 *
 * Context: thread, registered or not, outside read-side critical sections; with QSBR it may be
 * online. Not in a signal handler.
 * Progress: blocking: waits for grace periods, and for steps of other threads that resize any
 * table.
 * Return: 0, also when another call has set another size meanwhile; -ENOMEM, and the table has as
 * many buckets as there was memory for.
 */
int rcu_hash_resize(struct rcu_hash *table, unsigned long buckets);

/**
 * rcu_hash_bucket_count() - How many buckets a table has now.
 * @table: the table.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Return: the number, a power of two.
 */
static inline unsigned long rcu_hash_bucket_count(const struct rcu_hash *table)
{
	return lull_mem_load(&table->mask) + 1;
}

/* ThreadSanitizer is told: a node is released by what adds it, and acquired where it is found. */
#ifdef LULL_RCU_ANNOTATED_CALLS
struct rcu_hash_annotated_key {
	rcu_hash_match *match;
	const void *key;
};

static inline int rcu_hash_annotated_match(struct rcu_hash_node *node, const void *key)
{
	const struct rcu_hash_annotated_key *theirs = (const struct rcu_hash_annotated_key *)key;

	rcu_annotate_acquire(node);
	return theirs->match(node, theirs->key);
}

static inline void rcu_hash_annotated_add(struct rcu_hash *table, unsigned long hash,
					  struct rcu_hash_node *node)
{
	rcu_annotate_release(node);
	rcu_hash_add(table, hash, node);
}

static inline void rcu_hash_annotated_add_last(struct rcu_hash *table, unsigned long hash,
					       struct rcu_hash_node *node)
{
	rcu_annotate_release(node);
	rcu_hash_add_last(table, hash, node);
}

static inline struct rcu_hash_node *
rcu_hash_annotated_add_unique(struct rcu_hash *table, unsigned long hash, rcu_hash_match *match,
			      const void *key, struct rcu_hash_node *node)
{
	const struct rcu_hash_annotated_key ours = { match, key };

	rcu_annotate_release(node);
	return rcu_hash_add_unique(table, hash, rcu_hash_annotated_match, &ours, node);
}

static inline struct rcu_hash_node *
rcu_hash_annotated_add_replace(struct rcu_hash *table, unsigned long hash, rcu_hash_match *match,
			       const void *key, struct rcu_hash_node *node)
{
	const struct rcu_hash_annotated_key ours = { match, key };

	rcu_annotate_release(node);
	return rcu_hash_add_replace(table, hash, rcu_hash_annotated_match, &ours, node);
}

static inline int rcu_hash_annotated_replace(struct rcu_hash *table, struct rcu_hash_node *old,
					     struct rcu_hash_node *node)
{
	rcu_annotate_release(node);
	return rcu_hash_replace(table, old, node);
}

static inline struct rcu_hash_node *rcu_hash_annotated_found(struct rcu_hash_node *node)
{
	if (node)
		rcu_annotate_acquire(node);
	return node;
}

#define rcu_hash_add rcu_hash_annotated_add
#define rcu_hash_add_last rcu_hash_annotated_add_last
#define rcu_hash_add_unique rcu_hash_annotated_add_unique
#define rcu_hash_add_replace rcu_hash_annotated_add_replace
#define rcu_hash_replace rcu_hash_annotated_replace
#define rcu_hash_first(table, iterator) rcu_hash_annotated_found(rcu_hash_first(table, iterator))
#define rcu_hash_next(table, iterator) rcu_hash_annotated_found(rcu_hash_next(table, iterator))
#endif

#ifdef __cplusplus
}
#endif

#endif
