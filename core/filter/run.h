/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Running a short program, for code that has no time for a call: one whose tests each take a field
 * and a constant, both numbers.
 *
 * Nothing is checked again: the program lies in memory that only this side can write to.
 *
 * A test's answer leads to the next test by a jump, and not by a selection of the next one's
 * number: a processor that foresees the jump has the next test's answer before this one's.
 */
#ifndef LULL_FILTER_RUN_H
#define LULL_FILTER_RUN_H

#include "filter.h"

#define FILTER_INLINE static inline __attribute__((__always_inline__))

/* As lull_filter_run(), for a program of which lull_filter_is_short() holds. Return: 1 or 0. */
FILTER_INLINE uint32_t filter_run_short(const struct lull_filter *program,
					const struct lull_filter_value *fields)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	const struct lull_filter_test *test = tests;
	uint32_t next;

	/* Bound: each round is of a test further ahead, of test_count at most. */
	for (;;) {
		uint64_t a = fields[test->left].number & test->mask, b = test->operand;

		if (test->kind == LULL_FILTER_EQUAL) {
			if (a != b)
				goto fails;
		} else if (test->kind == LULL_FILTER_LESS) {
			if (a >= b)
				goto fails;
		} else if ((int64_t)a >= (int64_t)b) {
			goto fails;
		}
		next = test->then;
		if (next >= LULL_FILTER_REJECT)
			return next & 1;
		test = &tests[next];
		continue;
fails:
		next = test->otherwise;
		if (next >= LULL_FILTER_REJECT)
			return next & 1;
		test = &tests[next];
	}
}

_Static_assert((LULL_FILTER_ACCEPT & 1) == 1 && (LULL_FILTER_REJECT & 1) == 0 &&
		       LULL_FILTER_ACCEPT == LULL_FILTER_REJECT + 1,
	       "an end is an answer by its last bit");

#endif
