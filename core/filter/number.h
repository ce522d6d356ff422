/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Numbers that a filter compares: a constant, or an input with the values that it can have. What
 * ranges and signs decide is decided when a program is linked, so that its tests compare 64 bits.
 */
#ifndef LULL_FILTER_NUMBER_H
#define LULL_FILTER_NUMBER_H

#include "compute.h"

/* An input has values from least to most, after its mask; a constant is least and most. */
struct number {
	wide least;
	wide most;
	uint64_t mask;
	uint8_t input; /* or LULL_FILTER_CONSTANT; a result, whose mask is 0 */
};

/* Where a comparison leads: where it holds, and where it does not. */
struct ends {
	uint16_t holds;
	uint16_t fails;
	uint8_t inverted; /* the filter holds where the comparison does not */
};

/* The tests that were linked so far: from the last to the first, because each names the next. */
struct linked_tests {
	struct lull_filter_test *tests; /* room for LULL_FILTER_TESTS_MAX */
	uint8_t *inverted; /* by test */
	uint16_t first; /* the test that was linked last; those behind it are filled in */
	uint8_t is_full; /* there were more than there is room for */
};

/*
 * Put a test before all others. Return: its place; where both its ends are one, that; where there
 * is no room, any end.
 */
uint16_t lull_linked_put(struct linked_tests *linked, struct lull_filter_test test,
			 struct ends ends);

/* A test that takes results, of any two numbers, which is put nowhere yet. */
struct lull_filter_test lull_linked_step(uint32_t kind, const struct number *a,
					 const struct number *b);

/* Compare two numbers by tests that are put before all others. Return: where to begin. */
uint16_t lull_linked_equal(struct linked_tests *linked, const struct number *a,
			   const struct number *b, struct ends ends);
uint16_t lull_linked_less(struct linked_tests *linked, const struct number *a,
			  const struct number *b, struct ends ends);

#endif
