// SPDX-License-Identifier: MIT
/*
 * The hash table's list: add, replace, delete, walk; buckets linked and unlinked.
 *
 * Papers: Shalev & Shavit, Split-ordered lists, J. ACM 53(3), 2006 (one list, buckets as entries
 * into it); Michael, High performance dynamic lock-free hash tables, SPAA 2002 (mark, then unlink);
 * T 6.2 (readers without stores, reclamation by grace periods). Design: docs/design/42-hash.md.
 *
 * The list, in the order of rcu_hash_after(); b: a bucket's word, n: a node
 *
 *	b0 -> n(..000) -> n(..100) -> b2 -> n(..010) -> b1 -> n(..001) -> b3 -> n(..011) -> end
 *
 * An element is a word at its beginning: the next element's address, RCU_HASH_BUCKET if that is
 * a bucket, RCU_HASH_REMOVED if this one is out. States of an element:
 *
 *	private --link: before's word--> in the list --mark: own word--> removed, still passed
 *	--unlink: before's word--> out, readers may be on it --grace period--> private
 *
 * A replaced node is marked by the same store that links its successor behind it.
 *
 * Which threads write and read each word:
 *	word		any updater, by compare-and-swap, until it is marked; then nobody
 *	hash		the update that adds the node, before it does; then read by all
 *	buckets, mask	hash_resize.c
 *
 * Barrier pairs (label: what it orders; partner):
 *	[hash.add:A]	hash, key, next before the node can be reached	[hash.walk:A]
 *	[hash.replace:A]	the same, for a node in another's place		[hash.walk:A]
 *	[hash.bucket:A]	a bucket's word before it can be reached	[hash.walk:A]
 *	[hash.grow:A]	buckets' words before the mask that leads to them	[hash.start:A]
 *
 * Invariants:
 *	I1 the words that are not marked form one chain, from bucket 0 to the end, in order
 *	I2 a marked word does not change
 *	I3 nodes of one hash are adjacent, newest first: one is added only in front of them, by the
 *	   word before, so that two that add the same key meet at one word
 *	I4 bucket 0 and those below mask + 1 are linked; one that is unlinked has not been below
 *	   mask + 1 since a grace period before
 *	I5 when rcu_hash_del() returns, no word that is not marked leads to the node
 *
 * Progress: walks are wait-free: they never turn back. Updates are lock-free: each that starts
 * again does so because another one has succeeded.
 *
 * Rejected: reversed hashes in the nodes (order needs the lowest bit that differs and no more); a
 * bucket as a whole node (16 bytes for what 8 hold, and a look into the next bucket to see that
 * this one ends); adding behind the nodes of equal hash (a walk over them for each add, and
 * next_duplicate could be led on for ever).
 */
#include "hash_list.h"

#include <errno.h>

#define WORD_BITS ((unsigned int)(sizeof(long) * 8))
/* Places looked for at a time when buckets change: as many as a processor waits for words of. */
#ifndef LANES
#define LANES 12u
#endif
/* How far a walk looks ahead, in powers of two of buckets; not in tables that fit a cache. */
#define AHEAD_SOON 3u
#define AHEAD_LATE 4u
#define AHEAD_MASK 4095ul

static unsigned long *element(unsigned long word)
{
	return (unsigned long *)(word & ~RCU_HASH_TAGS);
}

static struct rcu_hash_node *node_of(unsigned long word)
{
	return (struct rcu_hash_node *)(word & ~RCU_HASH_TAGS);
}

static inline void account(struct rcu_hash *table, long change)
{
	if (table->counters)
		lull_hash_account(table, change);
}

enum step { STEP_ON, STEP_THERE, STEP_CHANGED };

static inline void place_begin(struct hash_place *place, unsigned long *start)
{
	place->word = start;
	place->next = lull_mem_load_acquire(start); /* [hash.walk:A], in hash.h */
}

/*
 * One element on, towards the first after @hash, or with @equal at it; a marked element is taken
 * out on the way. @target is a marked element that is looked for only to be taken out.
 * Return: whether this is the place, or another update has changed the word before it.
 */
static inline enum step place_step(const struct rcu_hash *table, struct hash_place *place,
				   unsigned long hash, int equal, const unsigned long *target)
{
	unsigned long following, *word = element(place->next);

	if (place->next & RCU_HASH_BUCKET) {
		if (rcu_hash_ends(table, place->next, hash))
			return STEP_THERE;
	} else {
		unsigned long other = lull_mem_load(&node_of(place->next)->hash);

		if (other == hash ? equal : rcu_hash_after(other, hash))
			return STEP_THERE;
	}
	following = lull_mem_load_acquire(word); /* [hash.walk:A], in hash.h */
	if (__builtin_expect(following & RCU_HASH_REMOVED, 0)) {
		following &= ~RCU_HASH_REMOVED;
		if (lull_mem_cas(place->word, place->next, following) != place->next)
			return STEP_CHANGED;
		place->next = following;
		return word == target ? STEP_THERE : STEP_ON;
	}
	place->word = word;
	place->next = following;
	return STEP_ON;
}

/*
 * The first element after @hash, or with @equal at it, from @start on; the marked elements before
 * it are out of the list then. Or, when it was this call that took it out, where @target was.
 */
static inline struct hash_place find(const struct rcu_hash *table, unsigned long *start,
				     unsigned long hash, int equal, const unsigned long *target)
{
	struct hash_place place;
	enum step step;

	do { /* bound: another update has succeeded */
		place_begin(&place, start);
		do { /* bound: as in rcu_hash_walk() */
			step = place_step(table, &place, hash, equal, target);
		} while (step == STEP_ON);
	} while (step == STEP_CHANGED);
	return place;
}

/* Sets the mark. Return: not 0 if this call did. */
static int mark(unsigned long *word)
{
	unsigned long next = lull_mem_load(word);

	/* Bound: another update has succeeded. */
	while (!(next & RCU_HASH_REMOVED)) {
		unsigned long found = lull_mem_cas(word, next, next | RCU_HASH_REMOVED);

		if (found == next)
			return 1;
		next = found;
	}
	return 0;
}

/* The first node that matches in the run of equal hashes that @next leads to. */
static struct rcu_hash_node *find_equal(const struct rcu_hash *table, unsigned long next,
					unsigned long hash, rcu_hash_match *match, const void *key)
{
	struct rcu_hash_iterator iterator;

	return rcu_hash_walk(table, next, hash, match, key, &iterator);
}

static int link_at(const struct hash_place *place, struct rcu_hash_node *node)
{
	lull_mem_store(&node->next, place->next);
	/*
	 * [hash.add:A] compare-and-swap, full order. Pairs with [hash.walk:A].
	 * Orders: hash and next of the node, and what the caller wrote, before it can be reached.
	 * Else: a reader follows a next that was never written.
	 */
	return lull_mem_cas(place->word, place->next, (unsigned long)node) == place->next;
}

void rcu_hash_add(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node)
{
	unsigned long *start = rcu_hash_bucket(table, hash);
	struct hash_place place;

	lull_mem_store(&node->hash, hash);
	do { /* bound: another update has succeeded */
		place = find(table, start, hash, 1, NULL);
	} while (!link_at(&place, node));
	account(table, 1);
}

struct rcu_hash_node *rcu_hash_add_unique(struct rcu_hash *table, unsigned long hash,
					  rcu_hash_match *match, const void *key,
					  struct rcu_hash_node *node)
{
	unsigned long *start = rcu_hash_bucket(table, hash);
	struct hash_place place;

	lull_mem_store(&node->hash, hash);
	do { /* bound: another update has succeeded */
		struct rcu_hash_node *found;

		place = find(table, start, hash, 1, NULL);
		/* An update that adds the key after this look changes the word that link_at()
		 * compares. */
		found = find_equal(table, place.next, hash, match, key);
		if (found)
			return found;
	} while (!link_at(&place, node));
	account(table, 1);
	return node;
}

/* A marked node: out of the list, by this call or by another before. */
static void take_out(const struct rcu_hash *table, struct rcu_hash_node *node)
{
	unsigned long hash = lull_mem_load(&node->hash);

	find(table, rcu_hash_bucket(table, hash), hash, 0, &node->next);
}

/* Return: not 0 if @old was in the list, and @node is now in its place. */
static int replace(struct rcu_hash *table, struct rcu_hash_node *old, struct rcu_hash_node *node)
{
	unsigned long next = lull_mem_load(&old->next);

	/* Bound: another update has succeeded. */
	while (!(next & RCU_HASH_REMOVED)) {
		unsigned long found;

		lull_mem_store(&node->next, next);
		/*
		 * [hash.replace:A] compare-and-swap, full order. Pairs with [hash.walk:A].
		 * Orders: the new node's words before it can be reached. A walk that reads this
		 * word before the step finds the old node; one that reads it after passes the old
		 * node and finds the new one.
		 * Else: a walk follows a next of the new node that was never written.
		 */
		found = lull_mem_cas(&old->next, next, (unsigned long)node | RCU_HASH_REMOVED);
		if (found == next) {
			take_out(table, old);
			return 1;
		}
		next = found;
	}
	return 0;
}

struct rcu_hash_node *rcu_hash_add_replace(struct rcu_hash *table, unsigned long hash,
					   rcu_hash_match *match, const void *key,
					   struct rcu_hash_node *node)
{
	unsigned long *start = rcu_hash_bucket(table, hash);
	struct hash_place place;

	lull_mem_store(&node->hash, hash);
	for (;;) { /* bound: another update has succeeded */
		struct rcu_hash_node *found;

		place = find(table, start, hash, 1, NULL);
		found = find_equal(table, place.next, hash, match, key);
		if (found && replace(table, found, node))
			return found;
		if (!found && link_at(&place, node))
			break;
	}
	account(table, 1);
	return NULL;
}

int rcu_hash_replace(struct rcu_hash *table, struct rcu_hash_node *old, struct rcu_hash_node *node)
{
	lull_mem_store(&node->hash, lull_mem_load(&old->hash));
	return replace(table, old, node) ? 0 : -ENOENT;
}

int rcu_hash_del(struct rcu_hash *table, struct rcu_hash_node *node)
{
	if (!mark(&node->next))
		return -ENOENT;
	/*
	 * The first walk that comes here takes the node out of the list, at the latest that of this
	 * call: it ends at the node, or past it, where another walk has taken it out. So the node
	 * is out before the grace period that the caller begins next; a mark never comes off.
	 */
	take_out(table, node);
	account(table, -1);
	return 0;
}

/*
 * The bucket that comes 2^@distance buckets after @index in the list: an addition that carries from
 * the highest bit down. At the end of the list, any bucket.
 */
static unsigned long bucket_ahead(unsigned long mask, unsigned long index, unsigned int distance)
{
	unsigned long low = mask >> distance, room = ~index & low;
	unsigned long carry = room ? 1UL << (WORD_BITS - 1 - __builtin_clzl(room)) : 0;

	return (index & ~low) | (index & (carry - 1) & low) | carry;
}

/*
 * A walk goes through memory without order, but the order is known: fetches a bucket that comes
 * later, and the first node of one that comes sooner.
 */
static void fetch_ahead(const struct rcu_hash *table, unsigned long bucket)
{
	/* No order: a bucket's address is made of it, and what that leads to is not read. */
	unsigned long mask = lull_mem_load(&table->mask);
	unsigned long index = (bucket - (unsigned long)table->buckets) / sizeof(unsigned long);
	const unsigned long *soon, *late;

	if (index > mask)
		return;
	soon = &table->buckets[bucket_ahead(mask, index, AHEAD_SOON)];
	late = &table->buckets[bucket_ahead(mask, index, AHEAD_LATE)];
	__builtin_prefetch(late);
	__builtin_prefetch(element(lull_mem_load(soon)));
}

/* From @next on, the first node that is not removed. */
static struct rcu_hash_node *advance(const struct rcu_hash *table,
				     struct rcu_hash_iterator *iterator, unsigned long next)
{
	int large = lull_mem_load(&table->mask) >= AHEAD_MASK;

	/* Bound: the list, and what is added ahead meanwhile. */
	for (;;) {
		unsigned long *word = element(next), following;

		if (!word) {
			iterator->node = NULL;
			iterator->next = RCU_HASH_BUCKET;
			return NULL;
		}
		following = lull_mem_load_acquire(word); /* [hash.walk:A], in hash.h */
		if (next & RCU_HASH_BUCKET) {
			if (large)
				fetch_ahead(table, (unsigned long)word);
		} else if (!(following & RCU_HASH_REMOVED)) {
			iterator->node = node_of(next);
			iterator->next = following;
			return iterator->node;
		}
		next = following;
	}
}

struct rcu_hash_node *rcu_hash_first(const struct rcu_hash *table,
				     struct rcu_hash_iterator *iterator)
{
	/* [hash.walk:A], in hash.h */
	return advance(table, iterator, lull_mem_load_acquire(&table->buckets[0]));
}

struct rcu_hash_node *rcu_hash_next(const struct rcu_hash *table,
				    struct rcu_hash_iterator *iterator)
{
	return advance(table, iterator, iterator->next);
}

unsigned long rcu_hash_count_nodes(const struct rcu_hash *table)
{
	struct rcu_hash_iterator iterator;
	unsigned long count = 0;

	rcu_hash_for_each(table, &iterator) {
		count++;
	}
	return count;
}

/* A bucket on its way into the list or out of it. */
struct lane {
	struct hash_place place;
	unsigned long index;
};

/* Where to look for a bucket's place: the bucket whose run it divides, without the highest bit. */
static void lane_search(const struct rcu_hash *table, struct lane *lane)
{
	unsigned long high = 1UL << (WORD_BITS - 1 - __builtin_clzl(lane->index));

	place_begin(&lane->place, &table->buckets[lane->index & ~high]);
	__builtin_prefetch(element(lane->place.next));
}

static void lane_begin(const struct rcu_hash *table, struct lane *lane, unsigned long index,
		       int link)
{
	lane->index = index;
	if (!link)
		mark(&table->buckets[index]);
	lane_search(table, lane);
}

static int bucket_link_at(const struct hash_place *place, unsigned long *bucket)
{
	lull_mem_store(bucket, place->next);
	/*
	 * [hash.bucket:A] compare-and-swap, full order. Pairs with [hash.walk:A].
	 * Orders: the bucket's word before it can be reached.
	 * Else: a reader takes a word of no value for the end of the list.
	 */
	return lull_mem_cas(place->word, place->next, (unsigned long)bucket | RCU_HASH_BUCKET) ==
	       place->next;
}

/* Return: not 0 when the bucket is linked, or unlinked. */
static int lane_step(const struct rcu_hash *table, struct lane *lane, int link)
{
	unsigned long *bucket = &table->buckets[lane->index];
	enum step step = place_step(table, &lane->place, lane->index, 1, link ? NULL : bucket);

	if (step == STEP_THERE && (!link || bucket_link_at(&lane->place, bucket)))
		return 1;
	if (step == STEP_ON)
		__builtin_prefetch(element(lane->place.next));
	else
		lane_search(table, lane);
	return 0;
}

void lull_hash_buckets_change(struct rcu_hash *table, unsigned long index, unsigned long count,
			      int link)
{
	struct lane lanes[LANES];
	unsigned long until = index + count;
	unsigned int active = 0, i;

	while (active < LANES && index < until)
		lane_begin(table, &lanes[active++], index++, link);
	/* Bound: @count runs, and updates that succeed meanwhile. */
	while (active) {
		for (i = 0; i < active; i++) {
			if (!lane_step(table, &lanes[i], link))
				continue;
			if (index < until)
				lane_begin(table, &lanes[i], index++, link);
			else
				lanes[i--] = lanes[--active];
		}
	}
}
