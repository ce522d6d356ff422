/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Checking a program before it may run: sizes, inputs, texts, and that it only goes ahead.
 *
 * What is checked here, run.c relies on. The tests beside it, a fuzzer among them, hold the two
 * against each other. Design: docs/design/70-filter.md.
 */
#include "description.h"

#define HEAD_BYTES sizeof(struct lull_filter)
#define TEST_BYTES sizeof(struct lull_filter_test)

size_t lull_filter_fields(const char *description, uint8_t inputs[LULL_FILTER_FIELDS_MAX])
{
	const char *line = lull_description_fields(description);
	struct field field;
	size_t count;

	for (count = 0; *line && count < LULL_FILTER_FIELDS_MAX; count++) {
		line = lull_description_field(line, &field);
		inputs[count] = (uint8_t)lull_description_type(field.type).input;
	}
	return count;
}

static enum lull_filter_input input_find(uint8_t input, const uint8_t *inputs, size_t input_count)
{
	if (input >= LULL_FILTER_CONTEXT && input < LULL_FILTER_CONTEXT + LULL_CONTEXTS)
		return input == LULL_FILTER_CONTEXT + LULL_CONTEXT_COMM ? LULL_FILTER_BYTES :
									  LULL_FILTER_NUMBER;
	return input < input_count ? (enum lull_filter_input)inputs[input] : LULL_FILTER_NONE;
}

/* May a test be followed by this? */
static int is_ahead(uint16_t next, uint32_t index, const struct lull_filter *program)
{
	return next == LULL_FILTER_ACCEPT || next == LULL_FILTER_REJECT ||
	       (next > index && next < program->test_count);
}

static const char *text_check(const struct lull_filter *program,
			      const struct lull_filter_test *test)
{
	if (test->right != LULL_FILTER_CONSTANT)
		return "a text is compared with something else than a constant";
	if (test->mask > LULL_FILTER_TEXT_MAX || test->operand > program->texts_bytes ||
	    test->mask > program->texts_bytes - test->operand)
		return "a text does not lie in the program";
	return NULL;
}

/* A side of a test that takes results. */
static const char *side_check(uint8_t side, uint64_t word, const uint8_t *inputs,
			      size_t input_count)
{
	if (side == LULL_FILTER_CONSTANT)
		return NULL;
	if (side >= LULL_FILTER_RESULT && side < LULL_FILTER_RESULT + LULL_FILTER_RESULTS)
		return word ? "a result has bits that have no meaning" : NULL;
	return input_find(side, inputs, input_count) == LULL_FILTER_NUMBER ?
		       NULL :
		       "an input that is computed with is no number";
}

static const char *result_check(const struct lull_filter_test *test, const uint8_t *inputs,
				size_t input_count)
{
	uint32_t into = test->detail >> LULL_FILTER_INTO_SHIFT;
	const char *wrong = side_check(test->left, test->mask, inputs, input_count);

	if (into >= (test->kind < LULL_FILTER_ADD ? 1 : LULL_FILTER_RESULTS))
		return "a test has a result that there is not";
	return wrong ? wrong : side_check(test->right, test->operand, inputs, input_count);
}

static const char *test_check(const struct lull_filter *program, uint32_t index,
			      const struct lull_filter_test *test, const uint8_t *inputs,
			      size_t input_count)
{
	enum lull_filter_input left = input_find(test->left, inputs, input_count);

	if (!is_ahead(test->then, index, program) || !is_ahead(test->otherwise, index, program))
		return "a test is followed by none that is ahead";
	if (test->kind >= LULL_FILTER_SAME && test->kind < LULL_FILTER_KINDS)
		return result_check(test, inputs, input_count);
	if (test->detail)
		return "a test has bits that have no meaning";
	switch (test->kind) {
	case LULL_FILTER_EQUAL:
	case LULL_FILTER_LESS:
	case LULL_FILTER_LESS_SIGNED:
		if (left != LULL_FILTER_NUMBER)
			return "an input that is compared as a number is none";
		if (test->right != LULL_FILTER_CONSTANT &&
		    input_find(test->right, inputs, input_count) != LULL_FILTER_NUMBER)
			return "an input that a number is compared with is none";
		return NULL;
	case LULL_FILTER_TEXT:
	case LULL_FILTER_PREFIX:
	case LULL_FILTER_GLOB:
		if (left != LULL_FILTER_BYTES)
			return "an input that is compared as a text is none";
		return text_check(program, test);
	default:
		return "there is no test of this kind";
	}
}

static uint32_t result_bit(uint8_t side)
{
	return side >= LULL_FILTER_RESULT && side != LULL_FILTER_CONSTANT ?
		       1u << (side - LULL_FILTER_RESULT) :
		       0;
}

/* Whether each test takes only results that are there, whichever way led to it. */
static const char *results_check(const struct lull_filter_test *tests, uint32_t count)
{
	uint8_t there[LULL_FILTER_TESTS_MAX]; /* a bit for each result, by test */
	uint32_t i;

	for (i = 0; i < count; i++)
		there[i] = i ? (uint8_t)((1u << LULL_FILTER_RESULTS) - 1) : 0;
	/* Tests lead ahead: what is there at a test is known when it is its turn. */
	for (i = 0; i < count; i++) {
		const struct lull_filter_test *test = &tests[i];
		uint8_t put = there[i];

		if ((result_bit(test->left) | result_bit(test->right)) & ~there[i])
			return "a test takes a result that may not be there";
		if (test->kind >= LULL_FILTER_ADD)
			put |= (uint8_t)(1u << (test->detail >> LULL_FILTER_INTO_SHIFT));
		if (test->then < count)
			there[test->then] &= put;
		if (test->otherwise < count)
			there[test->otherwise] &= there[i];
	}
	return NULL;
}

const char *lull_filter_check(const struct lull_filter *program, size_t bytes,
			      const uint8_t *inputs, size_t input_count)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	const char *wrong = NULL;
	uint32_t i;

	if (bytes < HEAD_BYTES || program->bytes != bytes)
		return "it has not the size that it states";
	if (!program->test_count || program->test_count > LULL_FILTER_TESTS_MAX ||
	    program->texts_bytes > LULL_FILTER_TEXTS_MAX)
		return "it has no tests, or too many, or too long texts";
	if (bytes != HEAD_BYTES + program->test_count * TEST_BYTES + program->texts_bytes)
		return "its parts are not as long as it is";
	if (input_count > LULL_FILTER_FIELDS_MAX)
		return "the event has too many fields";
	for (i = 0; i < program->test_count && !wrong; i++)
		wrong = test_check(program, i, &tests[i], inputs, input_count);
	return wrong ? wrong : results_check(tests, program->test_count);
}
