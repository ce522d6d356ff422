/* SPDX-License-Identifier: MIT */
/*
 * The measured program of the hash table's figures, and its samples in one thread, in CPU time.
 *
 *	lookup NODES OPERATIONS         hits, misses, and walks over all nodes
 *	update NODES OPERATIONS         add, add_replace, delete, add_unique; fixed size
 *	grow NODES OPERATIONS           adds and deletes in a table that sizes itself
 *	pair NODES MS                   two threads (rcu_hash_pair.c)
 *	resize NODES MS nobody|lookups|updates   explicit resizes beside them
 *
 * Where a table does not do what it should, the program aborts.
 */
#include <malloc.h>
#include <string.h>

#include "rcu_hash.h"

struct clocked {
	struct timing timing;
	double ns;
};

static void begin(struct clocked *clocked)
{
	timing_begin(&clocked->timing);
}

static void until(struct clocked *clocked)
{
	timing_end(&clocked->timing);
	clocked->ns += (double)clocked->timing.cpu_ns;
}

static uint64_t turn_count(uint64_t operation_count, uint32_t count)
{
	uint64_t turns = operation_count / count;

	return turns ? turns : 1;
}

int hash_answer_lookup(uint32_t count, uint64_t operation_count)
{
	hash_table *table = hash_table_new(count, count);
	struct hash_object *objects = hash_objects_new(count, 0);
	uint32_t *keys = hash_order_new(count);
	uint64_t turns = turn_count(operation_count, count), found = 0, missed = 0, walked = 0;
	struct clocked hit = { 0 }, miss = { 0 }, walk = { 0 };
	double all = (double)(turns * count);

	hash_add_all(table, objects, count);
	hash_count_found(table, keys, count, 0);
	begin(&hit);
	for (uint64_t i = 0; i < turns; i++)
		found += hash_count_found(table, keys, count, 0);
	until(&hit);
	begin(&miss);
	for (uint64_t i = 0; i < turns; i++)
		missed += hash_count_found(table, keys, count, count);
	until(&miss);
	begin(&walk);
	for (uint64_t i = 0; i < turns; i++) {
		rcu_read_lock();
		walked += hash_table_walk(table);
		rcu_read_unlock();
	}
	until(&walk);
	if (found != turns * count || missed || walked != turns * count)
		abort();
	hash_delete_all(table, objects, count);
	hash_table_destroy(table);
	free(objects);
	free(keys);
	printf("hit_ns=%.3f miss_ns=%.3f walk_ns=%.3f\n", hit.ns / all, miss.ns / all,
	       walk.ns / all);
	return 0;
}

/* One operation on every object, in an order of its own. */
static void each(struct clocked *clocked, hash_table *table, struct hash_object *objects,
		 const uint32_t *order, uint32_t count,
		 bool (*operation)(hash_table *table, struct hash_object *object))
{
	begin(clocked);
	for (uint32_t i = 0; i < count; i++) {
		rcu_read_lock();
		if (!operation(table, &objects[order[i]]))
			abort();
		rcu_read_unlock();
	}
	until(clocked);
	synchronize_rcu();
}

int hash_answer_update(uint32_t count, uint64_t operation_count)
{
	hash_table *table = hash_table_new(count, count);
	struct hash_object *objects = hash_objects_new(count, 0);
	struct hash_object *others = hash_objects_new(count, 0);
	uint32_t *order = hash_order_new(count);
	uint64_t turns = turn_count(operation_count, count);
	struct clocked add = { 0 }, unique = { 0 }, replace = { 0 }, delete = { 0 };
	double all = (double)(turns * count);

	for (uint64_t i = 0; i < turns; i++) {
		begin(&add);
		hash_add_all(table, objects, count);
		until(&add);
		each(&replace, table, others, order, count, hash_add_replace);
		each(&delete, table, others, order, count, hash_delete);
		each(&unique, table, objects, order, count, hash_add_unique);
		hash_delete_all(table, objects, count);
	}
	hash_table_destroy(table);
	free(objects);
	free(others);
	free(order);
	printf("add_ns=%.3f unique_ns=%.3f replace_ns=%.3f delete_ns=%.3f\n", add.ns / all,
	       unique.ns / all, replace.ns / all, delete.ns / all);
	return 0;
}

int hash_answer_grow(uint32_t count, uint64_t operation_count)
{
	struct hash_object *objects = hash_objects_new(count, 0);
	uint64_t turns = turn_count(operation_count, count);
	struct clocked add = { 0 }, delete = { 0 };
	double all = (double)(turns * count);

	for (uint64_t i = 0; i < turns; i++) {
		hash_table *table = hash_table_new(1, 0);

		begin(&add);
		hash_add_all(table, objects, count);
		until(&add);
		begin(&delete);
		hash_delete_all(table, objects, count);
		until(&delete);
		hash_table_destroy(table);
	}
	free(objects);
	printf("add_ns=%.3f delete_ns=%.3f\n", add.ns / all, delete.ns / all);
	return 0;
}

static int answer(const char *line)
{
	char load[16];
	unsigned int count, cpu;
	unsigned long long operations;

	if (sscanf(line, "pin %u", &cpu) == 1) {
		timing_pin(cpu);
		printf("pinned=%u\n", cpu);
		return 0;
	}
	if (sscanf(line, "lookup %u %llu", &count, &operations) == 2)
		return hash_answer_lookup(count, operations);
	if (sscanf(line, "update %u %llu", &count, &operations) == 2)
		return hash_answer_update(count, operations);
	if (sscanf(line, "grow %u %llu", &count, &operations) == 2)
		return hash_answer_grow(count, operations);
	if (sscanf(line, "pair %u %llu", &count, &operations) == 2)
		return hash_answer_pair(count, (unsigned int)operations);
	if (sscanf(line, "resize %u %llu %15s", &count, &operations, load) == 3)
		return hash_answer_resize(count, (unsigned int)operations, load);
	return -1;
}

int main(void)
{
	char line[256];

	/* Memory stays with the program: no sample pays for pages that another gave back. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	rcu_register_thread();
	printf("ready hash=1\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (answer(line)) {
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr, "bench subject: cannot run the command '%s'\n", line);
			return 2;
		}
		fflush(stdout);
	}
	rcu_unregister_thread();
	return 0;
}
