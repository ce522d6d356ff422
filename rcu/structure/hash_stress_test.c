// SPDX-License-Identifier: MIT
/*
 * The hash table by many threads at once: every update, lookups, walks, and resizes up and down.
 *
 * Objects are overwritten after the grace period that follows their removal, and every reader looks
 * at every object that it finds. The table's sources are compiled in here, so that before an access
 * to a shared word a thread now and then gives way, and others come between any two accesses.
 * Threads run for a given time; what the test expects does not depend on that time.
 * Usage: hash_stress_test [MILLISECONDS [SEED]]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../check/test.h"
#include "lull/rcu/flavour/memb.h"

/* 0: no access gives way; n: one access in n does, at random. */
static unsigned int yield_share;
static __thread unsigned int yield_random;

static void perhaps_yield(void)
{
	static const struct timespec moment = { 0, 20000 };
	unsigned int share = __atomic_load_n(&yield_share, __ATOMIC_RELAXED);

	if (!share)
		return;
	yield_random = yield_random * 1664525u + 1013904223u;
	if ((yield_random >> 8) % share)
		return;
	if ((yield_random >> 4) % 8)
		sched_yield();
	else
		nanosleep(&moment, NULL);
}

#define lull_mem_load(p) (perhaps_yield(), lull_mem_load(p))
#define lull_mem_load_acquire(p) (perhaps_yield(), lull_mem_load_acquire(p))
#define lull_mem_store(p, v) (perhaps_yield(), lull_mem_store(p, v))
#define lull_mem_store_release(p, v) (perhaps_yield(), lull_mem_store_release(p, v))
#define lull_mem_cas(p, e, d) (perhaps_yield(), lull_mem_cas(p, e, d))
#include "hash.c"
#include "hash_resize.c"
#undef lull_mem_load

#define KEYS 512u /* keys that come and go */
#define LASTING 64u /* keys that stay; the nodes of a half of them are replaced all the time */
#define ALL_KEYS (KEYS + LASTING)
#define CROWD ((unsigned long)ALL_KEYS) /* the first key of nodes that only make the table grow */
#define CROWD_COUNT 4096u
#define LIMBO 128u
#define POISON (~0ul / 255 * 0xa5)
#define LIVE 0x11fel
#define UPDATERS 2
#define READERS 2

struct object {
	struct rcu_hash_node node;
	unsigned long key;
	unsigned long check; /* ~key */
	unsigned long state;
	struct object *next; /* in a pool */
};

static struct {
	struct rcu_hash *table;
	unsigned long (*hash)(unsigned long key);
	int unique; /* not 0: at most one node per key */
	int explicit; /* not 0: a thread calls rcu_hash_resize() */
	unsigned long balance[ALL_KEYS]; /* nodes added less nodes taken out */
	unsigned long wrong;
	unsigned long stop;
	unsigned long operations;
	unsigned long resizes;
} shared;

struct worker {
	pthread_t thread;
	unsigned int seed;
	struct object *pool;
	struct object *limbo[LIMBO];
	unsigned int limbo_count;
	unsigned int met[ALL_KEYS]; /* by key: the number of the walk that met it last */
	unsigned int walks;
};

/* Counts an error that a thread has seen, and prints the first few. */
static void wrong(const char *what, unsigned long key)
{
	if (lull_mem_add(&shared.wrong, 1) <= 5)
		printf("# %s, key %lu\n", what, key);
}

static unsigned long mixed(unsigned long key)
{
	return key * 0x9e3779b9ul ^ key >> 5;
}

static unsigned long few(unsigned long key)
{
	return key % 5;
}

static unsigned long random_to(struct worker *worker, unsigned long limit)
{
	return (unsigned long)rand_r(&worker->seed) % limit;
}

static struct object *object_of(struct rcu_hash_node *node)
{
	return rcu_hash_entry(node, struct object, node);
}

/* Whether an object that a reader holds is whole. */
static int whole(const struct object *object)
{
	return object->state == LIVE && object->check == ~object->key && object->key <= CROWD;
}

static int match(struct rcu_hash_node *node, const void *key)
{
	const struct object *object = object_of(node);

	if (!whole(object))
		wrong("a node is reached after its grace period", object->key);
	return object->key == *(const unsigned long *)key;
}

static struct object *object_new(struct worker *worker, unsigned long key)
{
	struct object *object = worker->pool;

	if (object)
		worker->pool = object->next;
	else
		object = malloc(sizeof(*object));
	object->key = key;
	object->check = ~key;
	object->state = LIVE;
	return object;
}

static void object_free(struct worker *worker, struct object *object)
{
	object->node.next = object->node.hash = POISON;
	object->key = object->check = object->state = POISON;
	object->next = worker->pool;
	worker->pool = object;
}

/* Frees the objects that were taken out. Outside sections. */
static void drain(struct worker *worker)
{
	rcu_memb_synchronize();
	while (worker->limbo_count)
		object_free(worker, worker->limbo[--worker->limbo_count]);
}

static void retire(struct worker *worker, struct object *object)
{
	worker->limbo[worker->limbo_count++] = object;
}

static void count(unsigned long key, unsigned long change)
{
	lull_mem_add(&shared.balance[key], change);
}

static void add(struct worker *worker, unsigned long key)
{
	struct object *object = object_new(worker, key);

	if (shared.unique) {
		struct rcu_hash_node *in = rcu_hash_add_unique(shared.table, shared.hash(key),
							       match, &key, &object->node);

		if (in != &object->node) {
			if (!match(in, &key))
				wrong("add_unique returned another key", key);
			object_free(worker, object); /* no other thread has seen it */
			return;
		}
	} else {
		rcu_hash_add(shared.table, shared.hash(key), &object->node);
	}
	count(key, 1);
}

static void add_replace(struct worker *worker, unsigned long key)
{
	struct object *object = object_new(worker, key);
	struct rcu_hash_node *old =
		rcu_hash_add_replace(shared.table, shared.hash(key), match, &key, &object->node);

	if (old)
		retire(worker, object_of(old));
	else
		count(key, 1);
}

static void remove_node(struct worker *worker, unsigned long key, int by_replacing)
{
	struct rcu_hash_iterator it;
	struct object *object;

	if (!rcu_hash_lookup(shared.table, shared.hash(key), match, &key, &it)) {
		if (key >= KEYS)
			wrong("a lasting key is not found", key);
		return;
	}
	if (!by_replacing) {
		if (rcu_hash_del(shared.table, it.node))
			return;
		count(key, ~0ul);
	} else {
		object = object_new(worker, key);
		if (rcu_hash_replace(shared.table, it.node, &object->node)) {
			object_free(worker, object);
			return;
		}
	}
	if (!rcu_hash_is_deleted(it.node))
		wrong("a node that was taken out is not deleted", key);
	retire(worker, object_of(it.node));
}

static void *update(void *argument)
{
	struct worker *worker = argument;
	unsigned long operations = 0;

	rcu_memb_register_thread();
	while (!lull_mem_load(&shared.stop)) {
		unsigned long key = random_to(worker, KEYS);

		rcu_memb_read_lock();
		switch (random_to(worker, 8)) {
		case 0 ... 2:
			add(worker, key);
			break;
		case 3:
			if (shared.unique)
				add_replace(worker, key);
			break;
		case 4 ... 5:
			remove_node(worker, key, 0);
			break;
		case 6:
			remove_node(worker, key, 1);
			break;
		default:
			remove_node(worker, KEYS + random_to(worker, LASTING / 2), 1);
		}
		rcu_memb_read_unlock();
		if (worker->limbo_count == LIMBO)
			drain(worker);
		operations++;
	}
	drain(worker);
	lull_mem_add(&shared.operations, operations);
	rcu_memb_unregister_thread();
	return NULL;
}

static void look_up(struct worker *worker)
{
	unsigned long key = random_to(worker, ALL_KEYS);
	struct rcu_hash_iterator it;
	unsigned int found = 0;

	rcu_hash_for_each_duplicate(shared.table, shared.hash(key), match, &key, &it) {
		found++;
	}
	if (shared.unique && found > 1)
		wrong("a unique key is found twice", key);
	if (key >= KEYS && !found)
		wrong("a lasting key is not found", key);
}

static void walk(struct worker *worker)
{
	unsigned int number = ++worker->walks, lasting = 0;
	struct rcu_hash_iterator it;

	rcu_hash_for_each(shared.table, &it) {
		const struct object *object = object_of(it.node);

		if (!whole(object)) {
			wrong("a walk meets a node after its grace period", object->key);
			return;
		}
		if (object->key == CROWD)
			continue;
		if (shared.unique && worker->met[object->key] == number)
			wrong("a walk meets a unique key twice", object->key);
		worker->met[object->key] = number;
		lasting += object->key >= KEYS;
	}
	if (lasting != LASTING)
		wrong("a walk does not meet each lasting key once; it met", lasting);
}

static void *look(void *argument)
{
	struct worker *worker = argument;
	unsigned long operations = 0, i;

	rcu_memb_register_thread();
	while (!lull_mem_load(&shared.stop)) {
		rcu_memb_read_lock();
		if (operations % 16 == 0)
			walk(worker);
		for (i = 0; i < 16; i++)
			look_up(worker);
		rcu_memb_read_unlock();
		operations++;
	}
	lull_mem_add(&shared.operations, operations * 17);
	rcu_memb_unregister_thread();
	return NULL;
}

/* Adds and deletes nodes by the thousand. */
static void crowd(struct object *objects, unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		objects[i].key = CROWD;
		objects[i].check = ~CROWD;
		objects[i].state = LIVE;
		rcu_memb_read_lock();
		rcu_hash_add(shared.table, mixed(~i), &objects[i].node);
		rcu_memb_read_unlock();
	}
	for (i = 0; i < count; i++) {
		rcu_memb_read_lock();
		if (rcu_hash_del(shared.table, &objects[i].node))
			wrong("a node of the crowd was taken out by another", i);
		rcu_memb_read_unlock();
	}
	rcu_memb_synchronize();
	memset(objects, 0xa5, count * sizeof(*objects));
}

/* Resizes to random sizes; or adds and deletes so many nodes that the table resizes itself. */
static void *resize(void *argument)
{
	static struct object objects[CROWD_COUNT];
	struct worker *worker = argument;
	unsigned long calls = 0;

	rcu_memb_register_thread();
	for (; !lull_mem_load(&shared.stop); calls++) {
		if (!shared.explicit)
			crowd(objects, CROWD_COUNT);
		else if (rcu_hash_resize(shared.table, 1ul << random_to(worker, 9)))
			wrong("a resize fails", 0);
	}
	lull_mem_add(&shared.resizes, calls);
	rcu_memb_unregister_thread();
	return NULL;
}

/* Compares the nodes in the table at the end with those that the threads have counted. */
static void settle(struct worker *worker)
{
	unsigned long key, sum = 0;
	struct rcu_hash_iterator it;

	rcu_memb_read_lock();
	for (key = 0; key < ALL_KEYS; key++) {
		unsigned long nodes = 0;

		rcu_hash_for_each_duplicate(shared.table, shared.hash(key), match, &key, &it)
			nodes++;
		if (nodes != shared.balance[key] || (shared.unique && nodes > 1))
			wrong("nodes at the end are not those added less those taken out", key);
		sum += nodes;
	}
	if (rcu_hash_count_nodes(shared.table) != sum ||
	    rcu_hash_count_estimate(shared.table) != sum)
		wrong("the counts at the end are not exact", sum);
	rcu_hash_for_each(shared.table, &it) {
		if (!rcu_hash_del(shared.table, it.node)) {
			object_of(it.node)->next = worker->pool;
			worker->pool = object_of(it.node);
		}
	}
	rcu_memb_read_unlock();
	rcu_memb_synchronize(); /* the library's thread may be on them */
	if (rcu_hash_count_estimate(shared.table) || rcu_hash_destroy(shared.table))
		wrong("the emptied table is not empty", 0);
	while (worker->pool) {
		struct object *object = worker->pool;

		worker->pool = object->next;
		free(object);
	}
}

static void settle_pool(struct worker *to, struct worker *from)
{
	while (from->pool) {
		struct object *object = from->pool;

		from->pool = object->next;
		object->next = to->pool;
		to->pool = object;
	}
}

static void storm(const char *name, unsigned long (*hash)(unsigned long), int unique, int explicit,
		  unsigned int share, unsigned int milliseconds, unsigned int seed)
{
	struct rcu_hash_config config = { 1, 1, 0,
					  explicit ? RCU_HASH_ACCOUNTING : RCU_HASH_AUTO_RESIZE };
	struct timespec while_ = { milliseconds / 1000, milliseconds % 1000 * 1000000l };
	struct worker *workers = calloc(UPDATERS + READERS + 1, sizeof(*workers));
	unsigned long i;

	memset(&shared, 0, sizeof(shared));
	shared.table = rcu_hash_new(&rcu_memb_domain, &config);
	shared.hash = hash;
	shared.unique = unique;
	shared.explicit = explicit;
	rcu_memb_read_lock();
	for (i = KEYS; i < ALL_KEYS; i++)
		add(&workers[0], i);
	rcu_memb_read_unlock();
	for (i = 0; i <= UPDATERS + READERS; i++) {
		workers[i].seed = seed * 100 + (unsigned int)i;
		pthread_create(&workers[i].thread, NULL,
			       i < UPDATERS	      ? update :
			       i < UPDATERS + READERS ? look :
							resize,
			       &workers[i]);
	}
	__atomic_store_n(&yield_share, share, __ATOMIC_RELAXED);
	nanosleep(&while_, NULL);
	__atomic_store_n(&yield_share, 0, __ATOMIC_RELAXED);
	lull_mem_store(&shared.stop, 1);
	for (i = 0; i <= UPDATERS + READERS; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 1; i <= UPDATERS + READERS; i++)
		settle_pool(&workers[0], &workers[i]);
	settle(&workers[0]);
	printf("# seed %u: %lu operations, %lu resizes, %lu wrong\n", seed, shared.operations,
	       shared.resizes, shared.wrong);
	check(!shared.wrong, name);
	free(workers);
}

/* Waits, but not for ever, until the library's thread has brought a table to a size. */
static void await(const struct rcu_hash *table, unsigned long least, unsigned long most)
{
	unsigned int i;

	for (i = 0; i < 10000; i++) {
		unsigned long size = rcu_hash_bucket_count(table);

		if (size >= least && size <= most)
			return;
		sched_yield();
	}
}

/* Tables that are destroyed while the library's thread resizes them. */
static void destroyed_early(void)
{
	static const struct rcu_hash_config config = { 1, 1, 4096, RCU_HASH_AUTO_RESIZE };
	static struct object objects[300];
	unsigned int round, i, refused = 0;

	for (round = 0; round < 200; round++) {
		struct rcu_hash *table = rcu_hash_new(&rcu_memb_domain, &config);

		rcu_memb_read_lock();
		for (i = 0; i < 300; i++)
			rcu_hash_add(table, mixed(i), &objects[i].node);
		rcu_memb_read_unlock();
		await(table, 256, 4096);
		rcu_memb_read_lock();
		for (i = 0; i < 300; i++)
			refused += rcu_hash_del(table, &objects[i].node) != 0;
		rcu_memb_read_unlock();
		await(table, 1, 128); /* and on its way to fewer */
		refused += rcu_hash_destroy(table) != 0;
		rcu_memb_synchronize(); /* the library's thread may be on them */
	}
	check(!refused, "a_table_is_destroyed_while_it_is_resized");
}

int main(int argc, char **argv)
{
	unsigned int milliseconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 200;
	unsigned int seed = argc > 2 ? (unsigned int)atoi(argv[2]) : 1, share;

	rcu_memb_register_thread();
	for (share = 0; share <= 500; share = share * 5 + 20) {
		printf("# %s\n", share ? "giving way" : "not giving way");
		storm("unique_keys_stay_unique_while_the_table_is_resized", mixed, 1, 1, share,
		      milliseconds, seed);
		storm("unique_keys_stay_unique_where_hashes_collide", few, 1, 1, share,
		      milliseconds, seed);
		storm("duplicates_are_neither_lost_nor_doubled", mixed, 0, 1, share, milliseconds,
		      seed);
		storm("unique_keys_stay_unique_while_the_table_sizes_itself", mixed, 1, 0, share,
		      milliseconds, seed);
	}
	destroyed_early();
	rcu_memb_unregister_thread();
	return sums();
}
