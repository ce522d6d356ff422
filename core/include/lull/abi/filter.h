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
 * A program is linked from an unlinked one, which is for all events: its comparisons name their
 * inputs by text, and mean numbers of any size and sign.
 *
 *	struct lull_unlinked | struct lull_unlinked_test[test_count] |
 *	struct lull_unlinked_operand[operand_count] | texts
 *
 * tools/filter makes unlinked programs of a text; core/filter links them for one event's
 * description, checks programs and runs them. Whoever links or runs one has it checked first,
 * whoever made it. All in native byte order.
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
#define LULL_FILTER_VALUE_MAX 1024u /* bytes of a value that LULL_FILTER_GLOB looks at */

/* Inputs: below LULL_FILTER_FIELDS_MAX fields, in their order; from here on enum lull_context. */
#define LULL_FILTER_CONTEXT 64u
/* Results: from here on. */
#define LULL_FILTER_RESULT 128u
#define LULL_FILTER_RESULTS 8u
/* In place of the right input: the test's operand; where tests take results, of the left, too. */
#define LULL_FILTER_CONSTANT 255u

/* Details of a test that takes results, and the place of the result that it puts, shifted. */
#define LULL_FILTER_LEFT_SIGNED \
	1u /* the input is signed; the constant is the number's complement */
#define LULL_FILTER_RIGHT_SIGNED 2u
#define LULL_FILTER_INTO_SHIFT 2u

/* In place of the next test: the program ends. */
#define LULL_FILTER_ACCEPT 65535u
#define LULL_FILTER_REJECT 65534u

enum lull_filter_kind {
	LULL_FILTER_EQUAL, /* left & mask == right */
	LULL_FILTER_LESS, /* left & mask < right, both unsigned */
	LULL_FILTER_LESS_SIGNED, /* left & mask < right, both signed */
	LULL_FILTER_TEXT, /* left is the text */
	LULL_FILTER_PREFIX, /* left begins with the text */
	LULL_FILTER_GLOB, /* left is like the text: * any bytes, ? one, \ before what is itself */
	LULL_FILTER_SAME, /* left == right, results among them, of any sign; as all from here on */
	LULL_FILTER_BELOW, /* left < right */
	LULL_FILTER_ADD, /* computes; as all from here on */
	LULL_FILTER_SUBTRACT,
	LULL_FILTER_MULTIPLY,
	LULL_FILTER_DIVIDE, /* towards 0 */
	LULL_FILTER_REMAINDER, /* with the sign of left */
	LULL_FILTER_AND, /* a negative number has ones ahead of its bits, without end */
	LULL_FILTER_OR,
	LULL_FILTER_XOR,
	LULL_FILTER_SHIFT_LEFT,
	LULL_FILTER_SHIFT_RIGHT, /* a negative number stays one */
	LULL_FILTER_KINDS
};

struct lull_filter_test {
	uint8_t kind; /* enum lull_filter_kind */
	uint8_t left; /* an input, or a result */
	uint8_t right; /* an input, a result, or LULL_FILTER_CONSTANT, as always for texts */
	uint8_t detail; /* of a test that takes results; else 0 */
	uint16_t then; /* next test if this one holds: further ahead, or the end */
	uint16_t otherwise; /* next test if it does not */
	uint64_t mask; /* of numbers; of a text: its length in bytes; of a result: 0 */
	uint64_t operand; /* the constant, or the right input's mask; of a text: its place */
};

struct lull_filter {
	uint32_t bytes; /* of the program, this structure included */
	uint16_t test_count; /* 1 to LULL_FILTER_TESTS_MAX */
	uint16_t texts_bytes;
};

#define LULL_FILTER_BYTES_MAX 7176u /* of a program */

#define LULL_UNLINKED_OPERANDS_MAX 512u
#define LULL_UNLINKED_BYTES_MAX 14352u /* of an unlinked program */

enum lull_unlinked_relation {
	LULL_UNLINKED_EQUAL, /* left == right; of a text: it is the one, or like it */
	LULL_UNLINKED_LESS, /* left < right */
	LULL_UNLINKED_TRUE, /* left is not 0; there is no right */
	LULL_UNLINKED_RELATIONS
};

enum lull_unlinked_kind {
	LULL_UNLINKED_NUMBER,
	LULL_UNLINKED_NEGATIVE, /* minus the number */
	/* a text: a field, a context, or what another operand of the test explains: a label */
	LULL_UNLINKED_NAME,
	LULL_UNLINKED_CONTEXT, /* the number is an enum lull_context */
	LULL_UNLINKED_TEXT, /* compared as LULL_FILTER_TEXT, and so on */
	LULL_UNLINKED_PREFIX,
	LULL_UNLINKED_GLOB,
	/* Operators, as LULL_FILTER_ADD and so on: of the two numbers that stand before them. */
	LULL_UNLINKED_ADD,
	LULL_UNLINKED_SUBTRACT,
	LULL_UNLINKED_MULTIPLY,
	LULL_UNLINKED_DIVIDE,
	LULL_UNLINKED_REMAINDER,
	LULL_UNLINKED_AND,
	LULL_UNLINKED_OR,
	LULL_UNLINKED_XOR,
	LULL_UNLINKED_SHIFT_LEFT,
	LULL_UNLINKED_SHIFT_RIGHT,
	LULL_UNLINKED_KINDS
};

struct lull_unlinked_operand {
	uint8_t kind; /* enum lull_unlinked_kind */
	uint8_t text_bytes;
	uint16_t text_place; /* among the texts */
	uint32_t unused; /* 0 */
	uint64_t number;
};

/*
 * The operands of a side come to one: operators join those that stand before them, and no more than
 * LULL_FILTER_RESULTS wait for theirs, the left side among those of the right one. A side that the
 * event lacks makes a test not hold, negated or not, and so does one that has no number.
 */
struct lull_unlinked_test {
	uint8_t relation; /* enum lull_unlinked_relation */
	uint8_t negated; /* 1: the test holds where the relation does not */
	uint8_t left_count; /* operands of the left side, from first on */
	uint8_t right_count; /* those of the right side follow */
	uint16_t first; /* operand */
	uint16_t then; /* next test if this one holds: further ahead, or the end */
	uint16_t otherwise; /* next test if it does not */
	uint16_t unused[3]; /* 0 */
};

struct lull_unlinked {
	uint32_t bytes; /* of the program, this structure included */
	uint16_t test_count; /* 1 to LULL_FILTER_TESTS_MAX */
	uint16_t operand_count; /* 1 to LULL_UNLINKED_OPERANDS_MAX */
	uint16_t texts_bytes;
	uint16_t unused[3]; /* 0 */
};

#endif
