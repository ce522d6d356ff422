/* SPDX-License-Identifier: MIT */
/*
 * The event table: equal descriptions share an identifier, and no content of the table, whichever
 * process wrote it, leads outside the arena.
 */
#include <stdio.h>
#include <string.h>
#include "../check/test.h"
#include "liblull.h"

#define CAPACITY 32u
#define ARENA_BYTES 256u

static struct lull_session_control control;
static struct lull_event_entry events[CAPACITY];
static char arena[ARENA_BYTES + 2]; /* more than what the session has */

/* A process that has just attached to the table as it is. */
static struct session process_new(void)
{
	return (struct session){ .control = &control,
				 .events = events,
				 .arena = arena,
				 .event_capacity = CAPACITY,
				 .arena_bytes = ARENA_BYTES };
}

static uint32_t enter(struct session *session, const char *text)
{
	return lull_event_register(session, text, strlen(text));
}

static uint32_t known(struct session *session, const char *text)
{
	return lull_event_known(session, text, strlen(text));
}

static void table_clear(void)
{
	memset(&control, 0, sizeof(control));
	memset(events, 0, sizeof(events));
	memset(arena, 0, sizeof(arena));
}

static void identifiers(void)
{
	struct session first = process_new(), second = process_new();
	uint32_t a = enter(&first, "a:a"), b = enter(&first, "b:b"), c = enter(&first, "c:c");

	check(a == LULL_EVENT_FIRST && b == a + 1 && c == b + 1, "identifiers_are_dense");
	check(enter(&second, "a:a") == a && enter(&second, "c:c") == c,
	      "processes_share_the_identifiers_of_equal_descriptions");
	check(!known(&first, "d:d") && known(&first, "c:c") == c,
	      "a_description_that_nobody_registered_is_not_known");
	second = process_new();
	enter(&second, "a:a");
	check(known(&second, "b:b") == b && known(&second, "c:c") == c,
	      "events_in_the_order_of_the_first_process_are_known");
	check(known(&second, "b:b") == b && known(&second, "a:a") == a,
	      "events_a_few_places_back_are_known");
	check(!known(&second, "a:aa") && !known(&second, "a:") && !known(&second, "b:a"),
	      "only_the_whole_description_is_the_event");
}

static void hostile(void)
{
	struct session session = process_new();
	uint32_t id = enter(&session, "a:a");

	for (uint32_t past = 0; past < 3; past++) {
		session.last_event = id;
		events[id].offset_bytes = ARENA_BYTES - 3 + 1 + past;
		memcpy(arena + ARENA_BYTES - 3 + past, "a:a", 3);
		check(known(&session, "a:a") == (past ? 0 : id),
		      "an_entry_that_reaches_past_the_arena_is_not_known");
	}
	events[id].offset_bytes = UINT32_MAX;
	check(!known(&session, "a:a"), "an_entry_far_outside_the_arena_is_not_known");
	events[id].offset_bytes = 1;
	events[id].length_bytes = UINT32_MAX;
	check(!known(&session, "a:a"), "a_length_that_is_not_ours_is_not_known");
	events[id].offset_bytes = 0;
	check(!known(&session, "a:a") && enter(&session, "a:a") == id && events[id].offset_bytes,
	      "an_entry_whose_claimant_died_is_published_by_the_next");
	session.last_event = UINT32_MAX;
	check(!known(&session, "a:a"), "no_identifier_outside_the_table_is_looked_at");
}

static void full(void)
{
	struct session session = process_new();
	char text[] = "x:00";
	uint32_t count = 0;

	for (int i = 0; i < 40; i++) {
		text[2] = (char)('0' + i / 10);
		text[3] = (char)('0' + i % 10);
		count += enter(&session, text) != 0;
	}
	check(count == CAPACITY - LULL_EVENT_FIRST, "a_full_table_gives_no_identifier");
	table_clear();
	session.arena_bytes = 3;
	check(!enter(&session, "x:00") && enter(&session, "x:0"),
	      "a_description_that_the_arena_cannot_hold_gives_no_identifier");
}

int main(void)
{
	identifiers();
	table_clear();
	hostile();
	table_clear();
	full();
	return sums();
}
