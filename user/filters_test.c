/* SPDX-License-Identifier: MIT */
/*
 * Filters of a process's events: what a probe asks, which events are recorded unfiltered and what
 * the session is told then, and that damaged filters do no harm.
 *
 *	filters_test [ROUNDS [SEED]]
 */
#include <stdlib.h>
#include <string.h>
#include "../check/random.h"
#include "../check/test.h"
#include "filter/filter.h"
#include "liblull.h"

#define ROUNDS 15000u /* all of which find room */
#define CAPACITY 8u
#define ID 3u
#define RULE 2
#define DESCRIPTION "test:one\n6\nf.c:1\nu32 number\nstr text\n"
#define TEXTS "numbertexttidcommother"
#define SESSION(index) LULL_MASK_SESSION(index)
#define BOTH(index) (LULL_MASK_SESSION(index) | LULL_MASK_FILTER(index))

/* A session's filter: one comparison, of a name with a number. */
struct given {
	struct lull_session_filter head;
	struct lull_unlinked unlinked;
	struct lull_unlinked_test test;
	struct lull_unlinked_operand operands[2];
	char texts[sizeof(TEXTS) - 1];
	char unused[2];
} __attribute__((aligned(8)));

static const struct lull_note note = { .type = LULL_NOTE_PROBE,
				       .name = DESCRIPTION,
				       .name_bytes = 8,
				       .description = DESCRIPTION,
				       .description_bytes = sizeof(DESCRIPTION) - 1 };
static uint32_t states[LULL_SESSIONS_MAX][CAPACITY];
static struct given given[LULL_SESSIONS_MAX];

static struct given filter_of(const char *name, uint64_t number)
{
	struct given made = {
		.head = { RULE, sizeof(made) - sizeof(made.head) - sizeof(made.unused), 1, 0 },
		.unlinked = { .bytes = made.head.bytes,
			      .test_count = 1,
			      .operand_count = 2,
			      .texts_bytes = sizeof(TEXTS) - 1 },
		.test = { .left_count = 1,
			  .right_count = 1,
			  .then = LULL_FILTER_ACCEPT,
			  .otherwise = LULL_FILTER_REJECT },
		.operands = { { .kind = LULL_UNLINKED_NAME,
				.text_bytes = (uint8_t)strlen(name),
				.text_place = (uint16_t)(strstr(TEXTS, name) - TEXTS) },
			      { .kind = LULL_UNLINKED_NUMBER, .number = number } },
	};

	made.unlinked.bytes = made.head.bytes;
	memcpy(made.texts, TEXTS, sizeof(made.texts));
	return made;
}

/* A session that has one filter, or none where @name is NULL. */
static void session_make(uint32_t index, const char *name, uint64_t number)
{
	struct session *session = &lull_process.sessions[index];

	memset(states[index], 0, sizeof(states[index]));
	memset(session, 0, sizeof(*session));
	session->filter_states = states[index];
	if (!name)
		return;
	given[index] = filter_of(name, number);
	session->filters = (const unsigned char *)&given[index];
	session->filters_bytes = sizeof(given[index]);
	session->filters_damaged = !lull_filters_check(session->filters, session->filters_bytes);
}

static struct lull_probe_record record_make(void)
{
	struct lull_probe_record record = { .filter = LULL_RECORD_ASKS };

	for (uint32_t i = 0; i < LULL_SESSIONS_MAX; i++)
		record.id[i] = ID;
	return record;
}

/* What the sessions of a mask say to an event with a number. */
static uint32_t ask(const struct lull_probe_record *record, uint32_t mask, uint64_t number)
{
	const uint64_t values[] = { number, 0, 4, (uintptr_t) "text", 0 };

	return lull_filter_ask(record, mask, values);
}

/* What becomes of one filter. @rule: that decides about the event. */
static uint32_t enabled_by(const char *name, int rule, uint32_t asks)
{
	struct lull_probe_record record = record_make();

	record.filter = asks;
	session_make(0, name, 5);
	return lull_filter_enable(&record, 0, rule, &note);
}

static int filter_decides_for_its_session_alone(void)
{
	struct lull_probe_record record = record_make();
	uint32_t mask = 0;

	session_make(0, "number", 5);
	session_make(1, "number", 6);
	session_make(2, NULL, 0);
	for (uint32_t i = 0; i < 3; i++)
		mask |= lull_filter_enable(&record, i, RULE, &note);
	CHECK(mask == (BOTH(0) | BOTH(1) | SESSION(2)));
	CHECK(ask(&record, mask, 5) == (SESSION(0) | SESSION(2)));
	CHECK(ask(&record, mask, 6) == (SESSION(1) | SESSION(2)));
	CHECK(ask(&record, mask, 7) == SESSION(2));
	CHECK(ask(&record, BOTH(0), 5) == SESSION(0) && !ask(&record, BOTH(0), 6));
	CHECK(states[0][ID] == LULL_FILTER_STATE_DECIDES && !states[2][ID]);
	/* The process becomes another user: its session gets another number. */
	record.enabled_mask = mask;
	CHECK(lull_filter_move(&record, 0, 4) == BOTH(4));
	CHECK(lull_filter_move(&record, 2, 5) == SESSION(5));
	CHECK(ask(&record, BOTH(4) | SESSION(5), 5) == (SESSION(4) | SESSION(5)));
	CHECK(ask(&record, BOTH(4) | SESSION(5), 6) == SESSION(5));
	return 0;
}

static int filter_that_cannot_hold_leaves_the_event_out(void)
{
	CHECK(enabled_by("other", RULE, LULL_RECORD_ASKS) == 0);
	CHECK(states[0][ID] == LULL_FILTER_STATE_DECIDES);
	return 0;
}

static int event_is_recorded_unfiltered_where_the_session_is_told_why(void)
{
	CHECK(enabled_by("number", RULE, 0) == SESSION(0));
	CHECK(states[0][ID] == LULL_FILTER_STATE_OLD);
	CHECK(enabled_by("text", RULE, LULL_RECORD_ASKS) == SESSION(0));
	CHECK(states[0][ID] == LULL_FILTER_STATE_UNFIT);
	CHECK(enabled_by("number", RULE + 1, LULL_RECORD_ASKS) == SESSION(0) && !states[0][ID]);
	CHECK(enabled_by("number", -1, LULL_RECORD_ASKS) == SESSION(0) && !states[0][ID]);
	return 0;
}

static int contexts_are_those_of_this_thread(void)
{
	struct lull_probe_record record = record_make();
	uint32_t mask;

	lull_identity_start();
	lull_process.effective_user = 5;
	session_make(0, "tid", lull_process.pid);
	mask = lull_filter_enable(&record, 0, RULE, &note);
	CHECK(mask == BOTH(0) && ask(&record, mask, 0) == SESSION(0));
	record = record_make();
	session_make(0, "tid", (uint64_t)lull_process.pid + 1);
	mask = lull_filter_enable(&record, 0, RULE, &note);
	CHECK(mask == BOTH(0) && !ask(&record, mask, 0));
	return 0;
}

static int occurrence_that_meets_its_filter_is_sampled_and_others_are_not(void)
{
	struct lull_probe_record record = record_make();
	uint32_t mask, taken = 0;

	session_make(0, "number", 5);
	given[0].head.sample = 2;
	/* Another process has told a part of it. */
	states[0][ID] = LULL_FILTER_STATE_DECIDES;
	mask = lull_filter_enable(&record, 0, RULE, &note);
	CHECK(mask == BOTH(0));
	CHECK(states[0][ID] == (LULL_FILTER_STATE_DECIDES | LULL_FILTER_STATE_SAMPLES));
	for (uint32_t i = 0; i < 1000; i++) {
		CHECK(!ask(&record, mask, 6));
		taken += ask(&record, mask, 5);
	}
	CHECK(taken > 400 && taken < 600);
	record.enabled_mask = mask;
	CHECK(lull_filter_move(&record, 0, 3) == BOTH(3));
	for (taken = 0; taken < 1000 && ask(&record, BOTH(3), 5); taken++)
		;
	CHECK(taken < 1000);
	return 0;
}

static int rule_without_a_filter_samples_all_occurrences(void)
{
	struct lull_probe_record record = record_make();
	struct session *session = &lull_process.sessions[0];
	uint32_t mask, taken = 0;

	session_make(0, "number", 5);
	given[0].head.bytes = 0;
	given[0].head.sample = 4;
	session->filters_bytes = sizeof(given[0].head);
	CHECK(lull_filters_check(session->filters, session->filters_bytes));
	mask = lull_filter_enable(&record, 0, RULE, &note);
	CHECK(mask == BOTH(0) && states[0][ID] == LULL_FILTER_STATE_SAMPLES);
	for (uint32_t i = 0; i < 4000; i++)
		taken += ask(&record, mask, i);
	CHECK(taken > 800 && taken < 1200);
	/* A filter that cannot hold leaves nothing to sample. */
	session_make(0, "other", 5);
	given[0].head.sample = 4;
	record = record_make();
	CHECK(!lull_filter_enable(&record, 0, RULE, &note));
	/* A probe that does not ask records all. */
	session_make(0, "number", 5);
	given[0].head.sample = 4;
	record.filter = 0;
	CHECK(lull_filter_enable(&record, 0, RULE, &note) == SESSION(0));
	CHECK(states[0][ID] == LULL_FILTER_STATE_OLD);
	return 0;
}

static uint32_t throttles[2][CAPACITY], counts[2][CAPACITY];

static void budget_make(uint32_t index, uint32_t place)
{
	struct session *session = &lull_process.sessions[index];

	session->budget = (struct budget){ throttles[place], counts[place], 0 };
	session->event_capacity = CAPACITY;
}

static int event_counts_in_the_budget_of_its_session_also_for_a_late_probe(void)
{
	struct lull_probe_record record = record_make();
	uint32_t mask;

	session_make(0, NULL, 0);
	CHECK(lull_filter_enable(&record, 0, RULE, &note) == SESSION(0));
	budget_make(0, 0);
	mask = lull_filter_enable(&record, 0, RULE, &note);
	CHECK(mask == BOTH(0) && !states[0][ID]);
	CHECK(ask(&record, mask, 7) == SESSION(0) && counts[0][ID] == 1);
	throttles[0][ID] = LULL_THROTTLE_MAX + 1;
	CHECK(!ask(&record, mask, 7) && counts[0][ID] == 2);
	/* Another user's session has a budget in memory of its own, and another identifier. */
	session_make(3, NULL, 0);
	budget_make(3, 1);
	record.enabled_mask = mask;
	record.id[3] = ID + 1;
	CHECK(lull_filter_move(&record, 0, 3) == BOTH(3));
	CHECK(ask(&record, BOTH(3), 7) == SESSION(3) && counts[1][ID + 1] == 1);
	/* The place is another session's by now; a probe that began before counts where it did. */
	session_make(0, "number", 5);
	CHECK(!ask(&record, mask, 7) && counts[0][ID] == 3);
	/* A session that has none: only what is asked of it. */
	session_make(5, NULL, 0);
	CHECK(lull_filter_move(&record, 0, 5) == BOTH(5));
	CHECK(ask(&record, BOTH(5), 7) == SESSION(5) && counts[0][ID] == 3);
	throttles[0][ID] = 0;
	return 0;
}

static int rate_that_is_none_is_damage(void)
{
	static const uint32_t rates[] = { 0, LULL_SAMPLE_MAX + 1, ~0u };

	for (uint32_t i = 0; i < 3; i++) {
		session_make(0, "number", 5);
		given[0].head.sample = rates[i];
		CHECK(!lull_filters_check((void *)&given[0], sizeof(given[0])));
	}
	return 0;
}

/* Filters that others have written over. Return: how many of them passed the check. */
static uint32_t damaged_rounds(uint32_t rounds, uint64_t seed)
{
	uint32_t taken = 0, told = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		struct session *session = &lull_process.sessions[0];
		struct lull_probe_record record = record_make();
		unsigned char *bytes = (unsigned char *)&given[0];
		uint32_t mask;

		random_begin(seed + round);
		session_make(0, "number", 5);
		for (uint32_t left = random_below(4); left; left--)
			bytes[random_below(sizeof(given[0]))] =
				random_below(2) ? (unsigned char)random_below(256) :
						  (unsigned char)(random_below(9) - 2);
		session->filters_bytes -= 8 * (random_below(8) == 0);
		session->filters_damaged =
			!lull_filters_check(session->filters, session->filters_bytes);
		taken += !session->filters_damaged;
		mask = lull_filter_enable(&record, 0, RULE, &note);
		told += states[0][ID] == LULL_FILTER_STATE_DAMAGED;
		if (mask & ~BOTH(0) || (mask & LULL_MASK_FILTERED && ask(&record, mask, 5) & ~1u)) {
			check(0, "damaged_filter_decides_for_its_session_only");
			return 0;
		}
	}
	check(told + taken == rounds, "damage_is_told");
	return taken;
}

static int process_without_room_records_unfiltered(void)
{
	/* Bound: each filter takes room. */
	for (uint32_t i = 0; i < 1u << 17; i++)
		if (enabled_by("number", RULE, LULL_RECORD_ASKS) != BOTH(0)) {
			CHECK(i > 1000 && states[0][ID] == LULL_FILTER_STATE_FULL);
			return 0;
		}
	CHECK(!"there is room without end");
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : ROUNDS, taken;

	RUN(filter_decides_for_its_session_alone);
	RUN(filter_that_cannot_hold_leaves_the_event_out);
	RUN(event_is_recorded_unfiltered_where_the_session_is_told_why);
	RUN(contexts_are_those_of_this_thread);
	RUN(occurrence_that_meets_its_filter_is_sampled_and_others_are_not);
	RUN(rule_without_a_filter_samples_all_occurrences);
	RUN(event_counts_in_the_budget_of_its_session_also_for_a_late_probe);
	RUN(rate_that_is_none_is_damage);
	taken = damaged_rounds(rounds, argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
	check(taken > rounds / 10 && taken < rounds - rounds / 10,
	      "damage_is_neither_all_nor_none");
	RUN(process_without_room_records_unfiltered);
	return sums();
}
