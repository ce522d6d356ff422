/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Filter bytes: the program that decides, for one event of one session, whether an occurrence is
 * recorded.
 *
 *	struct lull_filter | struct lull_filter_test[test_count] | texts
 *
 * A program is a list of tests. Each compares one input, a field of the event or a context, with a
 * constant or with another input, and says which test is next if it holds and if it does not, or
 * that the program ends. It goes ahead only, and has no state: so a run has at most as many steps
 * as the program has tests. Every condition that is made of comparisons by and, or and not is such
 * a list. Numbers are 64 bits, those of signed fields extended by their sign; which comparison is
 * meant for signed numbers, the test says.
 *
 * The compiler is tools/filter; core/filter checks programs and runs them. Whoever runs a program
 * has it checked first, whoever made it. All in native byte order.
 *
 * Paper: B 3.1, T 4.5 (filters of a trace session); docs/design/70-filter.md.
 */
#ifndef LULL_ABI_FILTER_H
#define LULL_ABI_FILTER_H

#include <stdint.h>
#include "context.h"

#define LULL_FILTER_TESTS_MAX 128u
#define LULL_FILTER_TEXT_MAX 255u /* bytes of one text */
#define LULL_FILTER_TEXTS_MAX 4096u /* bytes of all texts */
#define LULL_FILTER_FIELDS_MAX 64u /* fields of an event that a test can name */

/* Inputs: below LULL_FILTER_FIELDS_MAX fields, in their order; from here on enum lull_context. */
#define LULL_FILTER_CONTEXT 64u
/* In place of the right input: the test's operand. */
#define LULL_FILTER_CONSTANT 255u

/* In place of the next test: the program ends. */
#define LULL_FILTER_ACCEPT 65535u
#define LULL_FILTER_REJECT 65534u

enum lull_filter_kind {
	LULL_FILTER_EQUAL, /* left & mask == right */
	LULL_FILTER_LESS, /* left & mask < right, both unsigned */
	LULL_FILTER_LESS_SIGNED, /* left & mask < right, both signed */
	LULL_FILTER_TEXT, /* left is the text */
	LULL_FILTER_PREFIX, /* left begins with the text */
	LULL_FILTER_KINDS
};

struct lull_filter_test {
	uint8_t kind; /* enum lull_filter_kind */
	uint8_t left; /* an input */
	uint8_t right; /* an input, or LULL_FILTER_CONSTANT, as always for texts */
	uint8_t unused; /* 0 */
	uint16_t then; /* next test if this one holds: further ahead, or the end */
	uint16_t otherwise; /* next test if it does not */
	uint64_t mask; /* of numbers; of a text: its length in bytes */
	uint64_t operand; /* the constant, or the right input's mask; of a text: its place */
};

struct lull_filter {
	uint32_t bytes; /* of the program, this structure included */
	uint16_t test_count; /* 1 to LULL_FILTER_TESTS_MAX */
	uint16_t texts_bytes;
};

#endif
