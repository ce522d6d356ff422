/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters in the kernel's probes: values of an event's fields for core/filter, and the programs of
 * sessions. Design: docs/design/70-filter.md.
 *
 * A record's mask has a second bit for each session that filters the event. While none does, a
 * probe tests that word, which it has loaded already, and does no more.
 */
#ifndef LULL_KERNEL_FILTERING_H
#define LULL_KERNEL_FILTERING_H

#include "filter/filter.h"
#include "lull/abi/site.h"

/* Of a record's mask: the bit that a session records the event, and that it filters it. */
#define LULL_MASK_SESSION(index) (1u << (index))
#define LULL_MASK_FILTER(index) (1u << ((index) + LULL_SESSIONS_MAX))
#define LULL_MASK_SESSIONS ((1u << LULL_SESSIONS_MAX) - 1)
#define LULL_MASK_FILTERED (LULL_MASK_SESSIONS << LULL_SESSIONS_MAX)

/* One session's filter of events that have the same description. */
struct lull_filtering {
	struct lull_filtering *next; /* of the session's */
	uint32_t contexts; /* those that the program reads */
	uint32_t bytes; /* of the program, as user space gave it */
	struct lull_filter program;
};

/*
 * lull_filtering_create() - copy a program of user space, which is not checked yet.
 * Return: what kvfree() frees; -EINVAL for a size that no program has; -EFAULT; -ENOMEM.
 */
struct lull_filtering *lull_filtering_create(uint64_t from, uint32_t bytes);

/*
 * lull_filtering_check() - check a program for an event, once, before a probe may run it.
 * @description: of the event, NUL-terminated
 * Return: 0 or -EINVAL.
 */
int lull_filtering_check(struct lull_filtering *filtering, const char *description);

/*
 * lull_probe_filter() - which sessions record this occurrence of an event?
 * @mask: of the record, with the bits of filters
 * @values: all of the event's fields, two words for each, as struct lull_filter_value has them
 * Context: in a probe. Progress: wait-free, bounded by the programs' tests.
 * Return: a bit for each session, without those of filters.
 */
uint32_t lull_probe_filter(const struct lull_probe_record *record, uint32_t mask,
			   const uint64_t *values);

/*
 * The operation INPUT on fields (lull/fields.h): the two words of a struct lull_filter_value. They
 * are words because gcc would align an array of structures of 16 bytes by 16, and with it the stack
 * of each probe, also where nothing is filtered.
 */
#define LULL_FIELD_INPUT(kind, line, variable, condition, message, ...) \
	LULL_INPUT_##kind(variable, __VA_ARGS__),
#define LULL_FIELD_INPUT_MANY
#define LULL_INPUT_LULL_FIXED(variable, ...) (uint64_t) variable, 0
#define LULL_INPUT_LULL_NAMED(variable, ...) (uint64_t) variable, 0
#define LULL_INPUT_LULL_STRINGS(variable, ...) variable.bytes, (uintptr_t)variable.text
#define LULL_INPUT_LULL_ARRAY(variable, ...) 0, 0

#endif
