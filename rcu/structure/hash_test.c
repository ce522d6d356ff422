// SPDX-License-Identifier: MIT
/* The hash table by one thread at a time: what each call does, sizes, flavours, memory, forks. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../../check/test.h"
#include "hash_table.h"
#include "lull/rcu/flavour/bp.h"
#include "lull/rcu/flavour/mb.h"
#include "lull/rcu/flavour/memb.h"
#include "lull/rcu/flavour/qsbr.h"
#include "lull/rcu/flavour/signal.h"

#define OBJECTS 4096ul
/* How often at most, a millisecond apart, a test looks at a table that the library resizes. */
#define PATIENCE 20000

struct object {
	struct rcu_hash_node node;
	unsigned long key;
	unsigned long met;
};

static struct object objects[OBJECTS];

static unsigned long mixed(unsigned long key)
{
	return key * 0x9e3779b9ul ^ key >> 7;
}

static unsigned long colliding(unsigned long key)
{
	return key % 7 - 3; /* from ~0 - 2 to 3: bucket indices and the end of the order */
}

static struct object *object_of(struct rcu_hash_node *node)
{
	return rcu_hash_entry(node, struct object, node);
}

static int match(struct rcu_hash_node *node, const void *key)
{
	return object_of(node)->key == *(const unsigned long *)key;
}

static struct rcu_hash *table_new(unsigned long initial, unsigned long minimum,
				  unsigned long maximum, unsigned long flags)
{
	struct rcu_hash_config config = { initial, minimum, maximum, flags };

	return rcu_hash_new(&rcu_memb_domain, &config);
}

static struct object *lookup(struct rcu_hash *table, unsigned long hash, unsigned long key)
{
	struct rcu_hash_iterator it;

	rcu_hash_lookup(table, hash, match, &key, &it);
	return it.node ? object_of(it.node) : NULL;
}

static void add_range(struct rcu_hash *table, unsigned long begin, unsigned long until,
		      unsigned long (*hash)(unsigned long))
{
	unsigned long i;

	rcu_memb_read_lock();
	for (i = begin; i < until; i++) {
		objects[i].key = i;
		rcu_hash_add(table, hash(i), &objects[i].node);
	}
	rcu_memb_read_unlock();
}

/* Return: how many were deleted. */
static unsigned long del_range(struct rcu_hash *table, unsigned long begin, unsigned long until)
{
	unsigned long i, count = 0;

	rcu_memb_read_lock();
	for (i = begin; i < until; i++)
		count += !rcu_hash_del(table, &objects[i].node);
	rcu_memb_read_unlock();
	rcu_memb_synchronize();
	return count;
}

/* Whether lookups find each object of a range and no other, and a walk meets each once. */
static int holds(struct rcu_hash *table, unsigned long begin, unsigned long until,
		 unsigned long (*hash)(unsigned long))
{
	struct rcu_hash_iterator it;
	unsigned long i, wrong = 0;

	for (i = 0; i < OBJECTS; i++)
		objects[i].met = 0;
	rcu_memb_read_lock();
	rcu_hash_for_each(table, &it) {
		object_of(it.node)->met++;
	}
	for (i = 0; i < OBJECTS; i++) {
		int in = i >= begin && i < until;

		wrong += objects[i].met != (unsigned long)in;
		wrong += lookup(table, hash(i), i) != (in ? &objects[i] : NULL);
	}
	wrong += rcu_hash_count_nodes(table) != until - begin;
	rcu_memb_read_unlock();
	return !wrong;
}

/* Whether every word of the list is in order, each bucket is in it once, and nothing is marked. */
static int list_in_order(const struct rcu_hash *table)
{
	unsigned long buckets = 1, hash = 0, word = table->buckets[0];

	while (word != RCU_HASH_BUCKET) {
		struct rcu_hash_node *node = (struct rcu_hash_node *)(word & ~RCU_HASH_TAGS);
		unsigned long next_hash;

		if (word & RCU_HASH_REMOVED)
			return 0;
		if (word & RCU_HASH_BUCKET) {
			next_hash = (unsigned long)((unsigned long *)(void *)node - table->buckets);
			buckets++;
		} else {
			next_hash = node->hash;
		}
		/* A bucket comes before the nodes of its own hash. */
		if (next_hash == hash ? (word & RCU_HASH_BUCKET) != 0 :
					!rcu_hash_after(next_hash, hash))
			return 0;
		hash = next_hash;
		word = node->next;
	}
	return buckets == rcu_hash_bucket_count(table);
}

static void one_at_a_time(void)
{
	struct rcu_hash *table = table_new(16, 1, 0, 0);
	struct object *first = &objects[0], *second = &objects[1], *found;
	unsigned long key = 5;

	first->key = second->key = key;
	rcu_memb_read_lock();
	check(!lookup(table, 9, key), "an_empty_table_finds_nothing");
	check(rcu_hash_add_unique(table, 9, match, &key, &first->node) == &first->node &&
		      lookup(table, 9, key) == first && !lookup(table, 9, 6) &&
		      !lookup(table, 25, key) && !lookup(table, 8, key),
	      "a_node_is_found_by_its_hash_and_key_only");
	check(rcu_hash_add_unique(table, 9, match, &key, &second->node) == &first->node &&
		      rcu_hash_count_nodes(table) == 1,
	      "add_unique_returns_the_node_that_is_there");
	check(!rcu_hash_is_deleted(&first->node) &&
		      rcu_hash_add_replace(table, 9, match, &key, &second->node) == &first->node &&
		      lookup(table, 9, key) == second && rcu_hash_count_nodes(table) == 1 &&
		      rcu_hash_is_deleted(&first->node),
	      "add_replace_takes_out_the_node_that_was_there");
	check(rcu_hash_replace(table, &first->node, &objects[2].node) == -ENOENT &&
		      rcu_hash_del(table, &first->node) == -ENOENT,
	      "a_replaced_node_is_neither_replaced_nor_deleted");
	objects[2].key = key;
	check(rcu_hash_replace(table, &second->node, &objects[2].node) == 0 &&
		      lookup(table, 9, key) == &objects[2] && objects[2].node.hash == 9,
	      "replace_puts_a_node_in_the_place_of_another");
	check(rcu_hash_del(table, &objects[2].node) == 0 &&
		      rcu_hash_del(table, &objects[2].node) == -ENOENT &&
		      rcu_hash_is_deleted(&objects[2].node) && !lookup(table, 9, key) &&
		      rcu_hash_count_nodes(table) == 0,
	      "a_node_is_deleted_once");
	rcu_memb_read_unlock();
	rcu_memb_synchronize();
	rcu_memb_read_lock();
	found = object_of(&first->node);
	check(!rcu_hash_add_replace(table, 9, match, &key, &found->node) &&
		      lookup(table, 9, key) == found,
	      "a_node_is_added_again_after_a_grace_period");
	rcu_memb_read_unlock();
	check(rcu_hash_destroy(table) == -EBUSY, "a_table_with_nodes_is_not_destroyed");
	del_range(table, 0, 1);
	check(rcu_hash_destroy(table) == 0, "a_table_without_nodes_is_destroyed");
	rcu_hash_node_init_deleted(&first->node);
	check(rcu_hash_is_deleted(&first->node), "a_node_can_be_made_to_look_deleted");
}

static void duplicates(void)
{
	struct rcu_hash *table = table_new(4, 1, 0, 0);
	unsigned long key = 1, i, order = 0, count = 0;
	struct rcu_hash_iterator it;

	rcu_memb_read_lock();
	for (i = 0; i < 100; i++) { /* nodes of another key with the same hash stand between */
		objects[i].key = i % 2;
		rcu_hash_add(table, 42, &objects[i].node);
	}
	rcu_hash_for_each_duplicate(table, 42, match, &key, &it) {
		order += object_of(it.node) != &objects[99 - 2 * count];
		count++;
	}
	check(count == 50 && !order, "duplicates_are_met_each_once_and_newest_first");
	count = 0;
	rcu_hash_for_each_duplicate(table, 42, match, &key, &it) {
		objects[200].key = 1;
		if (count == 0)
			rcu_hash_add(table, 42, &objects[200].node);
		if (count == 10)
			rcu_hash_replace(table, it.node, &objects[201].node);
		if (count == 11)
			rcu_hash_del(table, it.node);
		count++;
	}
	check(count == 50, "duplicates_added_and_replaced_behind_are_not_met");
	count = 0;
	rcu_hash_for_each(table, &it) {
		count++;
		rcu_hash_del(table, it.node);
	}
	check(count == 100 && !rcu_hash_count_nodes(table), "a_walk_may_delete_what_it_meets");
	rcu_memb_read_unlock();
	rcu_hash_destroy(table);
}

static void added_last(void)
{
	struct rcu_hash *table = table_new(4, 1, 0, 0);
	unsigned long key = 1, i, order = 0, count = 0;
	struct rcu_hash_iterator it;

	rcu_memb_read_lock();
	for (i = 0; i < 100; i++) {
		objects[i].key = i % 2;
		rcu_hash_add_last(table, 42, &objects[i].node);
	}
	rcu_hash_for_each_duplicate(table, 42, match, &key, &it) {
		order += object_of(it.node) != &objects[1 + 2 * count];
		count++;
	}
	check(count == 50 && !order, "duplicates_that_are_added_last_are_met_oldest_first");
	objects[200].key = objects[201].key = 1;
	rcu_hash_del(table, &objects[99].node);
	rcu_hash_add_last(table, 42, &objects[200].node);
	rcu_hash_add(table, 42, &objects[201].node);
	rcu_hash_lookup(table, 42, match, &key, &it);
	check(object_of(it.node) == &objects[201], "one_that_is_added_first_is_met_before_them");
	rcu_hash_for_each_duplicate(table, 42, match, &key, &it)
		i = object_of(it.node) - objects;
	check(i == 200, "the_place_behind_them_is_found_where_the_last_has_left");
	rcu_hash_for_each(table, &it)
		rcu_hash_del(table, it.node);
	rcu_memb_read_unlock();
	check(rcu_hash_destroy(table) == 0, "they_are_deleted");
}

static void sizes(unsigned long (*hash)(unsigned long), const char *name)
{
	struct rcu_hash *table = table_new(1, 1, 1ul << 16, RCU_HASH_ACCOUNTING);
	int right = 1;
	unsigned long size;

	add_range(table, 0, OBJECTS, hash);
	for (size = 1; size <= 1ul << 16; size *= 4)
		right = right && !rcu_hash_resize(table, size) &&
			rcu_hash_bucket_count(table) == size && list_in_order(table) &&
			holds(table, 0, OBJECTS, hash);
	right = right && del_range(table, 0, OBJECTS / 2) == OBJECTS / 2;
	for (; size; size /= 8)
		right = right && !rcu_hash_resize(table, size) && list_in_order(table) &&
			holds(table, OBJECTS / 2, OBJECTS, hash);
	right = right && rcu_hash_count_estimate(table) == OBJECTS / 2 &&
		del_range(table, OBJECTS / 2, OBJECTS) == OBJECTS / 2 &&
		!rcu_hash_count_estimate(table) && !rcu_hash_destroy(table);
	check(right, name);
}

static void limits(void)
{
	struct rcu_hash *table = table_new(100, 3, 1000, 0);
	struct hash_table *inside = hash_table_of(table);
	size_t small_bytes, large_bytes;

	check(rcu_hash_bucket_count(table) == 128 && !rcu_hash_resize(table, 1) &&
		      rcu_hash_bucket_count(table) == 4 && !rcu_hash_resize(table, 1000000) &&
		      rcu_hash_bucket_count(table) == 1024,
	      "sizes_are_rounded_up_and_kept_between_minimum_and_maximum");
	rcu_hash_destroy(table);
	errno = 0;
	check(!table_new(1, 8, 4, 0) && errno == EINVAL && !table_new(1, 1, 1, 64) &&
		      !table_new(1ul << 63, 1, 0, 0) && errno == EINVAL,
	      "configurations_without_sense_are_refused");
	table = table_new(1, 1, 0, 0);
	inside = hash_table_of(table);
	small_bytes = inside->array.committed_bytes;
	check(!rcu_hash_resize(table, 1ul << 20) && rcu_hash_bucket_count(table) == 1ul << 20,
	      "a_table_without_maximum_becomes_large");
	large_bytes = inside->array.committed_bytes;
	check(large_bytes == (sizeof(long) << 20) && !rcu_hash_resize(table, 1) &&
		      inside->array.committed_bytes <= small_bytes + 4096 && list_in_order(table),
	      "a_shrunk_table_gives_its_memory_back");
	rcu_hash_destroy(table);
}

static int comes_to(const struct rcu_hash *table, unsigned long least, unsigned long most)
{
	struct timespec moment = { 0, 1000000 };
	int i;

	for (i = 0; i < PATIENCE; i++) {
		unsigned long size = rcu_hash_bucket_count(table);

		if (size >= least && size <= most)
			return 1;
		nanosleep(&moment, NULL);
	}
	return 0;
}

static void automatic(void)
{
	struct rcu_hash *table = rcu_hash_new(&rcu_memb_domain, NULL);
	struct rcu_hash *bounded = table_new(64, 64, 256, RCU_HASH_AUTO_RESIZE);

	add_range(table, 0, OBJECTS, mixed);
	check(comes_to(table, OBJECTS / 2, OBJECTS * 2) && holds(table, 0, OBJECTS, mixed),
	      "a_table_grows_with_its_nodes");
	del_range(table, 0, OBJECTS);
	check(comes_to(table, 1, 16), "a_table_shrinks_with_its_nodes");
	add_range(bounded, 0, OBJECTS, mixed);
	check(comes_to(bounded, 256, 256) && holds(bounded, 0, OBJECTS, mixed),
	      "a_table_grows_no_further_than_its_maximum");
	del_range(bounded, 0, OBJECTS);
	check(comes_to(bounded, 64, 64), "a_table_shrinks_no_further_than_its_minimum");
	check(!rcu_hash_destroy(table) && !rcu_hash_destroy(bounded),
	      "tables_that_resize_themselves_are_destroyed");
}

static void *resize_unregistered(void *table)
{
	return (void *)(long)rcu_hash_resize(table, 512);
}

/* Whether a table works with a flavour, and both a reader and an unregistered thread resize it. */
static int serves(struct rcu_domain *domain, void (*begin)(void), void (*until)(void))
{
	struct rcu_hash_config config = { 1, 1, 4096, RCU_HASH_ACCOUNTING };
	struct rcu_hash *table = rcu_hash_new(domain, &config);
	void *result = table;
	pthread_t thread;
	unsigned long i, found = 0;
	int right;

	begin();
	for (i = 0; i < 100; i++) {
		objects[i].key = i;
		rcu_hash_add(table, mixed(i), &objects[i].node);
	}
	until();
	right = !rcu_hash_resize(table, 1024) && rcu_hash_bucket_count(table) == 1024;
	right = right && !rcu_hash_resize(table, 4) && rcu_hash_bucket_count(table) == 4;
	begin();
	for (i = 0; i < 100; i++)
		found += lookup(table, mixed(i), i) == &objects[i];
	until();
	if (domain == &rcu_qsbr_domain)
		rcu_qsbr_thread_offline(); /* the other thread waits for a grace period */
	pthread_create(&thread, NULL, resize_unregistered, table);
	pthread_join(thread, &result);
	if (domain == &rcu_qsbr_domain)
		rcu_qsbr_thread_online();
	right = right && found == 100 && !result && rcu_hash_bucket_count(table) == 512;
	begin();
	for (i = 0; i < 100; i++)
		right = right && !rcu_hash_del(table, &objects[i].node);
	until();
	rcu_domain_synchronize(domain);
	return right && !rcu_hash_destroy(table);
}

static void flavours(void)
{
	rcu_mb_register_thread();
	rcu_signal_register_thread();
	rcu_qsbr_register_thread();
	check(serves(&rcu_qsbr_domain, rcu_qsbr_read_lock, rcu_qsbr_read_unlock) &&
		      rcu_qsbr_read_ongoing(),
	      "a_table_serves_qsbr_and_its_reader_stays_online");
	check(serves(&rcu_mb_domain, rcu_mb_read_lock, rcu_mb_read_unlock), "a_table_serves_mb");
	check(serves(&rcu_signal_domain, rcu_signal_read_lock, rcu_signal_read_unlock),
	      "a_table_serves_signal");
	check(serves(&rcu_memb_domain, rcu_memb_read_lock, rcu_memb_read_unlock),
	      "a_table_serves_memb");
	check(serves(&rcu_bp_domain, rcu_bp_read_lock, rcu_bp_read_unlock), "a_table_serves_bp");
	rcu_qsbr_unregister_thread();
	rcu_signal_unregister_thread();
	rcu_mb_unregister_thread();
}

/* In the child: a table that was there grows, explicitly and by itself. */
static int child_works(struct rcu_hash *table)
{
	int right = holds(table, 0, OBJECTS / 4, mixed);

	right = right && !rcu_hash_resize(table, 16);
	add_range(table, OBJECTS / 4, OBJECTS, mixed);
	right = right && comes_to(table, OBJECTS / 2, OBJECTS * 2);
	return right && holds(table, 0, OBJECTS, mixed) &&
	       del_range(table, 0, OBJECTS) == OBJECTS && !rcu_hash_destroy(table);
}

static void forks(void)
{
	int i, status, right = 1;

	for (i = 0; i < 10 && right; i++) {
		struct rcu_hash *table = table_new(1, 1, 0, RCU_HASH_AUTO_RESIZE);
		pid_t child;

		add_range(table, 0, OBJECTS / 4, mixed); /* the fork finds it being resized */
		child = fork();
		if (!child) {
			alarm(20);
			_exit(!child_works(table));
		}
		right = waitpid(child, &status, 0) == child && !status &&
			holds(table, 0, OBJECTS / 4, mixed);
		del_range(table, 0, OBJECTS / 4);
		right = right && !rcu_hash_destroy(table);
	}
	check(right, "a_forked_child_goes_on_with_its_tables");
}

/* As a thread leaves it that is not in the child: it has asked, and not yet put it on the stack. */
static void forks_while_a_thread_asks(void)
{
	struct rcu_hash *table = table_new(1, 1, 0, RCU_HASH_AUTO_RESIZE);
	int status, right;
	pid_t child;

	lull_mem_store(&hash_table_of(table)->queued, lull_hash_generation);
	child = fork();
	if (!child) {
		add_range(table, 0, OBJECTS / 4, mixed);
		_exit(!comes_to(table, OBJECTS / 8, OBJECTS));
	}
	right = waitpid(child, &status, 0) == child && !status;
	check(right && !rcu_hash_destroy(table),
	      "a_child_resizes_a_table_for_which_another_thread_was_asking");
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Updates on one CPU count there only, while the table is large. Another CPU's come after it. */
static void limits_of_a_shrunk_table(void)
{
	struct rcu_hash *table = table_new(1ul << 16, 1, 0, RCU_HASH_AUTO_RESIZE);
	cpu_set_t before;

	sched_getaffinity(0, sizeof(before), &before);
	run_on(0);
	add_range(table, 0, 64, mixed);
	check(!rcu_hash_resize(table, 1) && rcu_hash_bucket_count(table) == 1,
	      "a_table_with_nodes_is_shrunk");
	run_on(1); /* where there is none, it stays on its CPU, whose counter it uses again */
	add_range(table, 64, 65, mixed);
	check(comes_to(table, 64, 128), "and_grows_by_what_was_counted_on_other_CPUs");
	sched_setaffinity(0, sizeof(before), &before);
	del_range(table, 0, 65);
	rcu_hash_destroy(table);
}

/* Random calls, whose results are compared with those of an array. */
static void random_calls(unsigned int seed)
{
	struct rcu_hash *table = table_new(4, 1, 1024, RCU_HASH_ACCOUNTING);
	static struct object *in[64]; /* by key */
	unsigned long i, wrong = 0, count = 0;

	memset(in, 0, sizeof(in));
	for (i = 0; i < 200000; i++) {
		unsigned long key = (unsigned long)rand_r(&seed) % 64, hash = colliding(key);
		struct object *other = &objects[key * 2], *was = in[key];
		struct rcu_hash_node *got;

		other += other == was;
		if (was != other)
			other->key = key;
		rcu_memb_read_lock();
		switch (rand_r(&seed) % 5) {
		case 0:
			got = rcu_hash_add_unique(table, hash, match, &key, &other->node);
			wrong += got != (was ? &was->node : &other->node);
			in[key] = was ? was : other;
			break;
		case 1:
			got = rcu_hash_add_replace(table, hash, match, &key, &other->node);
			wrong += got != (was ? &was->node : NULL);
			in[key] = other;
			break;
		case 2:
			if (was)
				wrong += rcu_hash_replace(table, &was->node, &other->node) != 0;
			in[key] = was ? other : NULL;
			break;
		case 3:
			if (was)
				wrong += rcu_hash_del(table, &was->node) != 0;
			in[key] = NULL;
			break;
		default:
			wrong += lookup(table, hash, key) != was;
		}
		rcu_memb_read_unlock();
		count += (in[key] != NULL) - (was != NULL);
		if (rand_r(&seed) % 256 == 0)
			wrong += rcu_hash_resize(table, (unsigned long)rand_r(&seed) % 1024) != 0;
	}
	wrong += rcu_hash_count_nodes(table) != count || rcu_hash_count_estimate(table) != count ||
		 !list_in_order(table);
	check(!wrong, "random_calls_do_what_an_array_says");
	for (i = 0; i < 64; i++)
		if (in[i])
			rcu_hash_del(table, &in[i]->node);
	rcu_hash_destroy(table);
}

int main(void)
{
	rcu_memb_register_thread();
	one_at_a_time();
	duplicates();
	added_last();
	sizes(mixed, "every_size_holds_the_same_nodes_in_order");
	sizes(colliding, "every_size_holds_nodes_of_few_hashes_in_order");
	limits();
	automatic();
	flavours();
	forks();
	forks_while_a_thread_asks();
	limits_of_a_shrunk_table();
	random_calls(1);
	rcu_memb_unregister_thread();
	return sums();
}
