/* SPDX-License-Identifier: MIT */
/*
 * A hash table behind its list: memory, counters, the state of a resize, the queue for the worker.
 *
 *	update -> hash_count.c -> hash_worker.c -> hash_resize.c -> hash_memory.c
 *
 * Which threads write and read each part:
 *	domain, flags to	hash_table.c, before other threads see the table
 *	maximum
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

/* The buckets that a table has in its own memory. */
#define HASH_OWN_BUCKETS 32ul

/*
 * Nodes that updates on some CPUs added, less those deleted, and did not yet move to the count. The
 * first of several in a row counts nothing, but says how many follow it.
 */
struct rcu_hash_counter {
	union {
		unsigned long pending; /* signed */
		unsigned long mask; /* their number, which is a power of two, less 1 */
	};
} __attribute__((aligned(HASH_LINE_BYTES)));

/* Room for buckets: a table's own, in the heap, or a range of addresses. */
struct hash_array {
	unsigned long *buckets; /* NULL: there is no such array */
	unsigned long room; /* how many; a power of two */
	char *memory; /* the reserved addresses; NULL: this is no range */
	size_t memory_bytes;
	size_t committed_bytes;
};

/* How far the buckets are on their way from one array to the other (hash_resize.c). */
enum hash_move { HASH_STAY, HASH_LINK_COPIES, HASH_SWITCH, HASH_UNLINK_OLD, HASH_LEAVE };

struct hash_table {
	struct rcu_hash shared; /* first: the same address */
	struct rcu_domain *domain;
	unsigned long batch; /* an update moves a counter of more than this to the count */
	long grow_above; /* nodes */
	long shrink_below;
	unsigned long flags;
	unsigned long minimum; /* buckets */
	unsigned long maximum;

	/* Nodes in the table, but for those that the counters hold; signed. */
	unsigned long count __attribute__((aligned(HASH_LINE_BYTES)));
	unsigned long queued; /* lull_hash_generation while the table waits for the worker */
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
	unsigned long moved; /* buckets below have words of both arrays in the list */
	enum hash_move move;
	int stale; /* not 0: a grace period comes before the next step but growing */
	int dying; /* not 0: it was destroyed, and the thread that resizes it frees it */
	unsigned int drivers; /* threads that resize it, of this generation (below) */
	unsigned long generation; /* lull_hash_generation when they came */

	struct hash_array array; /* that of `shared` */
	struct hash_array other; /* to which the buckets move, or from which */
	struct rcu_hash_counter *spread; /* counters for CPUs, once the table is not small */

	struct rcu_hash_counter counters[2]; /* one, for all CPUs */
	unsigned long own[HASH_OWN_BUCKETS];
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
/* Counts forks from child to child, from 1. What threads of a parent began has an older number. */
extern unsigned long lull_hash_generation;

/* host/hash_count.c */
void lull_hash_count_start(struct hash_table *table);
/*
 * Makes counters for the CPUs, if the table counts and so many buckets are worth that; and lets
 * updates use them. There is a grace period in between. Return: 0, -ENOMEM.
 */
int lull_hash_count_prepare(struct hash_table *table, unsigned long buckets);
void lull_hash_count_spread(struct hash_table *table);
void lull_hash_limits_set(struct hash_table *table);
unsigned long lull_hash_size_wanted(const struct hash_table *table);

/* host/hash_memory.c. Numbers are of buckets. Return: 0, -ENOMEM. */
int lull_hash_memory_start(struct hash_table *table, unsigned long initial);
int lull_hash_memory_commit(struct hash_array *array, unsigned long buckets);
void lull_hash_memory_trim(struct hash_array *array, unsigned long buckets);
/*
 * Makes `other`, with memory for the buckets that are linked, and room for @least at least; if it
 * can be had, with the room that suits @wanted.
 */
int lull_hash_memory_take(struct hash_table *table, unsigned long least, unsigned long wanted);
/* Whether a smaller array, which is no range, suits so many. */
int lull_hash_memory_excess(const struct hash_table *table, unsigned long buckets);
/* Frees `other`. */
void lull_hash_memory_leave(struct hash_table *table);
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

/* host/hash_worker.c. Return: 0 or an error number, negative. */
int lull_hash_worker_start(void);
void lull_hash_worker_kick(struct hash_table *table);
void lull_hash_worker_forget(struct hash_table *table); /* with the lock held */

/* host/hash_table.c */
void lull_hash_free(struct hash_table *table);

#endif
