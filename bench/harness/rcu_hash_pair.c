/* SPDX-License-Identifier: MIT */
/* The hash table's figures with several threads, by the wall clock; see rcu_hash.c. */
#include <string.h>

#include "rcu_hash.h"

/* Objects that an updater adds and takes out again; lookups between two looks at stop. */
#define BESIDE_OBJECTS 4096
#define BESIDE_LOOKUPS 1024

struct beside {
	pthread_t thread;
	hash_table *table;
	struct hash_object *objects; /* an updater's */
	const uint32_t *keys; /* a reader's */
	uint32_t count;
	int begun, stop; /* set by the thread, and by whoever measures */
	uint64_t operation_count, found_count, wall_ns;
} __attribute__((aligned(64)));

static bool is_set(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

static void set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/* All begin when all run, so that nobody is measured alone. */
static void wait_for(struct beside *beside)
{
	while (!is_set(&beside->begun))
		sched_yield();
}

static void *look_up(void *argument)
{
	struct beside *self = argument;
	uint64_t operations = 0, found = 0, begin_ns;

	rcu_register_thread();
	set(&self->begun);
	begin_ns = timing_read_ns(CLOCK_MONOTONIC);
	while (!is_set(&self->stop)) {
		for (uint32_t i = 0; i + BESIDE_LOOKUPS <= self->count && !is_set(&self->stop);
		     i += BESIDE_LOOKUPS) {
			found += hash_count_found(self->table, self->keys + i, BESIDE_LOOKUPS, 0);
			operations += BESIDE_LOOKUPS;
			rcu_quiescent_state();
		}
	}
	self->wall_ns = timing_read_ns(CLOCK_MONOTONIC) - begin_ns;
	self->operation_count = operations;
	self->found_count = found;
	rcu_unregister_thread();
	return NULL;
}

static void *update(void *argument)
{
	struct beside *self = argument;
	uint64_t operations = 0, begin_ns;

	rcu_register_thread();
	set(&self->begun);
	begin_ns = timing_read_ns(CLOCK_MONOTONIC);
	while (!is_set(&self->stop)) {
		hash_add_all(self->table, self->objects, BESIDE_OBJECTS);
		hash_delete_all(self->table, self->objects, BESIDE_OBJECTS);
		operations += 2 * BESIDE_OBJECTS;
	}
	self->wall_ns = timing_read_ns(CLOCK_MONOTONIC) - begin_ns;
	self->operation_count = self->found_count = operations;
	rcu_unregister_thread();
	return NULL;
}

static void start(struct beside *beside, void *(*body)(void *))
{
	beside->begun = beside->stop = 0;
	if (pthread_create(&beside->thread, NULL, body, beside))
		abort();
}

/* Operations a microsecond. A reader that looks for keys that are all there finds every one. */
static double stop(struct beside *beside)
{
	set(&beside->stop);
	pthread_join(beside->thread, NULL);
	if (beside->found_count != beside->operation_count)
		abort();
	return (double)beside->operation_count * 1e3 / (double)beside->wall_ns;
}

/* Both threads for a while. */
static void run_pair(struct beside *pair, void *(*first)(void *), void *(*second)(void *),
		     unsigned int sample_ms, double per_us[2])
{
	struct timespec pause = { sample_ms / 1000, sample_ms % 1000 * 1000000 };

	start(&pair[0], first);
	start(&pair[1], second);
	wait_for(&pair[0]);
	wait_for(&pair[1]);
	nanosleep(&pause, NULL);
	for (int i = 0; i < 2; i++)
		set(&pair[i].stop);
	for (int i = 0; i < 2; i++)
		per_us[i] = stop(&pair[i]);
}

int hash_answer_pair(uint32_t count, unsigned int sample_ms)
{
	hash_table *table = hash_table_new(count, count);
	struct hash_object *objects = hash_objects_new(count, 0);
	struct hash_object *more = hash_objects_new(BESIDE_OBJECTS, 2 * (uint64_t)count);
	struct hash_object *others = hash_objects_new(BESIDE_OBJECTS, 4 * (uint64_t)count);
	uint32_t *keys = hash_order_new(count);
	struct beside pair[2] = {
		{ .table = table, .keys = keys, .count = count, .objects = others },
		{ .table = table, .keys = keys, .count = count, .objects = more },
	};
	double lookups[2], beside[2], updates[2];

	if (count < BESIDE_LOOKUPS)
		return -1;
	hash_add_all(table, objects, count);
	run_pair(pair, look_up, look_up, sample_ms, lookups);
	run_pair(pair, look_up, update, sample_ms, beside);
	run_pair(pair, update, update, sample_ms, updates);
	hash_delete_all(table, objects, count);
	hash_table_destroy(table);
	free(objects);
	free(more);
	free(others);
	free(keys);
	printf("lookups_per_us=%.3f lookups_beside_per_us=%.3f updates_per_us=%.3f "
	       "updates_of_two_per_us=%.3f\n",
	       lookups[0] + lookups[1], beside[0], beside[1], updates[0] + updates[1]);
	return 0;
}

/* Up and down again until the time has passed; nanoseconds a bucket of the large size. */
static void resize_for_a_while(hash_table *table, uint32_t small, uint32_t large,
			       unsigned int sample_ms, double *grow_ns, double *shrink_ns)
{
	uint64_t begin_ns = timing_read_ns(CLOCK_MONOTONIC), turn_ns = begin_ns, middle_ns;
	uint64_t grow = 0, shrink = 0, turns = 0;

	while (turn_ns - begin_ns < sample_ms * 1000000ull) {
		hash_table_resize(table, large);
		middle_ns = timing_read_ns(CLOCK_MONOTONIC);
		grow += middle_ns - turn_ns;
		hash_table_resize(table, small);
		turn_ns = timing_read_ns(CLOCK_MONOTONIC);
		shrink += turn_ns - middle_ns;
		turns++;
	}
	*grow_ns = (double)grow / (double)(turns * large);
	*shrink_ns = (double)shrink / (double)(turns * large);
}

int hash_answer_resize(uint32_t count, unsigned int sample_ms, const char *load)
{
	uint32_t small = count / 16;
	hash_table *table = hash_table_new(small, count);
	struct hash_object *objects = hash_objects_new(count, 0);
	struct hash_object *more = hash_objects_new(BESIDE_OBJECTS, 2 * (uint64_t)count);
	uint32_t *keys = hash_order_new(count);
	struct beside beside = { .table = table, .keys = keys, .count = count, .objects = more };
	bool alone = !strcmp(load, "nobody");
	double grow_ns, shrink_ns, per_us = 0;

	hash_add_all(table, objects, count);
	if (!alone) {
		start(&beside, !strcmp(load, "lookups") ? look_up : update);
		wait_for(&beside);
	}
	resize_for_a_while(table, small, count, sample_ms, &grow_ns, &shrink_ns);
	if (!alone)
		per_us = stop(&beside);
	hash_delete_all(table, objects, count);
	hash_table_destroy(table);
	free(objects);
	free(more);
	free(keys);
	printf("grow_ns=%.3f shrink_ns=%.3f beside_per_us=%.3f\n", grow_ns, shrink_ns, per_us);
	return 0;
}
