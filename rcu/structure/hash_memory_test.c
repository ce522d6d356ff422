// SPDX-License-Identifier: MIT
/* A hash table's memory: what small tables take, moves between arrays, memory that is denied. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../check/test.h"
#include "hash_table.h"
#include "lull/rcu/flavour/memb.h"

#define TABLES 100000ul
#define TABLE_BYTES 1200ul
#define LOADED_TABLES 40000ul /* more than there may be with a mapping or two each */
#define LOADED_NODES 40ul
#define READERS 2
#define ROUNDS 40
#define LASTING 64ul
#define LARGE (1ul << 14)

struct object {
	struct rcu_hash_node node;
	unsigned long key;
};

static struct object lasting[LASTING];
static struct object coming[LARGE];

static unsigned long mixed(unsigned long key)
{
	return key * 0x9e3779b9ul ^ key >> 7;
}

static int match(struct rcu_hash_node *node, const void *key)
{
	return rcu_hash_entry(node, struct object, node)->key == *(const unsigned long *)key;
}

static struct rcu_hash *table_new(unsigned long initial, unsigned long flags)
{
	struct rcu_hash_config config = { initial, 1, 0, flags };

	return rcu_hash_new(&rcu_memb_domain, &config);
}

static void add(struct rcu_hash *table, struct object *object, unsigned long key)
{
	object->key = key;
	rcu_memb_read_lock();
	rcu_hash_add(table, mixed(key), &object->node);
	rcu_memb_read_unlock();
}

static int holds(struct rcu_hash *table, struct object *object)
{
	struct rcu_hash_iterator it;
	int found;

	rcu_memb_read_lock();
	rcu_hash_lookup(table, mixed(object->key), match, &object->key, &it);
	found = it.node == &object->node;
	rcu_memb_read_unlock();
	return found;
}

/* Addresses in use, and memory behind them; in bytes. */
static void process_bytes(unsigned long *addresses, unsigned long *memory)
{
	FILE *file = fopen("/proc/self/statm", "r");

	*addresses = *memory = 0;
	if (file && fscanf(file, "%lu %lu", addresses, memory) != 2)
		*addresses = *memory = 0;
	if (file)
		fclose(file);
	*addresses *= (unsigned long)sysconf(_SC_PAGESIZE);
	*memory *= (unsigned long)sysconf(_SC_PAGESIZE);
}

static void many_tables(void)
{
	struct rcu_hash **tables = calloc(TABLES, sizeof(struct rcu_hash *));
	struct object *objects = calloc(TABLES, sizeof(*objects));
	unsigned long addresses, memory, addresses_now, memory_now, heap, made, used = 0, left = 0;
	unsigned long i, destroyed = 0;

	process_bytes(&addresses, &memory);
	heap = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (made = 0; made < TABLES; made++) {
		tables[made] = table_new(1, RCU_HASH_AUTO_RESIZE | RCU_HASH_ACCOUNTING);
		if (!tables[made])
			break;
	}
	heap = mallinfo2().uordblks + mallinfo2().hblkhd - heap;
	process_bytes(&addresses_now, &memory_now);
	printf("# %lu tables; a table: %lu bytes of the heap, %lu of memory, %lu of addresses\n",
	       made, heap / TABLES, (memory_now - memory) / TABLES,
	       (addresses_now - addresses) / TABLES);
	check(made == TABLES, "a_hundred_thousand_tables_can_be_made");
#if LULL_MEM_SANITIZED
	skip("an_empty_table_takes_1200_bytes_at_most", "sanitizers have a heap of their own");
#else
	check(heap <= TABLES * TABLE_BYTES && memory_now - memory <= TABLES * TABLE_BYTES &&
		      addresses_now - addresses <= 2 * TABLES * TABLE_BYTES,
	      "an_empty_table_takes_1200_bytes_at_most");
#endif
	for (i = 0; i < made; i++)
		add(tables[i], &objects[i], i);
	for (i = 0; i < made; i++) {
		used += holds(tables[i], &objects[i]);
		rcu_memb_read_lock();
		left += rcu_hash_del(tables[i], &objects[i].node) != 0;
		rcu_memb_read_unlock();
	}
	for (i = 0; i < made; i++)
		destroyed += !rcu_hash_destroy(tables[i]);
	check(used == TABLES && !left && destroyed == TABLES, "they_are_all_usable");
	rcu_memb_synchronize();
	free(objects);
	free(tables);
}

static void tables_that_cannot_be_made(void)
{
	unsigned long i, heap, wrong = 0;

	heap = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (i = 0; i < 100; i++) {
		errno = 0;
		wrong += table_new(1, ~0ul) || errno != EINVAL;
	}
	check(!wrong, "a_table_that_there_cannot_be_is_refused");
	heap = mallinfo2().uordblks + mallinfo2().hblkhd - heap;
#if LULL_MEM_SANITIZED
	skip("and_leaves_no_memory_behind", "sanitizers have a heap of their own");
#else
	check(!heap, "and_leaves_no_memory_behind");
#endif
}

/* With a few nodes each, tables are larger than they begin, and take no mappings. */
static void many_loaded_tables(void)
{
	struct rcu_hash **tables = calloc(LOADED_TABLES, sizeof(struct rcu_hash *));
	struct object *objects = calloc(LOADED_NODES, sizeof(*objects));
	unsigned long i, ready = 0;

	for (i = 0; i < LOADED_NODES; i++)
		objects[i].key = i;
	for (i = 0; i < LOADED_TABLES; i++) {
		tables[i] = table_new(2 * LOADED_NODES, RCU_HASH_ACCOUNTING);
		ready += tables[i] && rcu_hash_bucket_count(tables[i]) >= 2 * LOADED_NODES;
	}
	check(ready == LOADED_TABLES, "forty_thousand_tables_with_buckets_for_a_few_nodes_fit");
	for (i = 0; i < LOADED_TABLES; i++)
		if (tables[i])
			rcu_hash_destroy(tables[i]);
	free(objects);
	free(tables);
}

struct reading {
	struct rcu_hash *table;
	unsigned long stop;
	unsigned long missed;
};

static void *read_on(void *argument)
{
	struct reading *reading = argument;
	unsigned long i, met;
	struct rcu_hash_iterator it;

	rcu_memb_register_thread();
	while (!lull_mem_load(&reading->stop)) {
		for (i = 0; i < LASTING; i++)
			if (!holds(reading->table, &lasting[i]))
				lull_mem_add(&reading->missed, 1);
		met = 0;
		rcu_memb_read_lock();
		rcu_hash_for_each(reading->table, &it) {
			met += rcu_hash_entry(it.node, struct object, node)->key < LASTING;
		}
		rcu_memb_read_unlock();
		if (met != LASTING)
			lull_mem_add(&reading->missed, 1);
	}
	rcu_memb_unregister_thread();
	return NULL;
}

/* Sizes on either side of each place where a table changes its array, back and forth. */
static unsigned long resize_all(struct rcu_hash *table)
{
	static const unsigned long sizes[] = { 1, 64, 16, LARGE, 4096, 1024, LARGE, 256, 512, 32 };
	unsigned long i, wrong = 0;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		wrong += rcu_hash_resize(table, sizes[i]) != 0 ||
			 rcu_hash_bucket_count(table) != sizes[i];
	return wrong;
}

static void moves(void)
{
	struct reading reading = { .table = table_new(1, RCU_HASH_ACCOUNTING) };
	const struct hash_table *inside = hash_table_of(reading.table);
	unsigned long i, round, wrong = 0, ranges = 0;
	pthread_t readers[READERS];

	for (i = 0; i < LASTING; i++)
		add(reading.table, &lasting[i], i);
	for (i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, read_on, &reading);
	for (round = 0; round < ROUNDS; round++) {
		unsigned long key = LASTING + round % 8 * 500;

		for (i = 0; i < 500; i++)
			add(reading.table, &coming[i], key + i);
		wrong += resize_all(reading.table);
		for (i = 0; i < 500; i++)
			wrong += !holds(reading.table, &coming[i]);
		wrong += rcu_hash_resize(reading.table, LARGE) != 0;
		ranges += inside->array.memory && inside->array.room >= LARGE;
		rcu_memb_read_lock();
		for (i = 0; i < 500; i++)
			wrong += rcu_hash_del(reading.table, &coming[i].node) != 0;
		rcu_memb_read_unlock();
		rcu_memb_synchronize();
		wrong += rcu_hash_resize(reading.table, 1) != 0;
		wrong += inside->array.buckets != inside->own || inside->other.buckets;
	}
	lull_mem_store(&reading.stop, 1);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	check(ranges == ROUNDS, "a_table_moves_to_a_range_of_addresses_when_it_is_large");
	check(!wrong, "and_back_into_its_own_memory_when_it_is_small");
	check(!reading.missed, "readers_find_every_node_all_the_while");
	check(rcu_hash_count_estimate(reading.table) == LASTING,
	      "the_count_stays_exact_when_it_is_spread_over_the_processors");
	check(rcu_hash_destroy(reading.table) == -EBUSY, "a_table_with_nodes_is_told_from_empty");
	for (i = 0; i < LASTING; i++) {
		rcu_memb_read_lock();
		rcu_hash_del(reading.table, &lasting[i].node);
		rcu_memb_read_unlock();
	}
	rcu_memb_synchronize();
	check(!rcu_hash_destroy(reading.table), "and_destroyed_when_it_is_empty");
}

/* In a child whose addresses are limited to those that it has, and some. Return: its status. */
static int denied(void)
{
	unsigned long addresses, memory, i, size;
	struct rcu_hash *table = table_new(1, 0);
	struct rlimit limit;
	int error;

	for (i = 0; i < LASTING; i++)
		add(table, &lasting[i], i);
	process_bytes(&addresses, &memory);
	limit.rlim_cur = limit.rlim_max = addresses + (64ul << 10);
	if (!table || setrlimit(RLIMIT_AS, &limit))
		return 1;
	error = rcu_hash_resize(table, 1ul << 20);
	size = rcu_hash_bucket_count(table);
	if (error != -ENOMEM || size >= 1ul << 20)
		return 2;
	errno = 0;
	if (table_new(1ul << 20, 0) || errno != ENOMEM)
		return 3;
	for (i = 0; i < LASTING; i++)
		if (!holds(table, &lasting[i]))
			return 4;
	return rcu_hash_resize(table, 1) || rcu_hash_bucket_count(table) != 1 ? 5 : 0;
}

static void no_memory(void)
{
	static const char name[] = "addresses_that_cannot_be_had_are_an_error";
	int status = -1;
	pid_t child;

#if LULL_MEM_SANITIZED
	skip(name, "sanitizers reserve addresses of their own");
	return;
#endif
	child = fork();
	if (!child) {
		alarm(20);
		_exit(denied());
	}
	waitpid(child, &status, 0);
	if (status)
		printf("# the child's status: %#x\n", (unsigned int)status);
	check(!status, name);
}

int main(void)
{
	rcu_memb_register_thread();
	no_memory();
	many_tables();
	tables_that_cannot_be_made();
	many_loaded_tables();
	moves();
	rcu_memb_unregister_thread();
	return sums();
}
