/* SPDX-License-Identifier: MIT */
/*
 * Counting: the tables of a session that counts, and what is counted of each event.
 *
 * attach.c hands over the memory, filters.c asks in the probe. count_plan.c links a session's plan
 * for an event, counts.c is the table. Design: docs/design/72-count.md.
 */
#ifndef LULL_COUNTS_H
#define LULL_COUNTS_H

#include "filter/filter.h"
#include "lull/abi/count.h"
#include "lull/abi/session.h"
#include "lull/abi/site.h"
#include "segment.h"

/* The tables of a session, as they were found when it was attached. */
struct lull_counts {
	unsigned char *tables; /* shared */
	uint32_t event_capacity;
	struct lull_count_plan plan; /* private, checked */
};

/* One field or context that an event is counted by. */
struct lull_count_input {
	uint8_t kind; /* enum lull_count_kind */
	uint8_t input; /* a field's place, or LULL_FILTER_CONTEXT and more */
};

/* What one probe counts in one session. */
struct lull_counting {
	uint8_t is_recorded; /* as well as counted */
	uint8_t is_plain; /* nothing is told apart */
	uint8_t unused[2];
	struct lull_count_input by[LULL_COUNT_BY_MAX];
	struct lull_count_input value;
};

/* An occurrence's event and values. Of a value's words, those that its kind has are there. */
struct lull_count_key {
	uint64_t hash;
	uint32_t event;
	uint32_t by_count;
	struct lull_count_value by[LULL_COUNT_BY_MAX];
};

/**
 * lull_count_plan_read() - copy and check the plan of a session that counts.
 * @counts: filled in.
 * @control: checked.
 *
 * Return: 0; -1 where the plan is none that a recorder writes.
 */
int lull_count_plan_read(struct lull_counts *counts, const struct lull_session_control *control,
			 const struct lull_mapping *map);

/**
 * lull_count_plan_link() - what a plan is for one event.
 * @contexts: 1 << LULL_CONTEXT_... for each that the event has; those that are read are returned.
 *
 * Context: as lull_objects_scan().
 */
uint32_t lull_count_plan_link(const struct lull_count_plan *plan, const char *description,
			      uint32_t contexts, struct lull_counting *counting);

/**
 * lull_count_add() - count one occurrence.
 * @event: its identifier, less than the session's event_capacity.
 * @cpu: any number; best that of the CPU, whose table no other CPU writes to meanwhile.
 *
 * Context: any, async-signal-safe. Progress: wait-free, at most LULL_COUNT_PROBES slots.
 */
void lull_count_add(const struct lull_counts *counts, const struct lull_counting *counting,
		    uint32_t event, uint32_t cpu, const struct lull_filter_value *fields,
		    const struct lull_filter_value *contexts);

/**
 * lull_count_slot_add() - count an occurrence of a key in a table.
 * @slots: the first slot.
 * @value: what goes into a bucket, by @value_kind; LULL_COUNT_NONE: nothing.
 *
 * Context, progress: as lull_count_add().
 * Return: 1; 0 where there is no room.
 */
int lull_count_slot_add(unsigned char *slots, const struct lull_count_plan *plan,
			const struct lull_count_key *key, uint64_t value, uint32_t value_kind);

/* The bucket of a value. */
uint32_t lull_count_bucket(uint64_t value, uint32_t value_kind);

#endif
