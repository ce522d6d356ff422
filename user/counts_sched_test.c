/* SPDX-License-Identifier: MIT */
/*
 * A table of counts under threads that count the same and different keys at once, in every order in
 * which their steps can happen, and a recorder that reads it.
 *
 * A thread may be killed before any of its writes. Proved within these bounds: a slot that is ready
 * has a key that somebody counted, and at least one occurrence; an occurrence whose thread went on
 * is in the table once; a killed thread's is there once or not at all.
 * Paper: B 4.1 (local atomics); docs/design/72-count.md.
 */
#include "counts.h"
#include "sched.h"

#define CAPACITY 4u
#define EVENT 9u
#define KEYS 2u
#define HASH 4u /* of both keys: they meet in one slot */

static struct lull_count_plan plan;
static unsigned char *slots;
/* Ghost: occurrences that are counted, and those that may be, by key. */
static uint32_t *done, *begun;

static struct lull_count_slot *slot_at(uint32_t index)
{
	return (struct lull_count_slot *)(slots + (uint64_t)index * plan.slot_bytes);
}

static void thread(long keys)
{
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t which = (uint32_t)keys >> i & 1;
		struct lull_count_key key = { .hash = HASH, .event = EVENT, .by_count = 1 };

		key.by[0] = (struct lull_count_value){ .kind = LULL_COUNT_UNSIGNED,
						       .words = { which + 5 } };
		begun[which]++;
		sched_check(lull_count_slot_add(slots, &plan, &key, 0, LULL_COUNT_NONE), "no room");
		done[which]++;
	}
}

/* What Tables::read() of tools/session does. @sums: of both keys. */
static void table_read(uint64_t *sums)
{
	for (uint32_t i = 0; i < CAPACITY; i++) {
		struct lull_count_slot *slot = slot_at(i);
		const struct lull_count_value *value = (const void *)(slot + 1);
		/* as [count.read:A] */
		uint64_t state = lull_load_acquire(&slot->state), which;

		if ((state & LULL_COUNT_READY) != LULL_COUNT_READY)
			continue;
		which = lull_load(&value->words[0]) - 5;
		sched_check(lull_load32(&slot->event) == EVENT && which < KEYS,
			    "values that nobody had");
		sched_check(lull_load(&slot->count) > 0, "a slot without an occurrence");
		sums[which] += lull_load(&slot->count);
	}
}

static void recorder(long unused)
{
	uint64_t sums[KEYS] = { 0 };

	(void)unused;
	table_read(sums);
	for (uint32_t i = 0; i < KEYS; i++)
		sched_check(sums[i] <= begun[i], "counted before it happened");
}

static void finish(void)
{
	uint64_t sums[KEYS] = { 0 };

	table_read(sums);
	for (uint32_t i = 0; i < KEYS; i++)
		sched_check(sums[i] >= done[i] && sums[i] <= begun[i], "%u of %u to %u",
			    (unsigned int)sums[i], done[i], begun[i]);
}

static void setup(const struct sched_scenario *scenario)
{
	plan = (struct lull_count_plan){ .capacity = CAPACITY,
					 .by_count = 1,
					 .slot_bytes = sizeof(struct lull_count_slot) +
						       sizeof(struct lull_count_value) };
	slots = sched_alloc((uint64_t)CAPACITY * plan.slot_bytes, 64);
	done = sched_ghost(KEYS * sizeof(*done));
	begun = sched_ghost(KEYS * sizeof(*begun));
	sched_may_die(sched_thread("thread A", 0, thread, scenario->parameter[0]));
	sched_may_die(sched_thread("thread B", 1, thread, scenario->parameter[1]));
	if (scenario->parameter[2])
		sched_thread("recorder", 2, recorder, 0);
}

/* @a, @b: which key each thread counts first, in bit 0, and then; @reads: a recorder too */
#define ON(machine, scenario_name, a, b, reads, bound, ...)                                 \
	{                                                                                   \
		.name = scenario_name, .setup = setup, .finish = finish, .memory = machine, \
		.preemptions = bound, .parameter = { a, b, reads }, __VA_ARGS__             \
	}

static const struct sched_scenario scenarios[] = {
	ON(SCHED_STALE, "recorder_reads_counts_by_old_values", 0, 1, 1, 2),
	ON(SCHED_PSO, "threads_count_one_key", 0, 0, 1, 2, .crashes = 1),
	ON(SCHED_PSO, "threads_count_two_keys_of_one_hash", 2, 1, 0, 2, .crashes = 1),
};

/* counts_sched_test [scenarios [NAME]] */
int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
	};

	return sched_main(&suite, count, argument);
}
