// SPDX-License-Identifier: MIT
/*
 * Hash tables come and go. Design: docs/design/42-hash.md. Paper: T 6.2.
 */
#include "hash_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS (RCU_HASH_AUTO_RESIZE | RCU_HASH_ACCOUNTING)
/* Half of the words that addresses leave room for. */
#define BUCKETS_MOST (1ul << (sizeof(long) * 8 - 8))

static unsigned long power_of_two(unsigned long number)
{
	unsigned long power = 1;

	while (power < number)
		power *= 2;
	return power;
}

/* Return: 0 or an error number, negative. */
static int prepare(struct hash_table *table, const struct rcu_hash_config *config)
{
	unsigned long initial = config->initial_buckets;
	int error;

	if ((config->flags & ~FLAGS) || config->minimum_buckets > BUCKETS_MOST ||
	    config->maximum_buckets > BUCKETS_MOST || initial > BUCKETS_MOST)
		return -EINVAL;
	table->flags = config->flags;
	table->minimum = power_of_two(config->minimum_buckets);
	table->maximum = config->maximum_buckets ? power_of_two(config->maximum_buckets) : 0;
	if (table->maximum && table->minimum > table->maximum)
		return -EINVAL;
	initial = power_of_two(initial > table->minimum ? initial : table->minimum);
	if (table->maximum && initial > table->maximum)
		initial = table->maximum;
	error = lull_hash_memory_start(table, initial);
	if (!error)
		error = lull_hash_count_prepare(table, table->array.room);
	if (error)
		return error;
	lull_hash_count_start(table);
	table->shared.buckets[0] = RCU_HASH_BUCKET;
	table->target = initial;
	lull_hash_limits_set(table);
	error = lull_hash_build(table);
	if (!error && (table->flags & RCU_HASH_AUTO_RESIZE))
		error = lull_hash_worker_start();
	return error;
}

struct rcu_hash *rcu_hash_new(struct rcu_domain *domain, const struct rcu_hash_config *config)
{
	static const struct rcu_hash_config usual = { .flags = RCU_HASH_AUTO_RESIZE };
	struct hash_table *table = aligned_alloc(HASH_LINE_BYTES, sizeof(*table));
	int error;

	if (!table) {
		errno = ENOMEM;
		return NULL;
	}
	memset(table, 0, sizeof(*table));
	table->domain = domain;
	error = prepare(table, config ? config : &usual);
	if (error) {
		lull_hash_free(table);
		errno = -error;
		return NULL;
	}
	return &table->shared;
}

/* With the lock held. Only buckets follow buckets in a list without nodes. */
static int is_empty(const struct hash_table *table)
{
	unsigned long i;

	for (i = 0; i < table->linked; i++)
		if (!(lull_mem_load(&table->array.buckets[i]) & RCU_HASH_BUCKET))
			return 0;
	for (i = 0; i < table->moved; i++)
		if (!(lull_mem_load(&table->other.buckets[i]) & RCU_HASH_BUCKET))
			return 0;
	return 1;
}

int rcu_hash_destroy(struct rcu_hash *shared)
{
	struct hash_table *table = hash_table_of(shared);
	int empty, driven = 0;

	lull_lock_take(&lull_hash_lock);
	empty = is_empty(table);
	if (empty) {
		driven = lull_hash_driven(table);
		table->dying = 1;
		lull_hash_worker_forget(table);
	}
	lull_lock_release(&lull_hash_lock);
	if (!empty)
		return -EBUSY;
	if (!driven)
		lull_hash_free(table);
	return 0;
}

void lull_hash_free(struct hash_table *table)
{
	lull_hash_memory_free(table);
	free(table->spread);
	free(table);
}
