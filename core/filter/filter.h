/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Programs of filters: linked for an event, checked once, when a session is given one, then run in
 * the probe of each event that has one. Bytes: lull/abi/filter.h. Design: docs/design/70-filter.md.
 *
 * A program that lull_filter_check() takes reads nothing but the inputs that it was checked for and
 * its own texts, and ends after at most as many steps as it has tests. All functions here are
 * freestanding, and those that check and run call nothing, and so run wherever a probe runs. The
 * kernel has these two only: it takes programs that are linked.
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

/* Of what a run returns: a comparison had no number, and was met neither way. */
#define LULL_FILTER_UNDECIDED 2

/* A field or a context of one occurrence of an event. */
struct lull_filter_value {
	uint64_t number; /* of a text: its length in bytes, without a NUL */
	const void *text; /* that many bytes, which others may change meanwhile */
};

/* What an operand of an unlinked program lacks in an event. */
enum lull_filter_missing {
	LULL_FILTER_FOUND,
	LULL_FILTER_NO_NAME, /* neither a field nor a context has this name */
	LULL_FILTER_NO_CONTEXT, /* it is a context, and not one of this event's */
	LULL_FILTER_NO_VALUE, /* the field is neither an integer nor a text */
	LULL_FILTER_OTHER_CALL /* the event is not of this system call */
};

enum lull_filter_side {
	LULL_FILTER_LEFT,
	LULL_FILTER_RIGHT,
	LULL_FILTER_BOTH,
	LULL_FILTER_ONE /* wrong_operand */
};

/* What linking found, beside the program. */
struct lull_filter_found {
	/* What does not fit the event, of the first test of which something does not; or NULL. */
	const char *wrong;
	uint16_t wrong_test;
	uint16_t wrong_operand;
	uint8_t wrong_side; /* enum lull_filter_side */
	uint8_t missing[LULL_UNLINKED_OPERANDS_MAX]; /* enum lull_filter_missing */
	/* By test of the program: 1 where the filter holds where the test does not. */
	uint8_t inverted[LULL_FILTER_TESTS_MAX];
};

enum lull_filter_linked {
	LULL_FILTER_ALWAYS, /* every occurrence is to be recorded: there is no program */
	LULL_FILTER_NEVER, /* none is */
	LULL_FILTER_PROGRAM,
	LULL_FILTER_WRONG /* the filter does not fit the event */
};

/**
 * lull_unlinked_check() - is this an unlinked program?
 * @unlinked: in private memory, aligned as a uint64_t is.
 * @bytes: how many there are.
 *
 * Context: any. Progress: wait-free, a step for each test and each operand.
 * Return: NULL, or a constant string that says why not.
 */
const char *lull_unlinked_check(const struct lull_unlinked *unlinked, size_t bytes);

/**
 * lull_filter_link() - make of an unlinked program the program for one event.
 * @unlinked: checked.
 * @description: of the event, NUL-terminated.
 * @contexts: 1 << LULL_CONTEXT_... for each that the event has.
 * @program: room for LULL_FILTER_BYTES_MAX, aligned as a uint64_t is.
 * @found: filled in.
 *
 * Context: any but the kernel's. Progress: wait-free; for each operand a step for each character
 * of the description and of each operand beside it.
 * Return: enum lull_filter_linked; @program is filled in for LULL_FILTER_PROGRAM only.
 */
enum lull_filter_linked lull_filter_link(const struct lull_unlinked *unlinked,
					 const char *description, uint32_t contexts,
					 struct lull_filter *program,
					 struct lull_filter_found *found);

/**
 * lull_filter_glob() - does a text match a glob?
 * @glob: as of LULL_FILTER_GLOB.
 * @text: of which the first LULL_FILTER_VALUE_MAX bytes are looked at.
 *
 * Context: any, async-signal-safe. Progress: wait-free, as many steps as both lengths multiplied.
 * Return: 1 or 0.
 */
int lull_filter_glob(const unsigned char *glob, uint64_t glob_bytes, const unsigned char *text,
		     uint64_t text_bytes);

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
 * lull_filter_is_short() - does each test of a checked program compare a field with a constant
 * number? Such a program can be run by filter_run_short() (run.h), too.
 *
 * Context: any. Progress: wait-free, a step for each test.
 * Return: 1 or 0.
 */
int lull_filter_is_short(const struct lull_filter *program);

/**
 * lull_filter_run() - does one occurrence of an event meet a checked program's condition?
 * @program: checked for this event.
 * @fields: all fields of the event.
 * @contexts: by enum lull_context; those that lull_filter_contexts() names are filled in.
 *
 * Context: any, async-signal-safe, NMIs included.
 * Progress: wait-free, at most test_count tests, of which those of texts compare
 * LULL_FILTER_TEXT_MAX bytes at most, and those of globs take as lull_filter_glob() does.
 * Return: 1 or 0, and LULL_FILTER_UNDECIDED where something that was computed had no number.
 */
int lull_filter_run(const struct lull_filter *program, const struct lull_filter_value *fields,
		    const struct lull_filter_value *contexts);

#endif
