/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Checking an unlinked program, which comes from memory that others can write to: link.c relies
 * on what is checked here. Bytes: lull/abi/filter.h.
 */
#include "filter.h"

static int is_ahead(uint16_t next, uint32_t index, uint32_t test_count)
{
	return next == LULL_FILTER_ACCEPT || next == LULL_FILTER_REJECT ||
	       (next > index && next < test_count);
}

/* Whether the operands of a side come to one. @waiting: how many do before they begin. */
static int is_side(const struct lull_unlinked_operand *operands, uint32_t count, uint32_t waiting)
{
	uint32_t depth = waiting;

	for (uint32_t i = 0; i < count; i++) {
		if (operands[i].kind < LULL_UNLINKED_ADD) {
			if (depth++ == LULL_FILTER_RESULTS)
				return 0;
		} else if (depth-- < waiting + 2) {
			return 0;
		}
	}
	return depth == waiting + 1;
}

static const char *test_check(const struct lull_unlinked *unlinked, uint32_t index,
			      const struct lull_unlinked_test *test,
			      const struct lull_unlinked_operand *operands)
{
	uint32_t count = (uint32_t)test->left_count + test->right_count;

	if (test->relation >= LULL_UNLINKED_RELATIONS || test->negated > 1)
		return "there is no relation of this kind";
	if (!test->left_count || !test->right_count != (test->relation == LULL_UNLINKED_TRUE) ||
	    test->first + count > unlinked->operand_count)
		return "a test has no operands, or too many";
	if (!is_ahead(test->then, index, unlinked->test_count) ||
	    !is_ahead(test->otherwise, index, unlinked->test_count))
		return "a test is followed by none that is ahead";
	operands += test->first;
	if (!is_side(operands, test->left_count, 0) ||
	    (test->right_count && !is_side(operands + test->left_count, test->right_count, 1)))
		return "operators have too few operands, or too many";
	if (test->unused[0] | test->unused[1] | test->unused[2])
		return "a test has bits that have no meaning";
	return NULL;
}

static const char *operand_check(const struct lull_unlinked *unlinked,
				 const struct lull_unlinked_operand *operand)
{
	if (operand->kind >= LULL_UNLINKED_KINDS || operand->unused)
		return "there is no operand of this kind";
	if (operand->text_place + operand->text_bytes > unlinked->texts_bytes)
		return "a text does not lie in the program";
	if (operand->kind == LULL_UNLINKED_CONTEXT && operand->number >= LULL_CONTEXTS)
		return "there is no such context";
	if (operand->kind == LULL_UNLINKED_NEGATIVE && operand->number > 1ull << 63)
		return "a number is too small";
	return NULL;
}

const char *lull_unlinked_check(const struct lull_unlinked *unlinked, size_t bytes)
{
	const struct lull_unlinked_test *tests = (const void *)(unlinked + 1);
	const struct lull_unlinked_operand *operands;
	const char *wrong = NULL;

	if (bytes < sizeof(*unlinked) || unlinked->bytes != bytes)
		return "it has not the size that it states";
	if (!unlinked->test_count || unlinked->test_count > LULL_FILTER_TESTS_MAX ||
	    !unlinked->operand_count || unlinked->operand_count > LULL_UNLINKED_OPERANDS_MAX ||
	    unlinked->texts_bytes > LULL_FILTER_TEXTS_MAX)
		return "it has no tests or operands, or too many, or too long texts";
	if (unlinked->unused[0] | unlinked->unused[1] | unlinked->unused[2])
		return "it has bits that have no meaning";
	if (bytes != sizeof(*unlinked) + unlinked->test_count * sizeof(*tests) +
			     unlinked->operand_count * sizeof(*operands) + unlinked->texts_bytes)
		return "its parts are not as long as it is";
	operands = (const void *)(tests + unlinked->test_count);
	for (uint32_t i = 0; i < unlinked->test_count && !wrong; i++)
		wrong = test_check(unlinked, i, &tests[i], operands);
	for (uint32_t i = 0; i < unlinked->operand_count && !wrong; i++)
		wrong = operand_check(unlinked, &operands[i]);
	return wrong;
}
