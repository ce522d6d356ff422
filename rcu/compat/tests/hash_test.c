// SPDX-License-Identifier: MIT
/* The hash table under liburcu's names: results, errors, walks, and two threads that update it. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <urcu.h>
#include <urcu/rculfhash.h>

#include "../../../check/test.h"

#define KEYS 1000
#define ROUNDS 100000

struct entry {
	long key;
	int version;
	struct cds_lfht_node node;
	struct rcu_head head;
};

static int match(struct cds_lfht_node *node, const void *key)
{
	return caa_container_of(node, struct entry, node)->key == *(const long *)key;
}

static unsigned long hash(long key)
{
	return (unsigned long)key * 0x9e3779b97f4a7c15UL >> 7;
}

static struct entry *make(long key, int version)
{
	struct entry *made = calloc(1, sizeof(*made));

	made->key = key;
	made->version = version;
	cds_lfht_node_init(&made->node);
	return made;
}

static void reclaim(struct rcu_head *head)
{
	struct entry *entry = caa_container_of(head, struct entry, head);

	memset(entry, 0x55, sizeof(*entry));
	free(entry);
}

static struct entry *find(struct cds_lfht *table, long key)
{
	struct cds_lfht_iter iter;

	cds_lfht_lookup(table, hash(key), match, &key, &iter);
	return cds_lfht_entry(cds_lfht_iter_get_node(&iter), struct entry, node);
}

static void allocator(void)
{
	static const struct cds_lfht_alloc own = { .state = NULL };
	struct cds_lfht *table =
		cds_lfht_new_with_flavor_alloc(4, 1, 64, 0, &rcu_flavor, &own, NULL);

	check(table && !cds_lfht_destroy(table, NULL), "a_table_with_an_allocator_is_made");
}

static void empty(struct cds_lfht *table)
{
	struct cds_lfht_iter iter;
	struct entry *entry;

	rcu_read_lock();
	cds_lfht_for_each_entry(table, &iter, entry, node) if (!cds_lfht_del(table, &entry->node))
		call_rcu(&entry->head, reclaim);
	rcu_read_unlock();
}

static void sizes(void)
{
	pthread_attr_t attributes, *back = NULL;
	struct cds_lfht *table, *other;

	check(!cds_lfht_new(3, 1, 0, 0, NULL) && !cds_lfht_new(4, 3, 0, 0, NULL) &&
		      !cds_lfht_new(4, 1, 5, 0, NULL) && !cds_lfht_new(0, 1, 0, 0, NULL),
	      "sizes_are_powers_of_two");
	pthread_attr_init(&attributes);
	table = cds_lfht_new(4, 1, 64, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, &attributes);
	other = _cds_lfht_new(1, 1, 0, 0, &cds_lfht_mm_chunk, &rcu_flavor, NULL);
	check(table && other, "tables_are_made");
	check(!cds_lfht_destroy(other, &back) && !back, "a_table_without_attributes_gives_none");
	check(!cds_lfht_destroy(table, &back) && back == &attributes,
	      "a_table_gives_its_attributes_back");
	pthread_attr_destroy(&attributes);
}

static void single(struct cds_lfht *table)
{
	struct entry *first = make(5, 1), *second = make(5, 2), *third = make(5, 3);
	struct cds_lfht_iter iter;
	long key = 5;

	rcu_read_lock();
	check(!find(table, 5), "what_was_not_added_is_not_found");
	check(cds_lfht_add_unique(table, hash(5), match, &key, &first->node) == &first->node &&
		      cds_lfht_add_unique(table, hash(5), match, &key, &second->node) ==
			      &first->node,
	      "a_key_is_added_once");
	check(cds_lfht_add_replace(table, hash(5), match, &key, &second->node) == &first->node &&
		      find(table, 5) == second && cds_lfht_is_node_deleted(&first->node),
	      "a_key_is_replaced");
	cds_lfht_lookup(table, hash(5), match, &key, &iter);
	check(cds_lfht_replace(table, &iter, hash(6), match, &key, &third->node) == -EINVAL,
	      "a_node_is_not_replaced_under_another_hash");
	key = 6;
	check(cds_lfht_replace(table, &iter, hash(5), match, &key, &third->node) == -EINVAL,
	      "a_node_is_not_replaced_under_another_key");
	key = 5;
	check(!cds_lfht_replace(table, &iter, hash(5), match, &key, &third->node) &&
		      find(table, 5) == third,
	      "a_found_node_is_replaced");
	check(cds_lfht_replace(table, &iter, hash(5), match, &key, &first->node) == -ENOENT,
	      "a_replaced_node_is_not_replaced_again");
	check(cds_lfht_destroy(table, NULL) == -EPERM, "a_table_with_nodes_stays");
	check(!cds_lfht_del(table, &third->node) && cds_lfht_del(table, &third->node) == -ENOENT &&
		      cds_lfht_del(table, NULL) == -ENOENT && !find(table, 5),
	      "a_node_is_removed_once");
	rcu_read_unlock();
	call_rcu(&first->head, reclaim);
	call_rcu(&second->head, reclaim);
	call_rcu(&third->head, reclaim);
}

static void many(struct cds_lfht *table)
{
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;
	unsigned long count;
	long before, after, sum = 0, key = 7;
	int found = 0, copies = 0;
	struct entry *entry;

	rcu_read_lock();
	for (long i = 0; i < KEYS; i++)
		for (int copy = 0; copy < 1 + (i == 7) * 2; copy++)
			cds_lfht_add(table, hash(i), &make(i, copy)->node);
	rcu_read_unlock();
	cds_lfht_resize(table, 256);
	rcu_read_lock();
	cds_lfht_count_nodes(table, &before, &count, &after);
	check(count == KEYS + 2 && before == KEYS + 2 && after == KEYS + 2, "nodes_are_counted");
	cds_lfht_for_each(table, &iter, node) sum +=
		caa_container_of(node, struct entry, node)->key;
	check(sum == KEYS * (KEYS - 1) / 2 + 14, "a_walk_meets_each_node_once");
	for (long i = 0; i < KEYS; i++)
		found += find(table, i) != NULL;
	check(found == KEYS, "each_key_is_found");
	cds_lfht_for_each_entry_duplicate(table, hash(7), match, &key, &iter, entry, node) copies |=
		1 << entry->version;
	cds_lfht_for_each_duplicate(table, hash(7), match, &key, &iter, node) copies += 10;
	check(copies == 37, "duplicates_are_met");
	copies = 0;
	cds_lfht_for_each_entry_duplicate(table, hash(7), match, &key, &iter, entry, node) copies =
		10 * copies + entry->version;
	check(copies == 12, "duplicates_are_met_in_the_order_in_which_they_were_added");
	rcu_read_unlock();
	empty(table);
	cds_lfht_resize(table, 1);
	rcu_read_lock();
	cds_lfht_first(table, &iter);
	check(!cds_lfht_iter_get_node(&iter), "an_emptied_table_has_no_first");
	rcu_read_unlock();
}

static struct cds_lfht *shared;
static int doubles;
static long added, removed;

/* Keys come and go in all ways that keep them unique; each walk of a key meets one at most. */
static void *updater(void *seed)
{
	unsigned int random = (unsigned int)(long)seed;

	rcu_register_thread();
	for (int i = 0; i < ROUNDS; i++) {
		long key = rand_r(&random) % 64;
		struct cds_lfht_iter iter;
		struct cds_lfht_node *node;
		struct entry *mine = make(key, i), *old = NULL;
		int copies = 0;

		rcu_read_lock();
		cds_lfht_for_each_duplicate(shared, hash(key), match, &key, &iter, node) copies++;
		if (copies > 1)
			uatomic_inc(&doubles);
		switch (i % 3) {
		case 0:
			node = cds_lfht_add_unique(shared, hash(key), match, &key, &mine->node);
			if (node == &mine->node)
				uatomic_inc(&added);
			else
				free(mine);
			break;
		case 1:
			node = cds_lfht_add_replace(shared, hash(key), match, &key, &mine->node);
			old = cds_lfht_entry(node, struct entry, node);
			uatomic_inc(&added);
			break;
		default:
			free(mine);
			cds_lfht_lookup(shared, hash(key), match, &key, &iter);
			node = cds_lfht_iter_get_node(&iter);
			if (!cds_lfht_del(shared, node))
				old = cds_lfht_entry(node, struct entry, node);
		}
		rcu_read_unlock();
		if (old) {
			uatomic_inc(&removed);
			call_rcu(&old->head, reclaim);
		}
	}
	rcu_unregister_thread();
	return NULL;
}

static void contended(void)
{
	pthread_t thread[2];
	unsigned long count;
	long before, after;

	shared = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
	for (long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, updater, (void *)(i + 1));
	for (int i = 0; i < 50; i++)
		cds_lfht_resize(shared, 1UL << (i % 8));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	rcu_read_lock();
	cds_lfht_count_nodes(shared, &before, &count, &after);
	rcu_read_unlock();
	check(!doubles, "a_unique_key_is_never_met_twice");
	check((long)count == added - removed && before == (long)count,
	      "two_threads_and_resizes_lose_no_node");
	empty(shared);
	rcu_barrier();
	check(!cds_lfht_destroy(shared, NULL), "an_emptied_table_is_destroyed");
}

int main(void)
{
	struct cds_lfht *table;

	rcu_register_thread();
	sizes();
	allocator();
	table = cds_lfht_new(1, 1, 0, CDS_LFHT_ACCOUNTING, NULL);
	single(table);
	many(table);
	rcu_barrier();
	check(!cds_lfht_destroy(table, NULL), "a_table_is_destroyed");
	contended();
	rcu_unregister_thread();
	return sums();
}
