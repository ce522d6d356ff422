/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Count bytes: what a session that counts has in place of a trace, behind its rings.
 *
 *	struct lull_count_plan, filled up to LULL_COUNT_PLAN_BYTES |
 *	table 0 | table 1 | ... | table table_count - 1
 *
 * A table is an array of uint64_t, one for each identifier of the event table, and then `capacity`
 * slots of slot_bytes each:
 *
 *	struct lull_count_slot | struct lull_count_value[by_count] |
 *	uint64_t bucket[LULL_COUNT_BUCKETS], if has_value
 *
 * The array counts events that the plan does not tell apart, and those that found no room in the
 * slots. A probe uses the table of its CPU's number, less the multiples of table_count. Every word
 * is added to in one step, so that it does not matter when a thread moves to another CPU.
 * Design: docs/design/72-count.md. Paper: O 5 (aggregation where events happen).
 */
#ifndef LULL_ABI_COUNT_H
#define LULL_ABI_COUNT_H

#include <stdint.h>

#define LULL_COUNT_PLAN_BYTES 4096u
#define LULL_COUNT_TABLES_MAX 8192u
#define LULL_COUNT_CAPACITY_MAX (1u << 20)
#define LULL_COUNT_BY_MAX 4u
#define LULL_COUNT_NAME_BYTES 64u
#define LULL_COUNT_NAMES_BYTES 256u /* of LULL_COUNT_BY_MAX names */
#define LULL_COUNT_PROBES 32u /* slots that are looked at for one occurrence, at most */
#define LULL_COUNT_TEXT_WORDS 7u
#define LULL_COUNT_TEXT_BYTES 56u /* of a text, that tell it from others */

/* The distribution of a field: 16 steps for each power of two. */
#define LULL_COUNT_STEP_BITS 4u
#define LULL_COUNT_BUCKETS 984u
/* The first bucket has all negative values, the next the value 0. */
#define LULL_COUNT_BUCKET_ZERO 1u

/* What is told apart. Processes copy it when they attach, check it, and link it for their events.
 */
struct lull_count_plan {
	uint32_t table_count; /* power of two */
	uint32_t capacity; /* slots of a table: a power of two; 0: nothing is told apart */
	uint32_t slot_bytes; /* a multiple of 64 */
	uint32_t first_rule; /* events of patterns before this one are recorded, and not counted */
	uint64_t stride_bytes; /* from one table to the next */
	uint32_t by_count; /* at most LULL_COUNT_BY_MAX */
	uint32_t has_value; /* whether there are buckets */
	/* Names of fields, or of contexts with or without $ before them; NUL-terminated. */
	char by[LULL_COUNT_NAMES_BYTES]; /* LULL_COUNT_NAME_BYTES for each */
	char value[LULL_COUNT_NAME_BYTES];
};

enum lull_count_kind {
	LULL_COUNT_NONE, /* the event has no such field, or its value is no number and no text */
	LULL_COUNT_UNSIGNED,
	LULL_COUNT_SIGNED,
	LULL_COUNT_TEXT
};

/* One of the values that a slot is for. */
struct lull_count_value {
	uint32_t kind; /* enum lull_count_kind */
	uint32_t bytes; /* of a text; LULL_COUNT_TEXT_BYTES + 1 where it is longer */
	/* A number is the first word; a text begins here, and is filled up with 0. */
	uint64_t words[LULL_COUNT_TEXT_WORDS];
};

/*
 * The low bits of a slot's state. Its other bits are those of the hash of its event and values. A
 * slot is free while its state is 0. Whoever claims it, with a compare-and-swap, fills it in, its
 * own occurrence included, and publishes it. A slot whose claimant was killed stays claimed; nobody
 * waits for it. Several slots of one table may have the same values.
 */
#define LULL_COUNT_CLAIMED 1u
#define LULL_COUNT_READY 3u

struct lull_count_slot {
	uint64_t state;
	uint64_t count; /* of occurrences that are in no bucket */
	/*
	 * Of the values that are in buckets, with the highest bit of signed ones inverted, so that
	 * they are in order: the complement of the least, and the greatest.
	 */
	uint64_t least_inverted;
	uint64_t greatest;
	uint32_t event; /* identifier */
	uint32_t value_kind; /* of what is in buckets */
	uint64_t unused[3];
};

#endif
