/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Running a program that lull_filter_check() has taken, in the probe of an event. Short ones are
 * run by run.h. Design: docs/design/70-filter.md.
 */
#include "compute.h"
#include "run.h"

/* Loops, and no memcmp(): what a probe may call in the kernel is little. */
static int is_same(const unsigned char *a, const unsigned char *b, uint64_t bytes)
{
	uint64_t i = 0, word_a, word_b;

	for (; bytes - i >= sizeof(word_a); i += sizeof(word_a)) {
		__builtin_memcpy(&word_a, a + i, sizeof(word_a));
		__builtin_memcpy(&word_b, b + i, sizeof(word_b));
		if (word_a != word_b)
			return 0;
	}
	for (; i < bytes; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

int lull_filter_glob(const unsigned char *glob, uint64_t glob_bytes, const unsigned char *text,
		     uint64_t text_bytes)
{
	uint64_t at = 0, i = 0, star = 0, star_text = 0;
	int has_star = 0;

	if (text_bytes > LULL_FILTER_VALUE_MAX)
		text_bytes = LULL_FILTER_VALUE_MAX;
	/* Bound: each round takes a byte of the text, or of the glob, or moves star_text on. */
	while (i < text_bytes) {
		uint64_t escaped = at + 1 < glob_bytes && glob[at] == '\\';

		if (at < glob_bytes && glob[at] == '*') {
			has_star = 1;
			star = ++at;
			star_text = i;
		} else if (at < glob_bytes &&
			   (glob[at + escaped] == text[i] || (!escaped && glob[at] == '?'))) {
			at += 1 + escaped;
			i++;
		} else if (has_star) {
			/* The last star can match all that an earlier one could in its place. */
			at = star;
			i = ++star_text;
		} else {
			return 0;
		}
	}
	while (at < glob_bytes && glob[at] == '*')
		at++;
	return at == glob_bytes;
}

static int text_holds(const struct lull_filter_test *test, const struct lull_filter_value *left,
		      const unsigned char *texts)
{
	if (test->kind == LULL_FILTER_GLOB)
		return lull_filter_glob(texts + test->operand, test->mask, left->text,
					left->number);
	if (test->kind == LULL_FILTER_TEXT ? left->number != test->mask : left->number < test->mask)
		return 0;
	return is_same(left->text, texts + test->operand, test->mask);
}

static const struct lull_filter_value *input(uint8_t input, const struct lull_filter_value *fields,
					     const struct lull_filter_value *contexts)
{
	return input < LULL_FILTER_CONTEXT ? &fields[input] :
					     &contexts[input - LULL_FILTER_CONTEXT];
}

static int test_holds(const struct lull_filter_test *test, const struct lull_filter_value *fields,
		      const struct lull_filter_value *contexts, const unsigned char *texts)
{
	const struct lull_filter_value *left = input(test->left, fields, contexts);
	uint64_t a, b = test->operand;

	if (test->kind >= LULL_FILTER_TEXT)
		return text_holds(test, left, texts);
	a = left->number & test->mask;
	if (test->right != LULL_FILTER_CONSTANT)
		b &= input(test->right, fields, contexts)->number;
	if (test->kind == LULL_FILTER_EQUAL)
		return a == b;
	return test->kind == LULL_FILTER_LESS ? a < b : (int64_t)a < (int64_t)b;
}

/* What is known while a program with arithmetic runs. */
struct state {
	const struct lull_filter_value *fields;
	const struct lull_filter_value *contexts;
	wide results[LULL_FILTER_RESULTS]; /* each put before it is taken: lull_filter_check() */
};

static wide side(const struct state *state, uint8_t from, uint64_t word, uint32_t is_signed)
{
	uint64_t number;

	if (from == LULL_FILTER_CONSTANT)
		return is_signed ? ~(wide)word : (wide)word;
	if (from >= LULL_FILTER_RESULT)
		return state->results[from - LULL_FILTER_RESULT];
	number = input(from, state->fields, state->contexts)->number & word;
	return is_signed ? (wide)(int64_t)number : (wide)number;
}

/* One test that takes results. Return: whether it holds, or has a result. */
static int result_holds(struct state *state, const struct lull_filter_test *test)
{
	wide a = side(state, test->left, test->mask, test->detail & LULL_FILTER_LEFT_SIGNED);
	wide b = side(state, test->right, test->operand, test->detail & LULL_FILTER_RIGHT_SIGNED);

	if (test->kind == LULL_FILTER_SAME)
		return a == b;
	if (test->kind == LULL_FILTER_BELOW)
		return a < b;
	return lull_filter_compute(test->kind, &a, &b,
				   &state->results[test->detail >> LULL_FILTER_INTO_SHIFT]);
}

/* Apart from the function below, whose frame has no room for results then. */
static __attribute__((__noinline__)) int compute_from(const struct lull_filter *program,
						      const struct lull_filter_test *test,
						      const struct lull_filter_value *fields,
						      const struct lull_filter_value *contexts)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	const unsigned char *texts = (const unsigned char *)(tests + program->test_count);
	struct state state;
	uint32_t next;
	int undecided = 0;

	state.fields = fields;
	state.contexts = contexts;
	/* Bound: each round is of a test further ahead, of test_count at most. */
	for (;; test = &tests[next]) {
		int holds = test->kind >= LULL_FILTER_SAME ?
				    result_holds(&state, test) :
				    test_holds(test, fields, contexts, texts);

		if (!holds && test->kind >= LULL_FILTER_ADD)
			undecided = LULL_FILTER_UNDECIDED;
		next = holds ? test->then : test->otherwise;
		if (next >= LULL_FILTER_REJECT)
			return (next == LULL_FILTER_ACCEPT) | undecided;
	}
}

int lull_filter_run(const struct lull_filter *program, const struct lull_filter_value *fields,
		    const struct lull_filter_value *contexts)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	const struct lull_filter_test *test = tests;
	const unsigned char *texts = (const unsigned char *)(tests + program->test_count);
	uint32_t next;

	/* Bound: each round is of a test further ahead, of test_count at most. */
	for (;; test = &tests[next]) {
		if (test->kind >= LULL_FILTER_SAME)
			return compute_from(program, test, fields, contexts);
		next = test_holds(test, fields, contexts, texts) ? test->then : test->otherwise;
		if (next >= LULL_FILTER_REJECT)
			return next == LULL_FILTER_ACCEPT;
	}
}

static uint32_t context_bit(uint8_t input)
{
	return input >= LULL_FILTER_CONTEXT && input < LULL_FILTER_RESULT ?
		       1u << (input - LULL_FILTER_CONTEXT) :
		       0;
}

uint32_t lull_filter_contexts(const struct lull_filter *program)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	uint32_t i, found = 0;

	for (i = 0; i < program->test_count; i++)
		found |= context_bit(tests[i].left) | context_bit(tests[i].right);
	return found;
}

int lull_filter_is_short(const struct lull_filter *program)
{
	const struct lull_filter_test *tests = (const struct lull_filter_test *)(program + 1);
	uint32_t i;

	for (i = 0; i < program->test_count; i++)
		if (tests[i].kind > LULL_FILTER_LESS_SIGNED ||
		    tests[i].left >= LULL_FILTER_CONTEXT || tests[i].right != LULL_FILTER_CONSTANT)
			return 0;
	return 1;
}
