// SPDX-License-Identifier: MIT
/*
 * Tables under liburcu's names: what urcu/rculfhash.h does not do inline.
 *
 * A table made with thread attributes must give them back when it is destroyed. Ours has no room
 * for them, and next to no program uses them: they are in a list beside the tables.
 */
#include <stdlib.h>

#include <urcu/rculfhash.h>

const struct cds_lfht_mm_type cds_lfht_mm_order = { "order" };
const struct cds_lfht_mm_type cds_lfht_mm_chunk = { "chunk" };
const struct cds_lfht_mm_type cds_lfht_mm_mmap = { "mmap" };

struct attributes {
	struct attributes *next;
	struct cds_lfht *table;
	pthread_attr_t *thread;
};

static struct attributes *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. Bound: tables that were made with attributes and not destroyed. */
static pthread_attr_t *forget(const struct cds_lfht *table)
{
	struct attributes **link, *found;
	pthread_attr_t *thread;

	for (link = &kept; *link && (*link)->table != table;)
		link = &(*link)->next;
	found = *link;
	if (!found)
		return NULL;
	*link = found->next;
	thread = found->thread;
	free(found);
	return thread;
}

static int is_power_of_two(unsigned long n)
{
	return n && !(n & (n - 1));
}

struct cds_lfht *_cds_lfht_new(unsigned long init_size, unsigned long min_nr_alloc_buckets,
			       unsigned long max_nr_buckets, int flags,
			       const struct cds_lfht_mm_type *mm,
			       const struct rcu_flavor_struct *flavor, pthread_attr_t *attr)
{
	const struct rcu_hash_config config = {
		.initial_buckets = init_size,
		.minimum_buckets = min_nr_alloc_buckets,
		.maximum_buckets = max_nr_buckets,
		.flags = (flags & CDS_LFHT_AUTO_RESIZE ? RCU_HASH_AUTO_RESIZE : 0) |
			 (flags & CDS_LFHT_ACCOUNTING ? RCU_HASH_ACCOUNTING : 0),
	};
	struct attributes *attributes = NULL;
	struct cds_lfht *table;

	(void)mm;
	if (!is_power_of_two(init_size) || !is_power_of_two(min_nr_alloc_buckets) ||
	    (max_nr_buckets && !is_power_of_two(max_nr_buckets)))
		return NULL;
	if (attr) {
		attributes = malloc(sizeof(*attributes));
		if (!attributes)
			return NULL;
	}
	table = (struct cds_lfht *)rcu_hash_new(flavor->domain, &config);
	if (!table || !attributes) {
		free(attributes);
		return table;
	}
	attributes->table = table;
	attributes->thread = attr;
	pthread_mutex_lock(&lock);
	attributes->next = kept;
	kept = attributes;
	pthread_mutex_unlock(&lock);
	return table;
}

struct cds_lfht *_cds_lfht_new_with_alloc(unsigned long init_size,
					  unsigned long min_nr_alloc_buckets,
					  unsigned long max_nr_buckets, int flags,
					  const struct cds_lfht_mm_type *mm,
					  const struct rcu_flavor_struct *flavor,
					  const struct cds_lfht_alloc *alloc, pthread_attr_t *attr)
{
	(void)alloc;
	return _cds_lfht_new(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, mm, flavor,
			     attr);
}

int cds_lfht_destroy(struct cds_lfht *ht, pthread_attr_t **attr)
{
	pthread_attr_t *thread = NULL;
	int error;

	/* One table at a time: the next one made may have the address of this one. */
	pthread_mutex_lock(&lock);
	error = rcu_hash_destroy((struct rcu_hash *)ht);
	if (!error)
		thread = forget(ht);
	pthread_mutex_unlock(&lock);
	if (error)
		return -EPERM;
	if (attr)
		*attr = thread;
	return 0;
}
