// SPDX-License-Identifier: MIT
/*
 * The hash table in every order in which the steps of a few updates and resizes can happen.
 *
 * The explorer runs the shipped hash.c and hash_resize.c. Histories must be linearizable as those
 * of a map; a walk must meet each node that stays exactly once; and no thread may reach a node or a
 * bucket after its grace period, when it is overwritten. docs/design/11-sched.md and 42-hash.md.
 */
#include <string.h>
#include "sched.h"
#include "lull/rcu/memory.h"

/* The function whose compare-and-swap becomes a load and a store; or NULL. */
static const char *torn;
/* The function whose acquire loads become relaxed ones; or NULL. */
static const char *plain;

static unsigned long cas_in(const char *function, unsigned long *p, unsigned long expect,
			    unsigned long desired)
{
	unsigned long found;

	if (!torn || strcmp(torn, function))
		return lull_mem_cas(p, expect, desired);
	found = lull_mem_load(p);
	if (found == expect)
		lull_mem_store(p, desired);
	return found;
}

static unsigned long load_in(const char *function, const unsigned long *p)
{
	return plain && !strcmp(plain, function) ? lull_mem_load(p) : lull_mem_load_acquire(p);
}

#define lull_mem_cas(p, expect, desired) cas_in(__func__, (p), (expect), (desired))
#define lull_mem_load_acquire(p) load_in(__func__, (p))
#define STEP_BUCKETS 2ul
#define LANES 2u
/* The lock lies in the explorer's memory. */
#define lull_hash_lock (*lock)
#include "hash_table.h"

static void section_begin(uint32_t thread);
static void section_end(uint32_t thread);
/* A step of a resize is a section of its thread. */
#define rcu_reader_online(domain, reader) section_begin((uint32_t)((reader)->tid))
#define rcu_reader_offline(domain, reader) section_end((uint32_t)((reader)->tid))
#include "hash.c"
#include "hash_resize.c"
#include "map_sched_test.h"

#define NODES 5u
#define LASTING 2u /* the key of a node that stays */
#define THREADS 4u /* the last one is a handler that interrupts the first */
#define BUCKETS 4u
#define POISON 0xdead0000ul /* no address of the explorer's */

/* Indexes of a scenario's parameters. */
enum {
	HASHES, /* the keys' hashes, one digit each, that of key 0 last */
	PREFILL, /* bit n: key n is in the table at first */
	SIZE, /* how many buckets the table has at first; next digit: room for so many, or 0: all */
	PROGRAM, /* each thread's digits of enum instruction, the first instruction last */
	FAULT = PROGRAM + THREADS,
};

/* Instructions are about key 0; with OTHER added, about key 1. */
enum instruction {
	STOP,
	ADD,
	DEL,
	ADD_REPLACE,
	LOOKUP,
	REPLACE,
	OTHER = 5,
	GROW = 11,
	SHRINK,
	WALK,
	ADD_LAST /* of key 0, which no other thread adds */
};

enum fault {
	SOUND,
	MARK,
	LINK,
	UNLINK,
	REPLACED,
	BUCKET,
	NO_FIRST_GRACE,
	NO_SECOND_GRACE,
	NO_MOVE_GRACE, /* the first of a move after the two of a shrinking */
	START_PLAIN,
	LOOKUP_PLAIN,
	WALK_PLAIN,
	PLACE_PLAIN,
	STEP_PLAIN,
	NEXT_PLAIN,
	FAULTS
};

static const char *const functions[FAULTS] = {
	[MARK] = "element_mark", [LINK] = "link_at",	      [UNLINK] = "place_step",
	[REPLACED] = "replace",	 [BUCKET] = "bucket_link_at",
};

static const char *const loads[FAULTS] = {
	[START_PLAIN] = "rcu_hash_bucket", [LOOKUP_PLAIN] = "rcu_hash_lookup",
	[WALK_PLAIN] = "rcu_hash_walk",	   [PLACE_PLAIN] = "place_begin",
	[STEP_PLAIN] = "place_step",	   [NEXT_PLAIN] = "walk_advance",
};

enum node_status { FRESH, SHARED, LEAVING, POISONED, PRIVATE };

/* Ghost memory. */
struct books {
	struct map_history history;
	uint8_t sections; /* bit n: thread n is in a section */
	uint8_t graces; /* grace periods for which resizing threads have waited */
	uint8_t awaited[THREADS]; /* bit n: this thread waits for thread n's section */
	uint8_t status[NODES];
	uint8_t held[NODES]; /* bit n: thread n's section may reach this node that left */
};

struct object {
	struct rcu_hash_node node;
	unsigned long key;
	unsigned long number; /* 1 more than the number of the operation that put it */
};

static const long *parameter;
static struct books *books;
static struct hash_table *table;
static unsigned long *small, *large; /* arrays of buckets */
static struct object *objects;
static struct rcu_reader *readers;
static uint32_t *left; /* futex: sections that ended, while a thread waits for them */

static unsigned long hash_of(unsigned long key)
{
	unsigned long hashes = (unsigned long)parameter[HASHES];

	return hashes >> 4 * key & 15;
}

static struct object *object_of(struct rcu_hash_node *node)
{
	uintptr_t offset = (uintptr_t)node - (uintptr_t)objects;

	sched_check(offset < NODES * sizeof(*objects), "what is found is not a node");
	return (struct object *)(void *)node;
}

static int match(struct rcu_hash_node *node, const void *key)
{
	const struct object *object = object_of(node);

	sched_check(object->number != POISON, "a reader holds a reclaimed node");
	return object->key == *(const unsigned long *)key;
}

#include "hash_host_sched_test.h"

/* A node to add: one that was reclaimed, if there is one. */
static struct object *object_new(unsigned long key, uint32_t number)
{
	uint32_t i, chosen = NODES;

	for (i = 0; i < NODES; i++)
		if (books->status[i] == PRIVATE || (books->status[i] == FRESH && chosen == NODES))
			chosen = i;
	sched_check(chosen < NODES, "no node is left to add");
	books->status[chosen] = SHARED;
	objects[chosen].key = key;
	objects[chosen].number = number + 1;
	return &objects[chosen];
}

/* A node was taken out: its grace period begins. */
static void retire(struct rcu_hash_node *node)
{
	uint32_t i = (uint32_t)(object_of(node) - objects);

	sched_check(books->status[i] == SHARED, "a node is taken out twice");
	books->status[i] = LEAVING;
	books->held[i] = books->sections;
}

static unsigned long number_of(struct rcu_hash_node *node)
{
	return node ? object_of(node)->number : 0;
}

static struct rcu_hash_node *lookup(unsigned long key)
{
	uint32_t number = map_begin(&books->history, MAP_GET, key, 0);
	struct rcu_hash_iterator it;

	rcu_hash_lookup(&table->shared, hash_of(key), match, &key, &it);
	map_end(&books->history, number, number_of(it.node));
	return it.node;
}

static void add(unsigned long key, int replaces)
{
	uint32_t number = map_begin(&books->history, replaces ? MAP_PUT : MAP_ADD, key, 0);
	struct object *object = object_new(key, number);
	struct rcu_hash_node *in;

	if (replaces)
		in = rcu_hash_add_replace(&table->shared, hash_of(key), match, &key, &object->node);
	else
		in = rcu_hash_add_unique(&table->shared, hash_of(key), match, &key, &object->node);
	map_end(&books->history, number, in == &object->node ? 0 : number_of(in));
	if (replaces && in)
		retire(in);
	if (!replaces && in != &object->node)
		books->status[object - objects] = PRIVATE;
}

static void add_last(void)
{
	uint32_t number = map_begin(&books->history, MAP_ADD, 0, 0);
	struct object *object = object_new(0, number);

	rcu_hash_add_last(&table->shared, hash_of(0), &object->node);
	map_end(&books->history, number, 0);
}

static void remove_or_replace(unsigned long key, int replaces)
{
	struct rcu_hash_node *old = lookup(key);
	struct object *object = NULL;
	uint32_t number;
	int error;

	if (!old)
		return;
	number = map_begin(&books->history, replaces ? MAP_EXCHANGE : MAP_REMOVE, key,
			   number_of(old));
	if (replaces) {
		object = object_new(key, number);
		error = rcu_hash_replace(&table->shared, old, &object->node);
	} else {
		error = rcu_hash_del(&table->shared, old);
	}
	map_end(&books->history, number, !error);
	if (!error)
		retire(old);
	else if (object)
		books->status[object - objects] = PRIVATE;
}

/* Walks over all nodes: it must meet the node that stays once, and no key twice. */
static void walk(void)
{
	struct rcu_hash_iterator it;
	uint32_t met[KEYS] = { 0 };

	rcu_hash_for_each(&table->shared, &it) {
		const struct object *object = object_of(it.node);

		sched_check(object->number != POISON, "a walk holds a reclaimed node");
		sched_check(!met[object->key]++, "a walk meets a key twice");
	}
	sched_check(met[LASTING] || !(parameter[PREFILL] >> LASTING & 1),
		    "a walk passes over a node that stays");
}

static void run(long thread)
{
	uint32_t self = (uint32_t)thread;
	long program;

	for (program = parameter[PROGRAM + thread]; program; program >>= 4) {
		long instruction = program & 15;
		unsigned long key = instruction > OTHER && instruction <= 2 * OTHER;

		if (instruction == GROW || instruction == SHRINK) {
			unsigned long size = table->target;

			rcu_hash_resize(&table->shared, instruction == GROW ? 2 * size : size / 2);
			continue;
		}
		/* A step, so that the section may begin later than the thread. */
		lull_mem_load32(left);
		section_begin(self);
		switch (key ? instruction - OTHER : instruction) {
		case WALK:
			walk();
			break;
		case ADD_LAST:
			add_last();
			break;
		case LOOKUP:
			lookup(key);
			break;
		case ADD:
		case ADD_REPLACE:
			add(key, instruction == ADD_REPLACE + (long)key * OTHER);
			break;
		default:
			remove_or_replace(key, instruction == REPLACE + (long)key * OTHER);
		}
		section_end(self);
	}
}

static void setup(const struct sched_scenario *scenario)
{
	static const char *const names[THREADS] = { "first", "second", "third", "handler" };
	const int first = 0;
	uint32_t i;

	parameter = scenario->parameter;
	torn = plain = NULL;
	table = sched_alloc(sizeof(*table), 64);
	objects = sched_alloc(NODES * sizeof(*objects), 64);
	readers = sched_alloc(THREADS * sizeof(*readers), 64);
	lock = sched_alloc(sizeof(*lock), 64);
	left = sched_alloc(sizeof(*left), 64);
	books = sched_ghost(sizeof(*books));
	memset(books, 0, sizeof(*books));
	/* Side by side, so that a word of one array can be taken for one behind the other's end. */
	small = sched_alloc((small_room() + BUCKETS) * sizeof(long), 64);
	large = small + small_room();
	sched_name(small, small_room() * sizeof(long), "small");
	sched_name(large, BUCKETS * sizeof(long), "large");
	sched_name(&table->shared.mask, sizeof(long), "mask");
	sched_name(objects, NODES * sizeof(*objects), "objects");
	table->domain = &domain_of_table;
	table->minimum = 1;
	table->maximum = BUCKETS;
	lull_hash_memory_take(table, (unsigned long)parameter[SIZE] & 15, 0);
	table->array = table->other;
	table->shared.buckets = table->array.buckets;
	table->shared.last = table->array.room - 1;
	table->shared.buckets[0] = RCU_HASH_BUCKET;
	table->linked = table->dirty = 1;
	table->target = (unsigned long)parameter[SIZE] & 15;
	lull_hash_build(table);
	for (i = 0; i < KEYS; i++)
		if (parameter[PREFILL] >> i & 1)
			add(i, 0);
	sched_plain(&table->target, sizeof(*table) - offsetof(struct hash_table, target));
	torn = functions[parameter[FAULT]];
	plain = loads[parameter[FAULT]];
	for (i = 0; i < THREADS; i++) {
		readers[i].tid = (int32_t)i;
		readers[i].registered = 1;
		if (!parameter[PROGRAM + i])
			continue;
		if (i < THREADS - 1)
			sched_thread(names[i], i, run, (long)i);
		else
			sched_handler(names[i], first, 1, run, (long)i);
	}
}

/* Checks that the list, as it is at the end, has an end and is in order. */
static void in_order(void)
{
	unsigned long word = table->shared.buckets[0], before = 0;
	unsigned int elements = 0;

	while (word & ~RCU_HASH_TAGS) {
		unsigned long *at = (unsigned long *)(word & ~RCU_HASH_TAGS), hash;

		sched_check(elements++ < NODES + BUCKETS, "the list leads back into itself");
		sched_check(!(word & RCU_HASH_REMOVED), "what was taken out is still in the list");
		if (word & RCU_HASH_BUCKET)
			hash = (unsigned long)(at - table->shared.buckets);
		else
			hash = object_of((struct rcu_hash_node *)at)->node.hash;
		sched_check(!rcu_hash_after(before, hash), "the list is out of order");
		before = hash;
		word = *at;
	}
}

static void agree(void)
{
	struct map map = { 0 };
	unsigned long i, key;

	in_order();
	for (i = 0; i < hash_size(table); i++)
		sched_check(table->shared.buckets[i] != POISON, "a bucket is reclaimed");
	for (key = 0; key < KEYS; key++) {
		struct rcu_hash_iterator it;

		rcu_hash_for_each_duplicate(&table->shared, hash_of(key), match, &key, &it) {
			sched_check(!map.value[key], "a key is in the table twice");
			map.value[key] = (uint8_t)number_of(it.node);
		}
	}
	sched_check(map_explains(&books->history, &map),
		    "no order of operations of a map explains what they returned and left");
}

#define ON(machine, text, hashes, prefill, size, first, second, third, handler, fault)        \
	{                                                                                     \
		.name = (text), .setup = setup, .finish = agree,                              \
		.parameter = { hashes, prefill, size, first, second, third, handler, fault }, \
		.memory = machine, .preemptions = SCHED_UNBOUNDED,                            \
		.expect_failure = (fault) != SOUND                                            \
	}
#define SCENARIO(...) ON(SCHED_PSO, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, __VA_ARGS__)

/*
 * Programs are read from their last digit. Hashes: with 0x?11 keys 0 and 1 have one hash; a node of
 * hash 2 lies before bucket 1 and one of hash 3 behind it.
 */
static const struct sched_scenario scenarios[] = {
	SCENARIO("two_add_one_key", 0x311, 0, 1, 0x1, 0x1, 0x2, 0, SOUND),
	SCENARIO("two_delete_one_node_as_a_third_adds", 0x311, 1, 1, 0x2, 0x2, 0x1, 0, SOUND),
	SCENARIO("two_replace_one_node_beside_a_lookup", 0x311, 1, 1, 0x5, 0x3, 0x4, 0, SOUND),
	SCENARIO("replace_beside_delete_and_add", 0x311, 1, 1, 0x3, 0x2, 0x1, 0, SOUND),
	SCENARIO("neighbours_of_one_hash_are_deleted", 0x311, 3, 1, 0x2, 0x7, 0x6, 0, SOUND),
	SCENARIO("neighbours_are_deleted_beside_a_lookup", 0x321, 7, 1, 0x2, 0x7, 0x9, 0, SOUND),
	SCENARIO("neighbours_come_and_go", 0x321, 1, 1, 0x12, 0x76, 0x4, 0, SOUND),
	SCENARIO("walk_beside_replace_and_delete", 0x311, 7, 1, 0x5, 0x7, 0xd, 0, SOUND),
	SCENARIO("node_is_used_again", 0x311, 1, 1, 0x12, 0x6, 0x4, 0, SOUND),
	SCENARIO("handler_deletes_within_an_add", 0x311, 2, 1, 0x1, 0x6, 0, 0x7, SOUND),
	SCENARIO("handler_adds_within_a_delete", 0x311, 1, 1, 0x2, 0x4, 0, 0x1, SOUND),
	SCENARIO("handler_replaces_within_a_replace", 0x311, 1, 1, 0x5, 0x4, 0, 0x3, SOUND),
	SCENARIO("add_behind_a_node_that_is_deleted", 0x311, 2, 1, 0xe, 0x7, 0x4, 0, SOUND),
	SCENARIO("adds_behind_and_before", 0x311, 0, 1, 0xe, 0x6, 0x9, 0, SOUND),
	SCENARIO("shrink_beside_an_add_behind", 0x235, 6, 2, 0xc, 0xe, 0x7, 0, SOUND),
	SCENARIO("grow_beside_add_and_delete", 0x232, 6, 1, 0xb, 0x1, 0x7, 0, SOUND),
	SCENARIO("grow_beside_lookups", 0x235, 7, 1, 0xb, 0x4, 0x2, 0, SOUND),
	SCENARIO("grow_twice_beside_add_and_walk", 0x235, 6, 1, 0xbb, 0x1, 0xd, 0, SOUND),
	SCENARIO("shrink_beside_an_add", 0x235, 4, 2, 0xc, 0x1, 0, 0, SOUND),
	SCENARIO("shrink_beside_add_and_lookup", 0x235, 4, 2, 0xc, 0x1, 0x4, 0, SOUND),
	SCENARIO("shrink_beside_add_and_delete", 0x235, 6, 2, 0xc, 0x1, 0x7, 0, SOUND),
	SCENARIO("shrink_beside_delete_and_walk", 0x235, 7, 2, 0xc, 0x2, 0xd, 0, SOUND),
	SCENARIO("shrink_twice_beside_updates", 0x235, 6, 4, 0xcc, 0x1, 0x7, 0, SOUND),
	SCENARIO("shrink_and_grow_beside_an_add", 0x235, 4, 2, 0xbc, 0x1, 0, 0, SOUND),
	SCENARIO("shrink_and_grow_beside_updates", 0x235, 5, 2, 0xbc, 0x2, 0x6, 0, SOUND),
	SCENARIO("two_shrink_beside_an_add", 0x235, 4, 2, 0xc, 0xc, 0x1, 0, SOUND),
	SCENARIO("two_resize_beside_an_add", 0x235, 4, 2, 0xc, 0xb, 0x1, 0, SOUND),
	SCENARIO("two_resize_beside_two_sections", 0x235, 5, 2, 0xc, 0xbb, 0x26, 0, SOUND),
	SCENARIO("move_and_grow_beside_updates", 0x235, 6, 0x11, 0xb, 0x1, 0x7, 0, SOUND),
	SCENARIO("move_and_grow_beside_lookups", 0x235, 7, 0x11, 0xb, 0x4, 0x2, 0, SOUND),
	SCENARIO("move_two_buckets_beside_updates", 0x235, 6, 0x22, 0xb, 0x1, 0x7, 0, SOUND),
	SCENARIO("move_two_buckets_beside_lookups", 0x235, 7, 0x22, 0xb, 0x4, 0x2, 0, SOUND),
	SCENARIO("move_two_buckets_beside_a_walk", 0x235, 7, 0x22, 0xb, 0x2, 0xd, 0, SOUND),
	SCENARIO("shrink_and_move_beside_updates", 0x235, 6, 0x24, 0xc, 0x1, 0x7, 0, SOUND),
	SCENARIO("shrink_and_move_beside_a_lookup", 0x235, 7, 0x24, 0xc, 0x4, 0x2, 0, SOUND),
	SCENARIO("move_there_and_back_beside_an_add", 0x235, 6, 0x22, 0xcb, 0x1, 0, 0, SOUND),
	SCENARIO("two_move_beside_an_add", 0x235, 4, 0x22, 0xb, 0xc, 0x1, 0, SOUND),

	/* loads of old values */
	STALE("adds_and_lookup_by_old_values", 0x321, 4, 1, 0x1, 0x6, 0x4, 0, SOUND),
	STALE("delete_beside_lookup_by_old_values", 0x321, 7, 1, 0x2, 0, 0x9, 0, SOUND),
	STALE("deletes_beside_lookup_by_old_values", 0x321, 7, 1, 0x2, 0x7, 0x9, 0, SOUND),
	STALE("replace_beside_lookup_by_old_values", 0x311, 1, 1, 0x5, 0x4, 0x4, 0, SOUND),
	STALE("walk_beside_adds_by_old_values", 0x321, 4, 1, 0x1, 0x6, 0xd, 0, SOUND),
	STALE("walk_beside_delete_by_old_values", 0x311, 7, 1, 0x7, 0x1, 0xd, 0, SOUND),
	STALE("grow_beside_add_and_lookup_by_old_values", 0x235, 6, 1, 0xb, 0x1, 0x4, 0, SOUND),
	STALE("grow_beside_add_and_delete_by_old_values", 0x232, 6, 1, 0xb, 0x1, 0x7, 0, SOUND),
	STALE("grow_beside_add_by_old_values", 0x235, 6, 1, 0xb, 0x1, 0, 0, SOUND),
	STALE("shrink_beside_add_by_old_values", 0x235, 4, 2, 0xc, 0x1, 0, 0, SOUND),
	STALE("shrink_beside_delete_and_walk_by_old_values", 0x235, 7, 2, 0xc, 0x2, 0xd, 0, SOUND),
	STALE("move_beside_add_and_lookup_by_old_values", 0x235, 6, 0x11, 0xb, 0x1, 0x4, 0, SOUND),
	STALE("move_two_beside_add_by_old_values", 0x235, 6, 0x22, 0xb, 0x1, 0, 0, SOUND),
	STALE("shrink_and_move_beside_lookup_by_old_values", 0x235, 7, 0x24, 0xc, 0, 0x4, 0, SOUND),
};

/* Longer programs, for the long form, which takes a minute and 1 GiB. */
static const struct sched_scenario scenarios_long[] = {
	SCENARIO("node_is_used_again_beside_updates", 0x311, 1, 1, 0x12, 0x63, 0x2, 0, SOUND),
	SCENARIO("replaced_nodes_come_back_beside_a_delete", 0x311, 1, 1, 0x33, 0x5, 0x2, 0, SOUND),
	SCENARIO("shrink_and_grow_twice_beside_updates", 0x235, 5, 2, 0xbcbc, 0x2, 0x16, 0, SOUND),
};

static const struct sched_scenario faults[] = {
	SCENARIO("mark_in_two_steps", 0x311, 1, 1, 0x2, 0x2, 0, 0, MARK),
	SCENARIO("link_in_two_steps", 0x311, 0, 1, 0x1, 0x1, 0, 0, LINK),
	SCENARIO("link_behind_in_two_steps", 0x311, 2, 1, 0xe, 0x7, 0x6, 0, LINK),
	SCENARIO("unlink_in_two_steps", 0x311, 3, 1, 0x2, 0x7, 0x1, 0, UNLINK),
	SCENARIO("replace_in_two_steps", 0x311, 1, 1, 0x5, 0x2, 0, 0, REPLACED),
	SCENARIO("bucket_linked_in_two_steps", 0x232, 4, 1, 0xb, 0x6, 0, 0, BUCKET),
	SCENARIO("shrink_without_its_first_grace_period", 0x235, 4, 2, 0xc, 0x1, 0, 0,
		 NO_FIRST_GRACE),
	SCENARIO("shrink_without_its_second_grace_period", 0x235, 4, 2, 0xc, 0x1, 0, 0,
		 NO_SECOND_GRACE),
	SCENARIO("copy_linked_in_two_steps", 0x235, 4, 0x11, 0xb, 0x1, 0x6, 0, BUCKET),
	SCENARIO("move_without_its_second_grace_period", 0x235, 4, 0x22, 0xb, 0x1, 0, 0,
		 NO_SECOND_GRACE),
	STALE("move_without_its_first_grace_period", 0x235, 5, 0x11, 0xb, 0x4, 0, 0,
	      NO_FIRST_GRACE),
	STALE("move_back_without_its_first_grace_period", 0x232, 1, 0x12, 0xc, 0x4, 0, 0,
	      NO_MOVE_GRACE),
	STALE("array_is_found_by_a_plain_load", 0x235, 6, 0x11, 0xb, 0x4, 0, 0, START_PLAIN),
	STALE("bucket_is_found_by_a_plain_load", 0x235, 6, 1, 0xb, 0x4, 0x4, 0, START_PLAIN),
	STALE("lookup_begins_by_a_plain_load", 0x321, 5, 1, 0x6, 0x4, 0, 0, LOOKUP_PLAIN),
	STALE("lookup_goes_on_by_a_plain_load", 0x231, 6, 1, 0x1, 0x9, 0, 0, WALK_PLAIN),
	STALE("update_begins_by_a_plain_load", 0x321, 4, 1, 0x1, 0x1, 0, 0, PLACE_PLAIN),
	STALE("update_goes_on_by_a_plain_load", 0x231, 4, 1, 0x1, 0x1, 0, 0, STEP_PLAIN),
	STALE("walk_goes_on_by_a_plain_load", 0x321, 6, 1, 0x1, 0xd, 0, 0, NEXT_PLAIN),
};

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.longer = SCHED_TABLE(scenarios_long),
		.planted = SCHED_TABLE(faults),
	};

	return sched_main(&suite, count, argument);
}
