/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Programs of filters: checked once, when a session is given one, then run in the probe of each
 * event that has one. Bytes: lull/abi/filter.h. Design: docs/design/70-filter.md.
 *
 * A program that lull_filter_check() takes reads nothing but the inputs that it was checked for and
 * its own texts, and ends after at most as many steps as it has tests. Both functions are
 * freestanding: they call nothing, and so run wherever a probe runs.
 */
#ifndef LULL_FILTER_H
#define LULL_FILTER_H

#include <stddef.h>
#include <stdint.h>
#include "lull/abi/filter.h"

/* What a filter can make of a field. */
enum lull_filter_input {
	LULL_FILTER_NONE, /* nothing: an array, a floating-point number */
	LULL_FILTER_NUMBER,
	LULL_FILTER_BYTES /* a text */
};

/* A field or a context of one occurrence of an event. */
struct lull_filter_value {
	uint64_t number; /* of a text: its length in bytes, without a NUL */
	const void *text; /* that many bytes, which others may change meanwhile */
};

/**
 * lull_filter_fields() - find out what a filter can make of an event's fields.
 * @description: of the event (lull/abi/site.h), NUL-terminated.
 * @inputs: filled in, an enum lull_filter_input for each field, LULL_FILTER_FIELDS_MAX at most.
 *
 * Context: any. Progress: wait-free, a step for each character.
 * Return: how many fields there are, at most LULL_FILTER_FIELDS_MAX.
 */
size_t lull_filter_fields(const char *description, uint8_t inputs[LULL_FILTER_FIELDS_MAX]);

/**
 * lull_filter_check() - is this a program for an event with these fields?
 * @program: in private memory, aligned as a uint64_t is.
 * @bytes: how many there are.
 * @inputs: from lull_filter_fields().
 * @input_count: likewise.
 *
 * Context: any. Progress: wait-free, a step for each test.
 * Return: NULL, or a constant string that says why not.
 */
const char *lull_filter_check(const struct lull_filter *program, size_t bytes,
			      const uint8_t *inputs, size_t input_count);

/**
 * lull_filter_contexts() - which contexts does a checked program read?
 *
 * Context: any. Progress: wait-free, a step for each test.
 * Return: 1 << LULL_CONTEXT_... for each.
 */
uint32_t lull_filter_contexts(const struct lull_filter *program);

/**
 * lull_filter_run() - does one occurrence of an event meet a checked program's condition?
 * @program: checked for this event.
 * @fields: all fields of the event.
 * @contexts: by enum lull_context; those that lull_filter_contexts() names are filled in.
 *
 * Context: any, async-signal-safe, NMIs included.
 * Progress: wait-free, at most test_count tests, of which those of texts compare
 * LULL_FILTER_TEXT_MAX bytes at most.
 * Return: 1 or 0.
 */
int lull_filter_run(const struct lull_filter *program, const struct lull_filter_value *fields,
		    const struct lull_filter_value *contexts);

#endif
