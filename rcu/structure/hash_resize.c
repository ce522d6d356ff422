// SPDX-License-Identifier: MIT
/*
 * Resizing: step by step from the present number of buckets to the number wanted.
 *
 *	grow	memory -> link buckets size..2 size-1 -> [hash.grow:A] mask = 2 size - 1 -> again
 *	shrink	mask = size/2 - 1 -> grace period: no thread starts at a bucket above the mask
 *		-> unlink those -> grace period: no thread is on them -> memory back -> again
 *
 * When shrinking goes on, one grace period is the second of a halving and the first of the next.
 *
 * Buckets are in one array. When they need a larger one, or a smaller one is enough, they move, and
 * the list has each of them twice for a time:
 *
 *	move	memory -> link a copy behind each bucket -> grace period
 *		-> operations start at the copies -> unlink the old buckets
 *		-> grace period: no thread is on them -> memory back
 *
 * While the list has words of both arrays, an address outside of the one is in the other: so the
 * number of words that both have is published before the first copy. The first grace period is for
 * readers: those who find the new array also find its words written, and that number, without a
 * barrier of their own. The old buckets need no grace period before they are unlinked, as shrinking
 * does: each leads to its copy, and no node comes between, so that a thread that starts at an old
 * bucket goes on in the list, and changes no word of the old array.
 *
 * A step is short, and is made with the lock held; the thread waits for grace periods without the
 * lock. Another thread that takes the lock can continue the resize, in the other direction too, and
 * so can a forked child.
 * Barriers, invariants: hash.c. Design: docs/design/42-hash.md. Paper: T 6.2.
 */
#include "grace.h"
#include "hash_table.h"

#include <errno.h>

/* How many buckets one step links or unlinks, at most. */
#ifndef STEP_BUCKETS
#define STEP_BUCKETS 1024ul
#endif

/* After a step: the table has its size; make another step; wait for a grace period; no memory. */
enum outcome { SETTLED, AGAIN, GRACE, FAILED };

struct lull_lock lull_hash_lock = LULL_LOCK_INITIALIZER;
unsigned long lull_hash_generation = 1;

/* The calling thread as a reader, which it need not be before the resize and after it. */
struct visit {
	struct rcu_domain *domain;
	struct rcu_reader *self;
	int guest; /* not 0: it is registered for the resize only */
	int online; /* not 0: it was online before, and must be again afterwards */
};

static struct visit visit_begin(struct rcu_domain *domain)
{
	struct visit visit = { .domain = domain, .self = rcu_domain_self(domain) };

	visit.guest = rcu_visit_begin(domain);
	if (rcu_reader_ongoing(visit.self)) {
		if (domain->kind != RCU_KIND_QSBR)
			rcu_domain_misuse(visit.self, "resizes a hash table within a read-side "
						      "critical section: it would wait for itself");
		rcu_reader_offline(domain, visit.self);
		visit.online = !visit.guest;
	}
	return visit;
}

static void visit_end(const struct visit *visit)
{
	rcu_visit_end(visit->domain, visit->guest);
	if (visit->online)
		rcu_reader_online(visit->domain, visit->self);
}

static void publish(struct hash_table *table, unsigned long size)
{
	if (size < hash_size(table)) {
		table->stale = 1;
		table->step_seq++;
	}
	/*
	 * [hash.grow:A] the full compare-and-swaps that linked the buckets, earlier under the lock.
	 * Pairs with [hash.start:A].
	 * Orders: the writes of the new buckets' words before the mask that leads lookups to them.
	 * Else: a lookup starts at a new bucket whose word it sees as not written yet, and misses
	 * nodes that are in the table.
	 */
	rcu_annotate_release(table);
	lull_mem_store(&table->shared.mask, size - 1);
	lull_hash_limits_set(table);
}

/*
 * Begins to move the buckets to an array of another size, for @least buckets at least. All that are
 * in the list have room in it, and a grace period has passed since others were. Return: 0, -ENOMEM.
 */
static int move_begin(struct hash_table *table, unsigned long least)
{
	unsigned long last = table->array.room - 1;

	if (lull_hash_memory_take(table, least, table->target))
		return -ENOMEM;
	if (lull_hash_count_prepare(table, table->other.room)) {
		lull_hash_memory_leave(table);
		return -ENOMEM;
	}
	rcu_annotate_release(table); /* the new array's memory, before readers find it */
	lull_mem_store(&table->shared.both,
		       (unsigned long)table->array.buckets + (unsigned long)table->other.buckets);
	if (table->other.room <= last)
		lull_mem_store(&table->shared.last, table->other.room - 1);
	table->moved = 0;
	table->move = HASH_LINK_COPIES;
	return 0;
}

/* Changes a part of the buckets in `other`, of which @count are left. Return: how many. */
static unsigned long move_some(struct hash_table *table, unsigned long count, int link)
{
	if (count > STEP_BUCKETS)
		count = STEP_BUCKETS;
	lull_hash_buckets_change(&table->shared, table->other.buckets,
				 link ? table->moved : table->moved - count, count, link);
	return count;
}

static enum outcome move_await(struct hash_table *table, enum hash_move next)
{
	table->move = next;
	table->stale = 1;
	table->step_seq++;
	return GRACE;
}

static void move_switch(struct hash_table *table)
{
	struct hash_array before = table->array;

	table->array = table->other;
	table->other = before;
	/*
	 * Relaxed: a grace period has passed since the copies were written. A section that reads
	 * this address began after that grace period did, and finds each copy written, and each
	 * node to which one leads. ThreadSanitizer does not see this order, and is told.
	 */
	rcu_annotate_release(table);
	lull_mem_store_pointer(&table->shared.buckets, table->array.buckets);
	table->move = HASH_UNLINK_OLD;
}

static enum outcome move_step(struct hash_table *table)
{
	if (table->stale)
		return GRACE;
	switch (table->move) {
	case HASH_LINK_COPIES:
		if (table->moved == table->linked)
			return move_await(table, HASH_SWITCH);
		table->moved += move_some(table, table->linked - table->moved, 1);
		break;
	case HASH_SWITCH:
		move_switch(table);
		break;
	case HASH_UNLINK_OLD:
		/* Nothing leads to the old array's first bucket. */
		if (table->moved == 1) {
			table->moved = 0;
			return move_await(table, HASH_LEAVE);
		}
		table->moved -= move_some(table, table->moved - 1, 0);
		break;
	default:
		lull_hash_memory_leave(table);
		lull_mem_store(&table->shared.last, table->array.room - 1);
		lull_hash_count_spread(table);
		table->move = HASH_STAY;
	}
	return AGAIN;
}

static enum outcome grow(struct hash_table *table, unsigned long size)
{
	unsigned long count = 2 * size - table->linked;

	if (!count) {
		publish(table, 2 * size);
		return AGAIN;
	}
	if (table->dirty > table->linked)
		return GRACE;
	if (2 * size > table->array.room)
		return move_begin(table, 2 * size) ? FAILED : AGAIN;
	if (lull_hash_memory_commit(&table->array, 2 * size))
		return FAILED;
	if (count > STEP_BUCKETS)
		count = STEP_BUCKETS;
	lull_hash_buckets_change(&table->shared, table->array.buckets, table->linked, count, 1);
	table->linked += count;
	table->dirty = table->linked;
	return AGAIN;
}

/* Takes out the buckets above the size; when none is left there, halves the size. */
static enum outcome shrink(struct hash_table *table, unsigned long size)
{
	unsigned long count = table->linked - size;

	if (!count && table->target < size) {
		publish(table, size / 2);
		return GRACE;
	}
	if (!count && table->dirty > size)
		return GRACE;
	if (!count)
		return lull_hash_memory_excess(table, size) && !move_begin(table, size) ? AGAIN :
											  SETTLED;
	if (table->stale)
		return GRACE;
	if (count > STEP_BUCKETS)
		count = STEP_BUCKETS;
	table->linked -= count;
	table->step_seq++;
	lull_hash_buckets_change(&table->shared, table->array.buckets, table->linked, count, 0);
	return AGAIN;
}

/* One step. It is called with the lock held, and, in a table that others see, within a section. */
static enum outcome resize_step(struct hash_table *table)
{
	unsigned long size = hash_size(table);

	if (table->move != HASH_STAY)
		return move_step(table);
	return table->target > size ? grow(table, size) : shrink(table, size);
}

/* It is called without the lock, outside sections. @seq: step_seq, as the last step left it. */
static void wait_grace(struct hash_table *table, unsigned long seq)
{
	rcu_domain_synchronize(table->domain);
	lull_lock_take(&lull_hash_lock);
	/* If another thread took further steps meanwhile, this grace period may not cover those. */
	if (table->step_seq == seq) {
		table->stale = 0;
		table->dirty = table->linked;
		lull_hash_memory_trim(&table->array, table->linked);
	}
	lull_lock_release(&lull_hash_lock);
}

int lull_hash_driven(const struct hash_table *table)
{
	return table->drivers && table->generation == lull_hash_generation;
}

void lull_hash_driver_arrive(struct hash_table *table)
{
	if (table->generation != lull_hash_generation)
		table->drivers = 0;
	table->generation = lull_hash_generation;
	table->drivers++;
}

/* Frees the table if it was destroyed meanwhile. */
static void driver_leave(struct hash_table *table)
{
	int last;

	lull_lock_take(&lull_hash_lock);
	last = !--table->drivers && table->dying;
	lull_lock_release(&lull_hash_lock);
	if (last)
		lull_hash_free(table);
}

int lull_hash_drive(struct hash_table *table, unsigned long target)
{
	struct visit visit = visit_begin(table->domain);
	int automatic = !target;
	enum outcome outcome;
	unsigned long seq;

	/* Bound: the buckets from the present number to the target, which updates may set anew. */
	do {
		lull_lock_take(&lull_hash_lock);
		if (automatic) {
			unsigned long wanted = lull_hash_size_wanted(table);

			if (wanted != hash_size(table))
				table->target = target = wanted;
			else if (!target)
				target = table->target;
		}
		rcu_reader_online(visit.domain, visit.self);
		outcome = table->dying || table->target != target ? SETTLED : resize_step(table);
		rcu_reader_offline(visit.domain, visit.self);
		if (outcome == FAILED)
			table->target = hash_size(table);
		seq = table->step_seq;
		lull_lock_release(&lull_hash_lock);
		if (outcome == GRACE)
			wait_grace(table, seq);
	} while (outcome == AGAIN || outcome == GRACE);
	driver_leave(table);
	visit_end(&visit);
	return outcome == FAILED ? -ENOMEM : 0;
}

int lull_hash_build(struct hash_table *table)
{
	enum outcome outcome;

	do { /* bound: the buckets to begin with */
		outcome = resize_step(table);
	} while (outcome == AGAIN);
	return outcome == FAILED ? -ENOMEM : 0;
}

int rcu_hash_resize(struct rcu_hash *shared, unsigned long buckets)
{
	struct hash_table *table = hash_table_of(shared);
	unsigned long target = table->minimum;

	while (target < buckets && target < table->maximum)
		target *= 2;
	lull_lock_take(&lull_hash_lock);
	table->target = target;
	lull_hash_driver_arrive(table);
	lull_lock_release(&lull_hash_lock);
	return lull_hash_drive(table, target);
}
