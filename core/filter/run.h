/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Running a program, for code that has no time for a call: as lull_filter_run() in filter.h.
 *
 * Nothing is checked again: the program lies in memory that only this side can write to. Inputs may
 * change while they are read, as the texts of the traced do: their length does not.
 *
 * A test's answer leads to the next test by a jump, and not by a selection of the next one's
 * number: a processor that foresees the jump has the next test's answer before this one's.
 */
#ifndef LULL_FILTER_RUN_H
#define LULL_FILTER_RUN_H

#include "filter.h"

#define FILTER_INLINE static inline __attribute__((__always_inline__))

/*
 * Run a program from one of its tests on: any program. What is inline here calls it at the first
 * test that takes more than a field and a constant. Return: as
 * lull_filter_run().
 */
int lull_filter_run_from(const struct lull_filter *program, const struct lull_filter_test *test,
			 const struct lull_filter_value *fields,
			 const struct lull_filter_value *contexts);

FILTER_INLINE int filter_run(const struct lull_filter *program,
			     const struct lull_filter_value *fields,
			     const struct lull_filter_value *contexts)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	const struct lull_filter_test *test = tests;

	/* Bound: each round is of a test further ahead, of test_count at most. */
	for (;;) {
		uint64_t a, b = test->operand;
		uint32_t next;

		if (__builtin_expect(test->left >= LULL_FILTER_CONTEXT ||
					     test->right != LULL_FILTER_CONSTANT,
				     0))
			return lull_filter_run_from(program, test, fields, contexts);
		a = fields[test->left].number & test->mask;
		if (test->kind == LULL_FILTER_EQUAL) {
			if (a != b)
				goto fails;
		} else if (test->kind == LULL_FILTER_LESS) {
			if (a >= b)
				goto fails;
		} else if (test->kind == LULL_FILTER_LESS_SIGNED) {
			if ((int64_t)a >= (int64_t)b)
				goto fails;
		} else {
			return lull_filter_run_from(program, test, fields, contexts);
		}
		next = test->then;
		if (next >= LULL_FILTER_REJECT)
			return next == LULL_FILTER_ACCEPT;
		test = &tests[next];
		continue;
fails:
		next = test->otherwise;
		if (next >= LULL_FILTER_REJECT)
			return next == LULL_FILTER_ACCEPT;
		test = &tests[next];
	}
}

#endif
