/* SPDX-License-Identifier: MIT */
/*
 * liblull's own events: what one process tells, the next one recalls, and nothing else is believed.
 *
 * The events of this file stand in for liblull's: sites.h puts their records where own.c looks.
 */
#include <stdio.h>
#include <string.h>
#include "../check/test.h"
#include "liblull.h"
#include "sites.h"

#define CAPACITY 64u
#define SITES 5u
#define ENABLED 3u

extern struct lull_probe_record __start_lull_records[] __attribute__((visibility("hidden")));
extern struct lull_probe_record __stop_lull_records[] __attribute__((visibility("hidden")));

static struct lull_own_events known[2];
static struct lull_session_control control[2];
static const unsigned char name[] = "build";
static const struct build_id build = { name, sizeof(name) };

void events(uint32_t value);
void events(uint32_t value)
{
	lull_event("test:first", lull_u32(value, value));
	lull_event("test:second", lull_u32(value, value));
	lull_event("test:third", lull_u32(value, value));
}

static size_t count(void)
{
	return (size_t)(__stop_lull_records - __start_lull_records);
}

/* A process that starts: it has sessions, and its probes are as they were linked. */
static void process_begin(uint32_t sessions)
{
	memset(__start_lull_records, 0, count() * sizeof(struct lull_probe_record));
	memset(control, 0, sizeof(control));
	lull_process.attached = (1u << sessions) - 1;
	for (uint32_t i = 0; i < sessions; i++) {
		lull_process.sessions[i].own = &known[i];
		lull_process.sessions[i].control = &control[i];
		lull_process.sessions[i].event_capacity = CAPACITY;
	}
}

/* As objects.c does it: the session wants all but the second event. */
static void look(uint32_t session)
{
	for (size_t i = 0; i < count(); i++) {
		__start_lull_records[i].interface = &lull_process.lines[0].interface;
		__start_lull_records[i].id[session] = (uint16_t)(10 + i);
		__start_lull_records[i].enabled_mask |= (uint32_t)(i != 1) << session;
	}
}

static int is_set_up(void)
{
	for (size_t i = 0; i < count(); i++)
		if (__start_lull_records[i].interface || __start_lull_records[i].enabled_mask)
			return 1;
	return 0;
}

static void known_by_one(void)
{
	memset(known, 0, sizeof(known));
	process_begin(1);
	look(0);
	lull_own_tell(0, build, SITES, ENABLED);
	process_begin(1);
}

static void recalled(void)
{
	int same = 1;

	memset(known, 0, sizeof(known));
	process_begin(1);
	check(count() >= 3, "the_records_of_the_own_events_lie_side_by_side");
	check(!lull_own_recall(build) && !is_set_up(), "the_first_process_knows_nothing");
	known_by_one();
	check(lull_own_recall(build), "the_second_process_knows_what_the_first_found");
	for (size_t i = 0; i < count(); i++)
		same &= __start_lull_records[i].interface == &lull_process.lines[0].interface &&
			__start_lull_records[i].enabled_mask == (i != 1) &&
			__start_lull_records[i].id[0] == (i == 1 ? 0 : 10 + i);
	check(same, "its_probes_are_what_those_of_the_first_were");
	check(control[0].site_count == SITES && control[0].enabled_count == ENABLED,
	      "its_sites_count_as_if_it_had_looked");
	process_begin(1);
	lull_process.sessions[0].filters_bytes = 8;
	check(!lull_own_recall(build) && !is_set_up(), "nothing_is_recalled_where_filters_decide");
	lull_process.sessions[0].filters_bytes = 0;
	check(lull_own_recall(build), "it_is_where_they_do_not");
	check(lull_own_recall(build) && control[0].site_count == SITES,
	      "a_process_that_is_set_up_recalls_nothing_again");
}

/* Shape: what is known differs in what @change does to it, and is not believed. */
#define DISBELIEVED(what, change)                                                        \
	do {                                                                             \
		known_by_one();                                                          \
		change;                                                                  \
		check(!lull_own_recall(build) && !is_set_up() && !control[0].site_count, \
		      "not_believed_" what);                                             \
	} while (0)

static void disbelieved(void)
{
	const struct build_id none = { NULL, 0 };

	DISBELIEVED("without_its_sites", known[0].site_count = 0);
	DISBELIEVED("without_its_enabled_sites", known[0].enabled_count = 0);
	DISBELIEVED("without_an_identifier", known[0].id[2] = 0);
	DISBELIEVED("with_more_events", known[0].count++);
	DISBELIEVED("with_fewer_events", known[0].count--);
	DISBELIEVED("of_another_build", known[0].build_id[2]++);
	DISBELIEVED("of_a_longer_build_identifier", known[0].build_id_bytes++);
	DISBELIEVED("with_an_identifier_beyond_the_table", known[0].id[2] = CAPACITY);
	known_by_one();
	check(!lull_own_recall(none) && !is_set_up(), "not_believed_without_a_build_identifier");
	memset(&known[1], 0, sizeof(known[1]));
	process_begin(2);
	check(!lull_own_recall(build) && !is_set_up() && !control[0].site_count,
	      "not_recalled_where_one_of_two_sessions_knows_nothing");
}

static void told(void)
{
	struct lull_own_events before;

	known_by_one();
	check(known[0].claimed == 1, "a_process_claims_what_it_tells");
	before = known[0];
	look(0);
	__start_lull_records[0].id[0] = 33;
	lull_own_tell(0, build, 1, 1);
	check(!memcmp(&before, &known[0], sizeof(before)), "what_is_known_is_told_once");
	memset(known, 0, sizeof(known));
	process_begin(1);
	look(0);
	__start_lull_records[2].interface = NULL;
	lull_own_tell(0, build, SITES, ENABLED);
	check(!known[0].claimed && !known[0].count, "a_process_that_saw_a_part_tells_nothing");
	look(0);
	lull_own_tell(0, (struct build_id){ name, 0 }, SITES, ENABLED);
	check(!known[0].claimed && !known[0].count, "a_build_without_identifier_tells_nothing");
	lull_own_tell(0, (struct build_id){ name, LULL_OWN_BUILD_ID_BYTES + 1 }, SITES, ENABLED);
	check(!known[0].claimed && !known[0].count,
	      "an_identifier_that_does_not_fit_tells_nothing");
}

int main(void)
{
	recalled();
	disbelieved();
	told();
	process_begin(0); /* what was set up here is no session, and the process ends by an event */
	return sums();
}
