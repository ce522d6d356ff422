/* SPDX-License-Identifier: MIT */
/*
 * The table of counts: no occurrence is missing or counted twice, whichever threads and signal
 * handlers count at once, in a table with room and in one without; and buckets have the limits that
 * the recorder believes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include "../check/test.h"
#include "lull_port.h"
#include "liblull.h"

#define THREADS 4u
#define ROUNDS 20000u
#define KEYS 300u
#define EVENT 9u
#define EVENTS 16u
#define CAPACITY_MAX 1024u

static struct lull_counts counts;
static struct lull_counting counting;
static uint64_t handled;

/* A table that tells one number apart, and maybe counts the distribution of a second one. */
static void table_make(uint32_t capacity, int has_value)
{
	struct lull_count_plan *plan = &counts.plan;

	free(counts.tables);
	*plan = (struct lull_count_plan){ .table_count = 1,
					  .capacity = capacity,
					  .by_count = 1,
					  .has_value = (uint32_t)has_value };
	plan->slot_bytes =
		(uint32_t)((sizeof(struct lull_count_slot) + sizeof(struct lull_count_value) +
			    (has_value ? LULL_COUNT_BUCKETS * sizeof(uint64_t) : 0) + 63) &
			   ~63ul);
	plan->stride_bytes = EVENTS * sizeof(uint64_t) + (uint64_t)capacity * plan->slot_bytes;
	counts.event_capacity = EVENTS;
	counts.tables = calloc(1, plan->stride_bytes);
	memset(&counting, 0, sizeof(counting));
	counting.by[0] = (struct lull_count_input){ LULL_COUNT_UNSIGNED, 0 };
	if (has_value)
		counting.value = (struct lull_count_input){ LULL_COUNT_SIGNED, 1 };
}

static struct lull_count_slot *slot_at(uint32_t index)
{
	return (void *)(counts.tables + EVENTS * sizeof(uint64_t) +
			(uint64_t)index * counts.plan.slot_bytes);
}

static uint64_t slot_count(struct lull_count_slot *slot)
{
	const uint64_t *buckets =
		(const void *)((const struct lull_count_value *)(slot + 1) + counts.plan.by_count);
	uint64_t sum = slot->count;

	for (uint32_t i = 0; counts.plan.has_value && i < LULL_COUNT_BUCKETS; i++)
		sum += buckets[i];
	return sum;
}

/* Occurrences in slots, by key; and those that found no room. Return: the sum of all. */
static uint64_t table_sum(uint64_t *by_key)
{
	uint64_t sum = ((uint64_t *)(void *)counts.tables)[EVENT];

	for (uint32_t i = 0; i < counts.plan.capacity; i++) {
		struct lull_count_slot *slot = slot_at(i);
		const struct lull_count_value *value = (const void *)(slot + 1);
		uint64_t count = slot_count(slot);

		sum += count;
		if (count && by_key && value->words[0] < KEYS)
			by_key[value->words[0]] += count;
	}
	return sum;
}

static void count_one(uint64_t key, uint64_t value)
{
	const struct lull_filter_value fields[] = { { .number = key }, { .number = value } };

	lull_count_add(&counts, &counting, EVENT, 0, fields, NULL);
}

static void handler(int signal)
{
	(void)signal;
	count_one(__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED) % KEYS, (uint64_t)-1);
}

static void *thread(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < ROUNDS; i++)
		count_one(i % KEYS, i);
	return NULL;
}

/* Return: occurrences that there were. */
static uint64_t threads_run(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	pthread_t threads[THREADS];

	handled = 0;
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	return (uint64_t)THREADS * ROUNDS + handled;
}

static int threads_and_handlers_count_each_occurrence_once(void)
{
	for (int has_value = 0; has_value < 2; has_value++) {
		uint64_t by_key[KEYS] = { 0 }, all;

		table_make(CAPACITY_MAX, has_value);
		all = threads_run();
		CHECK(table_sum(by_key) == all);
		CHECK(((uint64_t *)(void *)counts.tables)[EVENT] == 0);
		for (uint32_t key = 0; key < KEYS; key++)
			CHECK(by_key[key] >= THREADS * (ROUNDS / KEYS));
	}
	return 0;
}

static int full_table_counts_the_rest_of_the_event(void)
{
	uint64_t all;

	table_make(64, 0);
	all = threads_run();
	CHECK(table_sum(NULL) == all);
	CHECK(((uint64_t *)(void *)counts.tables)[EVENT] > 0);
	return 0;
}

/* A slot that a killed thread claimed is passed over, also where it was for the same key. */
static int claimed_slot_is_nobodys_obstacle(void)
{
	uint64_t by_key[KEYS] = { 0 };
	uint32_t at;

	table_make(64, 0);
	count_one(5, 0);
	for (at = 0; at < 64 && !slot_at(at)->state; at++)
		;
	slot_at(at)->state = (slot_at(at)->state & ~3ull) | LULL_COUNT_CLAIMED;
	count_one(5, 0);
	count_one(5, 0);
	CHECK(table_sum(by_key) == 3 && by_key[5] == 3);
	CHECK(slot_count(slot_at((at + 1) % 64)) == 2);
	return 0;
}

static int words_that_others_wrote_cost_counts_only(void)
{
	table_make(64, 1);
	memset(counts.tables, 0xff, counts.plan.stride_bytes);
	count_one(1, 1);
	CHECK(((uint64_t *)(void *)counts.tables)[EVENT] == 0);
	return 0;
}

static int texts_are_told_apart_by_their_first_bytes(void)
{
	static const char longer[] =
		"123456789 123456789 123456789 123456789 123456789 123456789 123456789";
	struct lull_filter_value field = { .text = longer };
	uint32_t slots = 0;

	table_make(CAPACITY_MAX, 0);
	counting.by[0].kind = LULL_COUNT_TEXT;
	for (uint32_t bytes = 0; bytes <= 64; bytes++) {
		field.number = bytes;
		lull_count_add(&counts, &counting, EVENT, 0, &field, NULL);
	}
	for (uint32_t i = 0; i < CAPACITY_MAX; i++)
		slots += slot_at(i)->state != 0;
	CHECK(table_sum(NULL) == 65);
	CHECK(((uint64_t *)(void *)counts.tables)[EVENT] == 0 && slots == 58);
	return 0;
}

static int buckets_have_sixteen_steps_for_each_power_of_two(void)
{
	uint32_t last = LULL_COUNT_BUCKET_ZERO;

	CHECK(lull_count_bucket((uint64_t)-1, LULL_COUNT_SIGNED) == 0);
	CHECK(lull_count_bucket((uint64_t)-1, LULL_COUNT_UNSIGNED) == 976);
	CHECK(976 < LULL_COUNT_BUCKETS);
	for (uint64_t value = 0; value < 1 << 16; value++) {
		uint32_t bucket = lull_count_bucket(value, LULL_COUNT_SIGNED);

		CHECK(bucket == last || bucket == last + 1);
		CHECK(value >= 16 || bucket == LULL_COUNT_BUCKET_ZERO + value);
		last = bucket;
	}
	CHECK(last == LULL_COUNT_BUCKET_ZERO + 16 * 12 + 15);
	return 0;
}

static int plan_is_linked_by_names_and_one_that_lies_is_refused(void)
{
	static const char description[] = "a:b\n6\nf:1\ni32 n\nstr t\nf64 x\nu64 pid\n";
	const uint32_t contexts = 1u << LULL_CONTEXT_PID | 1u << LULL_CONTEXT_COMM;
	struct lull_count_plan plan = {
		.by_count = 4, .has_value = 1, .capacity = 16, .value = "n"
	};
	struct lull_counting linked = { 0 };

	strcpy(plan.by, "t");
	strcpy(plan.by + LULL_COUNT_NAME_BYTES, "$pid");
	strcpy(plan.by + 2 * LULL_COUNT_NAME_BYTES, "prio");
	strcpy(plan.by + 3 * LULL_COUNT_NAME_BYTES, "comm");
	CHECK(lull_count_plan_link(&plan, description, contexts, &linked) == contexts);
	CHECK(linked.by[0].kind == LULL_COUNT_TEXT && linked.by[0].input == 1);
	CHECK(linked.by[1].kind == LULL_COUNT_SIGNED && linked.by[1].input >= 64);
	CHECK(linked.by[2].kind == LULL_COUNT_NONE && linked.by[3].kind == LULL_COUNT_TEXT);
	CHECK(linked.value.kind == LULL_COUNT_SIGNED && linked.value.input == 0);
	strcpy(plan.by, "pid");
	strcpy(plan.by + LULL_COUNT_NAME_BYTES, "x");
	strcpy(plan.value, "t");
	linked = (struct lull_counting){ 0 };
	lull_count_plan_link(&plan, description, contexts, &linked);
	CHECK(linked.by[0].kind == LULL_COUNT_UNSIGNED && linked.by[0].input == 3);
	CHECK(linked.by[1].kind == LULL_COUNT_NONE && linked.value.kind == LULL_COUNT_NONE);
	return 0;
}

/* Plans with any words: what is taken stays inside of the memory. */
static int plan_of_any_words_is_refused_or_fits(void)
{
	struct lull_session_control control = { .cpu_count = 1, .event_capacity = EVENTS };
	static unsigned char memory[64 << 10] __attribute__((aligned(4096)));
	const struct lull_mapping map = { .base = memory, .bytes = sizeof(memory) };
	struct lull_count_plan *plan = (void *)memory;
	uint32_t taken = 0;

	srand(1);
	for (uint32_t round = 0; round < 200000; round++) {
		uint32_t *word = (uint32_t *)plan;
		struct lull_counts read;

		*plan = (struct lull_count_plan){ 2, 4, 128, 0, 4096, 1, 0, "a", "" };
		control.count_pages = (uint32_t)rand() % 20;
		control.data_offset_bytes = rand() % 16 ? 0 : (uint64_t)rand();
		for (int left = rand() % 3; left; left--)
			word[rand() % 8] =
				rand() % 2 ? (uint32_t)rand() << rand() % 2 : 1u << rand() % 32;
		if (lull_count_plan_read(&read, &control, &map))
			continue;
		taken++;
		CHECK(read.plan.by_count <= LULL_COUNT_BY_MAX);
		CHECK(read.tables >= memory && read.plan.stride_bytes <= sizeof(memory));
		CHECK((uint64_t)(read.tables - memory) +
			      read.plan.table_count * read.plan.stride_bytes <=
		      sizeof(memory));
		CHECK((uint64_t)read.plan.capacity * read.plan.slot_bytes +
			      EVENTS * sizeof(uint64_t) <=
		      read.plan.stride_bytes);
	}
	CHECK(taken > 1000);
	return 0;
}

int main(void)
{
	RUN(threads_and_handlers_count_each_occurrence_once);
	RUN(full_table_counts_the_rest_of_the_event);
	RUN(claimed_slot_is_nobodys_obstacle);
	RUN(words_that_others_wrote_cost_counts_only);
	RUN(texts_are_told_apart_by_their_first_bytes);
	RUN(buckets_have_sixteen_steps_for_each_power_of_two);
	RUN(plan_is_linked_by_names_and_one_that_lies_is_refused);
	RUN(plan_of_any_words_is_refused_or_fits);
	return sums();
}
