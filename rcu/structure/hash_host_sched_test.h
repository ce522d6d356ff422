/* SPDX-License-Identifier: MIT */
/*
 * What the rest of the library does for the hash table, as the explorer has it: sections, grace
 * periods, memory for buckets. What is reclaimed is overwritten. hash_sched_test.c includes this.
 */
#ifndef LULL_RCU_HASH_HOST_SCHED_TEST_H
#define LULL_RCU_HASH_HOST_SCHED_TEST_H

static void section_begin(uint32_t thread)
{
	sched_loads_now(); /* a grace period has forced a barrier here, or waits */
	books->sections |= (uint8_t)(1u << thread);
}

/* Ends the grace periods that waited for this section last. */
static void section_end(uint32_t thread)
{
	uint32_t i, wakes = 0;

	books->sections &= (uint8_t) ~(1u << thread);
	for (i = 0; i < NODES; i++) {
		books->held[i] &= (uint8_t) ~(1u << thread);
		if (books->status[i] != LEAVING || books->held[i])
			continue;
		books->status[i] = POISONED;
		objects[i].key = objects[i].number = POISON;
		lull_mem_exchange(&objects[i].node.hash, POISON);
		lull_mem_exchange(&objects[i].node.next, POISON);
		books->status[i] = PRIVATE;
	}
	for (i = 0; i < THREADS; i++) {
		wakes |= books->awaited[i] == 1u << thread;
		books->awaited[i] &= (uint8_t) ~(1u << thread);
	}
	if (!wakes)
		return;
	lull_mem_add32(left, 1);
	lull_futex_wake(left, THREADS);
}

/* The calls that hash_resize.c makes to the rest of the library. */
static struct rcu_domain domain_of_table = { .kind = RCU_KIND_MEMBARRIER };

struct rcu_reader *rcu_domain_self(const struct rcu_domain *domain)
{
	(void)domain;
	return &readers[sched_self()];
}

int rcu_visit_begin(struct rcu_domain *domain)
{
	sched_check(rcu_domain_self(domain)->registered, "a registered thread registers");
	return 0;
}

void rcu_visit_end(struct rcu_domain *domain, int visits)
{
	(void)domain;
	(void)visits;
}

void rcu_domain_misuse(const struct rcu_reader *reader, const char *what)
{
	(void)reader;
	sched_check(0, "%s", what);
}

void rcu_domain_synchronize(struct rcu_domain *domain)
{
	long skipped = parameter[FAULT] == NO_FIRST_GRACE  ? 0 :
		       parameter[FAULT] == NO_SECOND_GRACE ? 1 :
		       parameter[FAULT] == NO_MOVE_GRACE   ? 2 :
							     -1;
	uint8_t *awaited = &books->awaited[sched_self()];

	(void)domain;
	if (books->graces++ == skipped)
		return;
	lull_mem_fence();
	*awaited = books->sections;
	for (;;) {
		uint32_t seen = lull_mem_load32(left);

		if (!*awaited)
			return;
		lull_futex_wait(left, seen);
	}
}

void lull_hash_account(struct rcu_hash *shared, long change)
{
	(void)shared;
	(void)change;
}

void lull_hash_limits_set(struct hash_table *changed)
{
	(void)changed;
}

unsigned long lull_hash_size_wanted(const struct hash_table *changed)
{
	return changed->target;
}

int lull_hash_count_prepare(struct hash_table *changed, unsigned long buckets)
{
	(void)changed;
	(void)buckets;
	return 0;
}

void lull_hash_count_spread(struct hash_table *changed)
{
	(void)changed;
}

/* How many buckets the small array has room for. It is not used if it has room for all. */
static unsigned long small_room(void)
{
	unsigned long room = (unsigned long)parameter[SIZE] >> 4;

	return room ? room : BUCKETS;
}

int lull_hash_memory_commit(struct hash_array *array, unsigned long buckets)
{
	sched_check(buckets <= array->room, "more buckets than there is room for");
	return 0;
}

void lull_hash_memory_trim(struct hash_array *array, unsigned long buckets)
{
	for (; buckets < array->room; buckets++)
		if (array->buckets[buckets] != POISON)
			lull_mem_exchange(&array->buckets[buckets], POISON);
}

int lull_hash_memory_take(struct hash_table *changed, unsigned long least, unsigned long wanted)
{
	struct hash_array *array = &changed->other;

	(void)wanted;
	array->room = least <= small_room() ? small_room() : BUCKETS;
	array->buckets = array->room < BUCKETS ? small : large;
	sched_check(array->buckets != changed->array.buckets, "buckets move to where they are");
	return 0;
}

int lull_hash_memory_excess(const struct hash_table *changed, unsigned long buckets)
{
	return buckets <= small_room() && changed->array.room > small_room();
}

void lull_hash_memory_leave(struct hash_table *changed)
{
	lull_hash_memory_trim(&changed->other, 0);
	changed->other.buckets = NULL;
}

void lull_hash_free(struct hash_table *freed)
{
	(void)freed;
	sched_check(0, "the table is freed");
}

#endif
