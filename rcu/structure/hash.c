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
 * An element, a node or a bucket, begins with a word: the next element's address, with the tag
 * RCU_HASH_BUCKET if the next element is a bucket, and the tag RCU_HASH_REMOVED, called the mark,
 * if this element is taken out. States of an element:
 *
 *	private --link, by the word before it--> in the list
 *	--mark, in its own word--> removed, but still passed by walks
 *	--unlink, by the word before it--> out, but readers may be on it
 *	--grace period--> private
 *
 * One compare-and-swap on a replaced node's word marks that node and links the new one behind it.
 *
 * Which threads write and read each word:
 *	word		any updater, by compare-and-swap, until it is marked; then no thread
 *	hash		written by the update that adds the node, before it links it; read by all
 *	buckets, mask	hash_resize.c
 *
 * Barrier pairs (label: what it orders; partner):
 *	[hash.add:A]	hash, key, next before the node can be reached	[hash.walk:A]
 *	[hash.replace:A]	the same, for a node that replaces one		[hash.walk:A]
 *	[hash.bucket:A]	a bucket's word before it can be reached	[hash.walk:A]
 *	[hash.grow:A]	buckets' words before the mask that leads to them	[hash.start:A]
 *
 * Invariants:
 *	I1 the words that are not marked form one chain, from bucket 0 to the end, in order
 *	I2 a marked word does not change
 *	I3 nodes of one hash are adjacent: a node is added in front of them, by the word before
 *	   them, so that two calls that look for one key and add it meet at one word; or behind
 *	   them, by a call that does not look for the key (rcu_hash_add_last())
 *	I4 bucket 0 and all buckets below mask + 1 are linked; when a bucket is unlinked, a whole
 *	   grace period has passed since mask + 1 was above it
 *	I5 when rcu_hash_del() returns, no word that is not marked leads to the node
 *
 * Progress: walks are wait-free: they never turn back. Updates are lock-free: an update starts
 * again only because another one has succeeded.
 *
 * Rejected: reversed hashes in the nodes (the order needs only the lowest bit in which two hashes
 * differ); a bucket as a whole node (16 bytes instead of 8, and a walk would have to read the next
 * bucket to see that this one ends); adding behind the nodes of equal hash where the caller does
 * not ask for that (each update would walk over them, and rcu_hash_next_duplicate() could be led on
 * for ever).
 */
#include "hash_list.h"

#include <errno.h>

#define WORD_BITS ((unsigned int)(sizeof(long) * 8))
/*
 * How many buckets are on their way into or out of the list at a time, so that the processor loads
 * as many words at once.
 */
#ifndef LANES
#define LANES 12u
#endif
/*
 * A walk loads ahead by two powers of two of buckets, in tables of more buckets than AHEAD_MASK:
 * smaller ones are in a cache.
 */
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
	if (lull_mem_load_pointer(&table->counters))
		lull_hash_account(table, change);
}

enum step { STEP_ON, STEP_THERE, STEP_CHANGED };

static inline void place_begin(struct hash_place *place, unsigned long *start)
{
	place->word = start;
	/* [hash.walk:A]: the word is read before the element to which it leads. */
	place->next = lull_mem_load_acquire(start);
}

/*
 * Goes one element on, towards the first element whose hash is after @hash, or, with @equal, is
 * @hash itself. A marked element on the way is taken out. @target is NULL, or a marked element that
 * the caller looks for only to have it taken out.
 * Return: STEP_THERE when @place is the place looked for, or when this call took @target out;
 * STEP_CHANGED when another update has changed the word before the place, and the search must begin
 * again; else STEP_ON.
 */
static inline enum step place_step(const struct rcu_hash *table, struct hash_place *place,
				   unsigned long hash, int equal, const unsigned long *target)
{
	unsigned long following, *word = element(place->next);

	if (place->next & RCU_HASH_BUCKET) {
		if (rcu_hash_ends(table, place->next, hash))
			return STEP_THERE;
		rcu_annotate_reach(table);
	} else {
		unsigned long other = lull_mem_load(&node_of(place->next)->hash);

		if (other == hash ? equal : rcu_hash_after(other, hash))
			return STEP_THERE;
	}
	/* [hash.walk:A]: the word is read before the element to which it leads. */
	following = lull_mem_load_acquire(word);
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
 * Finds, from @start on, the first element whose hash is after @hash, or, with @equal, is @hash
 * itself. The marked elements before it are out of the list then. When this call takes @target out,
 * it ends there.
 */
static inline struct hash_place place_find(const struct rcu_hash *table, unsigned long *start,
					   unsigned long hash, int equal,
					   const unsigned long *target)
{
	struct hash_place place;
	enum step step;

	do { /* bound: each repetition means that another update has succeeded */
		place_begin(&place, start);
		do { /* bound: as in rcu_hash_walk() */
			step = place_step(table, &place, hash, equal, target);
		} while (step == STEP_ON);
	} while (step == STEP_CHANGED);
	return place;
}

/* Sets an element's mark. Return: not 0 if this call set it, 0 if another had. */
static int element_mark(unsigned long *word)
{
	unsigned long next = lull_mem_load(word);

	/* Bound: each repetition means that another update has succeeded. */
	while (!(next & RCU_HASH_REMOVED)) {
		unsigned long found = lull_mem_cas(word, next, next | RCU_HASH_REMOVED);

		if (found == next)
			return 1;
		next = found;
	}
	return 0;
}

/* The first node that matches, among those of equal hash to which @next leads. Return: or NULL. */
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
	 * Orders: the writes of the node's hash and next, and of its key by the caller, before the
	 * link by which readers reach the node.
	 * Else: a reader reads a hash or a key, or follows a next, that is not written yet.
	 */
	return lull_mem_cas(place->word, place->next, (unsigned long)node) == place->next;
}

/* Before the nodes of the same hash, or behind them. */
static inline void node_add(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node,
			    int before)
{
	unsigned long *start = rcu_hash_bucket(table, hash);
	struct hash_place place;

	lull_mem_store(&node->hash, hash);
	do { /* bound: each repetition means that another update has succeeded */
		place = place_find(table, start, hash, before, NULL);
	} while (!link_at(&place, node));
	account(table, 1);
}

void rcu_hash_add(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node)
{
	node_add(table, hash, node, 1);
}

void rcu_hash_add_last(struct rcu_hash *table, unsigned long hash, struct rcu_hash_node *node)
{
	node_add(table, hash, node, 0);
}

struct rcu_hash_node *rcu_hash_add_unique(struct rcu_hash *table, unsigned long hash,
					  rcu_hash_match *match, const void *key,
					  struct rcu_hash_node *node)
{
	unsigned long *start = rcu_hash_bucket(table, hash);
	struct hash_place place;

	lull_mem_store(&node->hash, hash);
	do { /* bound: each repetition means that another update has succeeded */
		struct rcu_hash_node *found;

		place = place_find(table, start, hash, 1, NULL);
		/*
		 * An update that adds the key after this search changes the word that link_at()
		 * compares, so that the search is made again.
		 */
		found = find_equal(table, place.next, hash, match, key);
		if (found)
			return found;
	} while (!link_at(&place, node));
	account(table, 1);
	return node;
}

/* Sees to it that a marked node is out of the list: by this call, if no other has taken it out. */
static void take_out(const struct rcu_hash *table, struct rcu_hash_node *node)
{
	unsigned long hash = lull_mem_load(&node->hash);

	place_find(table, rcu_hash_bucket(table, hash), hash, 0, &node->next);
}

/* Return: not 0 if @old was in the list, and @node is now in its place. */
static int replace(struct rcu_hash *table, struct rcu_hash_node *old, struct rcu_hash_node *node)
{
	unsigned long next = lull_mem_load(&old->next);

	/* Bound: each repetition means that another update has succeeded. */
	while (!(next & RCU_HASH_REMOVED)) {
		unsigned long found;

		lull_mem_store(&node->next, next);
		/*
		 * [hash.replace:A] compare-and-swap, full order. Pairs with [hash.walk:A].
		 * Orders: the writes of the new node's hash, key and next before the link by which
		 * readers reach it. A walk that reads the old node's word before this step finds
		 * the old node; a walk that reads it after the step passes the old node and finds
		 * the new one.
		 * Else: a walk reads a hash or a key, or follows a next, that is not written yet.
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
	for (;;) { /* bound: each repetition means that another update has succeeded */
		struct rcu_hash_node *found;

		place = place_find(table, start, hash, 1, NULL);
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
	if (!element_mark(&node->next))
		return -ENOENT;
	/*
	 * The first update that comes by takes the marked node out of the list; at the latest this
	 * call does, whose search ends at the node, or behind it where another update has taken it
	 * out. So the node is out before the grace period that the caller begins next. A mark never
	 * comes off.
	 */
	take_out(table, node);
	account(table, -1);
	return 0;
}

/*
 * The bucket that comes 2^@distance buckets after @index in the list: the sum of the two, with the
 * bits in reverse order, so that it carries from the highest bit down. Behind the end of the list
 * it is any bucket.
 */
static unsigned long bucket_ahead(unsigned long mask, unsigned long index, unsigned int distance)
{
	unsigned long low = mask >> distance, room = ~index & low;
	unsigned long carry = room ? 1UL << (WORD_BITS - 1 - __builtin_clzl(room)) : 0;

	return (index & ~low) | (index & (carry - 1) & low) | carry;
}

/*
 * A walk goes through memory in an irregular order, but in a known one. So this begins to load a
 * bucket that comes later, and the first element behind a bucket that comes sooner.
 */
static void fetch_ahead(const struct rcu_hash *table, unsigned long bucket)
{
	/* Relaxed: this only gives addresses to load ahead; what they hold is not used. */
	unsigned long mask = lull_mem_load(&table->mask);
	unsigned long buckets = (unsigned long)lull_mem_load_pointer(&table->buckets);
	unsigned long index = (bucket - buckets) / sizeof(unsigned long);
	const unsigned long *soon, *late;

	if (index > mask)
		return;
	soon = rcu_hash_bucket(table, bucket_ahead(mask, index, AHEAD_SOON));
	late = rcu_hash_bucket(table, bucket_ahead(mask, index, AHEAD_LATE));
	__builtin_prefetch(late);
	__builtin_prefetch(element(lull_mem_load(soon)));
}

/* Moves an iterator to the first node that is not removed, from the element @next leads to on. */
static struct rcu_hash_node *walk_advance(const struct rcu_hash *table,
					  struct rcu_hash_iterator *iterator, unsigned long next)
{
	int large = lull_mem_load(&table->mask) >= AHEAD_MASK;

	/* Bound: the list, and the elements that are added ahead meanwhile. */
	for (;;) {
		unsigned long *word = element(next), following;

		if (!word) {
			iterator->node = NULL;
			iterator->next = RCU_HASH_BUCKET;
			return NULL;
		}
		if (next & RCU_HASH_BUCKET)
			rcu_annotate_reach(table);
		/* [hash.walk:A]: the word is read before the element to which it leads. */
		following = lull_mem_load_acquire(word);
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
	const unsigned long *first = lull_mem_load_pointer(&table->buckets);

	rcu_annotate_reach(table);
	/* [hash.walk:A]: the bucket's word is read before the element to which it leads. */
	return walk_advance(table, iterator, lull_mem_load_acquire(first));
}

struct rcu_hash_node *rcu_hash_next(const struct rcu_hash *table,
				    struct rcu_hash_iterator *iterator)
{
	return walk_advance(table, iterator, iterator->next);
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

/* What lull_hash_buckets_change() does. */
struct change {
	const struct rcu_hash *table;
	unsigned long *buckets; /* the array of the words that are linked or unlinked */
	int link; /* 0: unlink */
	int copy; /* not 0: link beside the table's bucket of the same index */
};

/* A bucket on its way into the list or out of it, of which several are under way at a time. */
struct lane {
	struct hash_place place;
	unsigned long index;
};

/*
 * Begins to search a bucket's place: at the table's bucket of the same index, if that one is in the
 * list and stays; else at the bucket whose nodes it divides: the same index without the highest
 * bit.
 */
static void lane_search(const struct change *change, struct lane *lane)
{
	unsigned long from = lane->index;

	if (!change->copy)
		from &= ~(1UL << (WORD_BITS - 1 - __builtin_clzl(from)));
	place_begin(&lane->place, &change->table->buckets[from]);
	__builtin_prefetch(element(lane->place.next));
}

static void lane_begin(const struct change *change, struct lane *lane, unsigned long index)
{
	lane->index = index;
	if (!change->link)
		element_mark(&change->buckets[index]);
	lane_search(change, lane);
}

static int bucket_link_at(const struct hash_place *place, unsigned long *bucket)
{
	lull_mem_store(bucket, place->next);
	/*
	 * [hash.bucket:A] compare-and-swap, full order. Pairs with [hash.walk:A].
	 * Orders: the write of the bucket's word before the link by which readers reach the bucket.
	 * Else: a reader finds a bucket's word that is not written yet, takes it for the end of the
	 * list, and misses the nodes behind it.
	 */
	return lull_mem_cas(place->word, place->next, (unsigned long)bucket | RCU_HASH_BUCKET) ==
	       place->next;
}

/* Return: not 0 when the bucket is linked, or unlinked. */
static int lane_step(const struct change *change, struct lane *lane)
{
	unsigned long *bucket = &change->buckets[lane->index];
	enum step step = place_step(change->table, &lane->place, lane->index, 1,
				    change->link ? NULL : bucket);

	if (step == STEP_THERE && (!change->link || bucket_link_at(&lane->place, bucket)))
		return 1;
	if (step == STEP_ON)
		__builtin_prefetch(element(lane->place.next));
	else
		lane_search(change, lane);
	return 0;
}

void lull_hash_buckets_change(struct rcu_hash *table, unsigned long *buckets, unsigned long index,
			      unsigned long count, int link)
{
	const struct change change = { table, buckets, link, link && buckets != table->buckets };
	struct lane lanes[LANES];
	unsigned long until = index + count;
	unsigned int active = 0, i;

	while (active < LANES && index < until)
		lane_begin(&change, &lanes[active++], index++);
	/* Bound: the nodes of @count buckets, and updates that succeed meanwhile. */
	while (active) {
		for (i = 0; i < active; i++) {
			if (!lane_step(&change, &lanes[i]))
				continue;
			if (index < until)
				lane_begin(&change, &lanes[i], index++);
			else
				lanes[i--] = lanes[--active];
		}
	}
}
