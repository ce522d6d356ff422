// SPDX-License-Identifier: MIT
/*
 * The event table under processes that register the same events at once, in every order in which
 * their steps can happen, and a recorder that reads it.
 *
 * Each process registers two descriptions, in either order, and may be killed before any of its
 * writes. Proved within these bounds: a description has one identifier, and no other description
 * has the same one, whichever processes died; a description that the recorder finds is whole, and
 * is that of the event with the identifier; once a process has an identifier for an event,
 * processes that come later find the event's description. models/session/events.pml shows the same
 * on weaker machines.
 * Paper: T 8.1; docs/formats/session.md (event table).
 */
#include <string.h>
#include "liblull.h"
#include "sched.h"

#define EVENTS 2u
#define TEXT_BYTES 3u
#define ARENA_BYTES 16u /* room for every attempt */
#define CAPACITY (LULL_EVENT_FIRST + EVENTS)

static const char texts[EVENTS][TEXT_BYTES + 1] = { "a:a", "b:b" };
static struct lull_session_control *control;
static struct lull_event_entry *entries;
static char *arena;
/* Ghost: the identifier that an event has, once a process has got it. */
static uint32_t *given;

static struct session process_new(void)
{
	return (struct session){ .control = control,
				 .events = entries,
				 .arena = arena,
				 .event_capacity = CAPACITY,
				 .arena_bytes = ARENA_BYTES,
				 .last_event = LULL_EVENT_FIRST - 1 };
}

static void give(uint32_t event, uint32_t id)
{
	sched_check(id >= LULL_EVENT_FIRST && id < CAPACITY, "identifier %u", id);
	sched_check(!given[event] || given[event] == id, "%s is %u and %u", texts[event],
		    given[event], id);
	sched_check(given[!event] != id, "both events are %u", id);
	given[event] = id;
}

static void process(long first)
{
	struct session session = process_new();

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t event = ((uint32_t)first + i) % EVENTS;

		give(event, lull_event_register(&session, texts[event], TEXT_BYTES));
	}
}

/* A process that looks whether another one has registered its events, and does it else. */
static void process_that_knows(long first)
{
	struct session session = process_new();

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t event = ((uint32_t)first + i) % EVENTS;
		uint32_t id = lull_event_known(&session, texts[event], TEXT_BYTES);

		if (!id)
			id = lull_event_register(&session, texts[event], TEXT_BYTES);
		give(event, id);
	}
}

/* What Memory::event_description() of tools/session does. Return: the event, or EVENTS. */
static uint32_t described(uint32_t id)
{
	/* as [session.read:A] */
	uint32_t offset = lull_load32_acquire(&entries[id].offset_bytes) - 1;
	uint32_t length = lull_load32(&entries[id].length_bytes), event;
	char text[TEXT_BYTES];

	if (offset > ARENA_BYTES || length > ARENA_BYTES - offset)
		return EVENTS;
	sched_check(length == TEXT_BYTES, "a description of %u bytes", length);
	lull_fetch(text, arena + offset, TEXT_BYTES);
	for (event = 0; event < EVENTS && memcmp(text, texts[event], TEXT_BYTES); event++)
		;
	sched_check(event < EVENTS, "a description that nobody wrote");
	sched_check(!given[event] || given[event] == id, "%s is %u, described as %u", texts[event],
		    given[event], id);
	return event;
}

static void recorder(long unused)
{
	(void)unused;
	described(LULL_EVENT_FIRST);
	described(LULL_EVENT_FIRST + 1);
}

/* An event that has an identifier has its description. */
static void finish(void)
{
	for (uint32_t event = 0; event < EVENTS; event++)
		sched_check(!given[event] || described(given[event]) == event,
			    "%s is not described", texts[event]);
}

static void setup(const struct sched_scenario *scenario)
{
	int knows = (int)scenario->parameter[1];

	control = sched_alloc(sizeof(*control), 64);
	entries = sched_alloc(CAPACITY * sizeof(*entries), 64);
	arena = sched_alloc(ARENA_BYTES, 8);
	given = sched_ghost(EVENTS * sizeof(*given));
	sched_name(&control->arena_used_bytes, 4, "arena_used");
	sched_name(&entries[LULL_EVENT_FIRST], sizeof(*entries), "entry[0]");
	sched_name(&entries[LULL_EVENT_FIRST + 1], sizeof(*entries), "entry[1]");
	sched_name(arena, ARENA_BYTES, "arena");
	sched_may_die(sched_thread("process A", 0, process, 0));
	sched_may_die(sched_thread("process B", 1, knows ? process_that_knows : process,
				   scenario->parameter[0]));
	if (scenario->parameter[2])
		sched_thread("recorder", 2, recorder, 0);
}

/* @order: the event that process B begins with; @knows: it looks first; @reads: a recorder too */
#define ON(machine, scenario_name, order, knows, reads, ...)                                      \
	{                                                                                         \
		.name = scenario_name, .setup = setup, .finish = finish, .memory = machine,       \
		.preemptions = SCHED_UNBOUNDED, .parameter = { order, knows, reads }, __VA_ARGS__ \
	}

static const struct sched_scenario scenarios[] = {
	ON(SCHED_STALE, "recorder_reads_by_old_values", 0, 0, 1),
	ON(SCHED_STALE, "events_are_known_by_old_values", 1, 1, 0, .crashes = 1),
	ON(SCHED_PSO, "processes_register_in_the_same_order", 0, 0, 1, .crashes = 1),
	ON(SCHED_PSO, "processes_register_in_opposite_orders", 1, 0, 1, .crashes = 1),
	ON(SCHED_PSO, "a_process_looks_before_it_registers", 0, 1, 1, .crashes = 1),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_EVENTS(SCHED_FAULT) };

/* events_sched_test [scenarios | mutants [NAME]] */
int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
