/* SPDX-License-Identifier: MIT */
/* Tables and their objects for the hash table's figures; see rcu_hash.h. */
#include <string.h>

#include "rcu_hash.h"

#ifdef SIDE_PEER

hash_table *hash_table_new(unsigned long minimum, unsigned long maximum)
{
	int flags = maximum ? 0 : CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING;

	return cds_lfht_new(minimum, minimum, maximum, flags, NULL);
}

void hash_table_destroy(hash_table *table)
{
	if (cds_lfht_destroy(table, NULL))
		abort();
}

void hash_table_resize(hash_table *table, unsigned long buckets)
{
	cds_lfht_resize(table, buckets);
}

uint64_t hash_table_walk(hash_table *table)
{
	struct cds_lfht_iter place;
	uint64_t sum = 0;

	for (cds_lfht_first(table, &place); cds_lfht_iter_get_node(&place);
	     cds_lfht_next(table, &place))
		sum += hash_object_of(cds_lfht_iter_get_node(&place))->value;
	return sum;
}

#else

hash_table *hash_table_new(unsigned long minimum, unsigned long maximum)
{
	struct rcu_hash_config config = { .initial_buckets = minimum,
					  .minimum_buckets = minimum,
					  .maximum_buckets = maximum,
					  .flags = maximum ? 0 : RCU_HASH_AUTO_RESIZE };

	return rcu_hash_new(&SIDE_DOMAIN, &config);
}

void hash_table_destroy(hash_table *table)
{
	if (rcu_hash_destroy(table))
		abort();
}

void hash_table_resize(hash_table *table, unsigned long buckets)
{
	if (rcu_hash_resize(table, buckets))
		abort();
}

uint64_t hash_table_walk(hash_table *table)
{
	struct rcu_hash_iterator place;
	uint64_t sum = 0;

	rcu_hash_for_each(table, &place)
		sum += hash_object_of(place.node)->value;
	return sum;
}

#endif

static uint64_t random_next(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

uint32_t *hash_order_new(uint32_t count)
{
	uint32_t *order = malloc(count * sizeof(*order));

	if (!order)
		abort();
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t other = (uint32_t)(random_next() % (i + 1)), value = order[i];

		order[i] = order[other];
		order[other] = value;
	}
	return order;
}

struct hash_object *hash_objects_new(uint32_t count, uint64_t base)
{
	struct hash_object *objects = aligned_alloc(64, (count * sizeof(*objects) + 63) / 64 * 64);
	uint32_t *order = hash_order_new(count);

	if (!objects)
		abort();
	memset(objects, 0, count * sizeof(*objects));
	for (uint32_t i = 0; i < count; i++) {
		objects[i].key = base + order[i];
		objects[i].value = 1;
	}
	free(order);
	return objects;
}

void hash_add_all(hash_table *table, struct hash_object *objects, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rcu_read_lock();
		hash_add(table, &objects[i]);
		rcu_read_unlock();
	}
}

void hash_delete_all(hash_table *table, struct hash_object *objects, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rcu_read_lock();
		if (!hash_delete(table, &objects[i]))
			abort();
		rcu_read_unlock();
	}
	synchronize_rcu();
}

uint64_t hash_count_found(hash_table *table, const uint32_t *keys, uint32_t count, uint64_t base)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct hash_object *object;

		rcu_read_lock();
		object = hash_lookup(table, base + keys[i]);
		if (object)
			found += object->value;
		rcu_read_unlock();
	}
	return found;
}
