/* SPDX-License-Identifier: MIT */
/*
 * The list under the hash table: what hash.c gives to hash_resize.c, and asks of hash_count.c.
 *
 * Freestanding, so that the explorer can run hash.c through every interleaving.
 * Paper: T 6.2. Design: docs/design/42-hash.md.
 */
#ifndef LULL_RCU_HASH_LIST_H
#define LULL_RCU_HASH_LIST_H

#include "lull/rcu/hash.h"

/* A place in the list: where a new element goes. */
struct hash_place {
	unsigned long *word; /* of the element before */
	unsigned long next; /* what it held: the element after; no RCU_HASH_REMOVED */
};

/*
 * Links the words of buckets @index and up into the list, or takes them out, after which there may
 * be readers on them until a grace period has ended. @index is a power of two at least, and
 * index + count not above the next one.
 */
void lull_hash_buckets_change(struct rcu_hash *table, unsigned long index, unsigned long count,
			      int link);

/* Counts a node added (1) or deleted (-1), in a table that counts. hash_count.c */
void lull_hash_account(struct rcu_hash *table, long change);

#endif
