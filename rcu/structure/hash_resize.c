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
/* Counts forks from child to child: drivers of another generation are not in this process. */
static unsigned int generation;

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
	lull_mem_store(&table->shared.mask, size - 1);
	lull_hash_limits_set(table);
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
	if (lull_hash_memory_commit(table, 2 * size))
		return FAILED;
	if (count > STEP_BUCKETS)
		count = STEP_BUCKETS;
	lull_hash_buckets_change(&table->shared, table->linked, count, 1);
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
	if (!count)
		return table->dirty > size ? GRACE : SETTLED;
	if (table->stale)
		return GRACE;
	if (count > STEP_BUCKETS)
		count = STEP_BUCKETS;
	table->linked -= count;
	table->step_seq++;
	lull_hash_buckets_change(&table->shared, table->linked, count, 0);
	return AGAIN;
}

/* One step. It is called with the lock held, and, in a table that others see, within a section. */
static enum outcome resize_step(struct hash_table *table)
{
	unsigned long size = hash_size(table);

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
		lull_hash_memory_trim(table, table->linked);
	}
	lull_lock_release(&lull_hash_lock);
}

int lull_hash_driven(const struct hash_table *table)
{
	return table->drivers && table->generation == generation;
}

void lull_hash_drivers_forget(void)
{
	generation++;
}

void lull_hash_driver_arrive(struct hash_table *table)
{
	if (table->generation != generation)
		table->drivers = 0;
	table->generation = generation;
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
