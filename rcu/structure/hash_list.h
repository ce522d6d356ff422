/* SPDX-License-Identifier: MIT */
/*
 * The list under the hash table: what hash.c gives to hash_resize.c, and asks of hash_count.c.
 *
 * hash.c is freestanding, so that the explorer can run it through every interleaving.
 * Paper: T 6.2. Design: docs/design/42-hash.md.
 */
#ifndef LULL_RCU_HASH_LIST_H
#define LULL_RCU_HASH_LIST_H

#include "lull/rcu/hash.h"

/* A place in the list, between two elements, where a new element may go. */
struct hash_place {
	unsigned long *word; /* the word of the element before */
	unsigned long next; /* what that word held: the element behind; never RCU_HASH_REMOVED */
};

/*
 * Links the words of @count buckets from @index on into the list if @link is not 0; else takes them
 * out of it, after which readers may be on them until a grace period has ended. The words are those
 * of the array @buckets. It is the table's, and the highest bit of the indexes is then the same for
 * all of these buckets, so that none of them divides another's nodes; or it is another array, and
 * then the table's array has buckets of the same indexes in the list, all the time.
 */
void lull_hash_buckets_change(struct rcu_hash *table, unsigned long *buckets, unsigned long index,
			      unsigned long count, int link);

/* Counts a node added (1) or deleted (-1), in a table that counts. hash_count.c */
void lull_hash_account(struct rcu_hash *table, long change);

#endif
