/* SPDX-License-Identifier: MIT */
/*
 * A hash table behind its list: memory, counters, the state of a resize, the queue for the worker.
 *
 *	update -> hash_count.c -> hash_worker.c -> hash_resize.c -> hash_memory.c
 *
 * Which threads write and read each part:
 *	domain, counter_mask,	hash_table.c and hash_count.c, before other threads see the table
 *	flags to maximum
 *	batch, grow_above,	hash_resize.c, under the lock; updates read them
 *	shrink_below
 *	count, queued	updates; the worker sets queued back
 *	target and below	threads that hold the lock (lull_hash_lock)
 * Design: docs/design/42-hash.md. Paper: T 6.4.5.
 */
#ifndef LULL_RCU_HASH_TABLE_H
#define LULL_RCU_HASH_TABLE_H

#include <limits.h>
#include <stddef.h>
#include "hash_list.h"
#include "rcu_port.h"

#define HASH_LINE_BYTES 64

/* Nodes that updates on some CPUs added, less those deleted, and did not yet move to the count. */
struct rcu_hash_counter {
	unsigned long pending; /* signed */
} __attribute__((aligned(HASH_LINE_BYTES)));

struct hash_table {
	struct rcu_hash shared; /* first: the same address */
	struct rcu_domain *domain;
	unsigned long counter_mask;
	unsigned long batch; /* an update moves a counter of more than this to the count */
	long grow_above; /* nodes */
	long shrink_below;
	unsigned long flags;
	unsigned long minimum; /* buckets */
	unsigned long maximum;

	/* Nodes in the table, but for those that the counters hold; signed. */
	unsigned long count __attribute__((aligned(HASH_LINE_BYTES)));
	unsigned long queued; /* not 0 while the table waits for the worker, which sets it to 0 */
	struct hash_table *queue_next;

	/*
	 * A resize may stop after each step, and another thread, or a forked child, may continue it
	 * by these words. Buckets below `linked` are in the list; operations start at those below
	 * mask + 1. Buckets from `linked` to `dirty` are out of the list, and readers may be on
	 * them.
	 */
	unsigned long target __attribute__((aligned(HASH_LINE_BYTES)));
	unsigned long linked;
	unsigned long dirty;
	unsigned long step_seq; /* counts changes that a grace period must follow */
	int stale; /* not 0: operations may still start at buckets above mask */
	int dying; /* not 0: it was destroyed, and the thread that resizes it frees it */
	unsigned int drivers; /* threads that resize it, of this generation (hash_resize.c) */
	unsigned int generation; /* of the process in which those threads are */

	char *memory; /* the reserved addresses; NULL: the buckets lie in the heap */
	size_t memory_bytes;
	size_t committed_bytes;
};

static inline struct hash_table *hash_table_of(const struct rcu_hash *shared)
{
	return (struct hash_table *)shared;
}

static inline unsigned long hash_size(const struct hash_table *table)
{
	return lull_mem_load(&table->shared.mask) + 1;
}

/* Held during each step of a resize of any table, and for the worker's list. Steps are short. */
extern struct lull_lock lull_hash_lock;

/* host/hash_count.c. Return: 0, -ENOMEM. */
int lull_hash_count_start(struct hash_table *table);
void lull_hash_limits_set(struct hash_table *table);
unsigned long lull_hash_size_wanted(const struct hash_table *table);

/* host/hash_memory.c. Numbers are of buckets. Return: 0, -ENOMEM. */
int lull_hash_memory_reserve(struct hash_table *table, unsigned long least);
int lull_hash_memory_commit(struct hash_table *table, unsigned long buckets);
void lull_hash_memory_trim(struct hash_table *table, unsigned long buckets);
void lull_hash_memory_free(struct hash_table *table);

/*
 * hash_resize.c. Brings a new table to the number of buckets to begin with, before other threads
 * see it. Return: 0, -ENOMEM.
 */
int lull_hash_build(struct hash_table *table);
/*
 * Brings a table to @target buckets, or with 0 to the number that its count of nodes wants, unless
 * another target is set meanwhile. The caller has arrived as a driver; this call leaves as one.
 * Return: 0, -ENOMEM.
 */
int lull_hash_drive(struct hash_table *table, unsigned long target);
/* The next two are called with the lock held. */
void lull_hash_driver_arrive(struct hash_table *table);
int lull_hash_driven(const struct hash_table *table);
/* In a forked child, which has none of the threads that resized tables. */
void lull_hash_drivers_forget(void);

/* host/hash_worker.c. Return: 0 or an error number, negative. */
int lull_hash_worker_start(void);
void lull_hash_worker_kick(struct hash_table *table);
void lull_hash_worker_forget(struct hash_table *table); /* with the lock held */

/* host/hash_table.c */
void lull_hash_free(struct hash_table *table);

#endif
