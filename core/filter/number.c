/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Comparing numbers of any size and sign by tests of 64 bits: number.h. */
#include "number.h"

static int is_constant(const struct number *number)
{
	return number->input == LULL_FILTER_CONSTANT;
}

static struct ends ends_swap(struct ends ends)
{
	return (struct ends){ ends.fails, ends.holds, !ends.inverted };
}

uint16_t lull_linked_put(struct linked_tests *linked, struct lull_filter_test test,
			 struct ends ends)
{
	if (ends.holds == ends.fails)
		return ends.holds;
	if (!linked->first) {
		linked->is_full = 1;
		return LULL_FILTER_REJECT;
	}
	test.then = ends.holds;
	test.otherwise = ends.fails;
	linked->tests[--linked->first] = test;
	linked->inverted[linked->first] = ends.inverted;
	return linked->first;
}

static int is_result(const struct number *number)
{
	return number->input >= LULL_FILTER_RESULT && !is_constant(number);
}

/* The word of a side, and whether it is signed. */
static uint64_t side_word(const struct number *number, uint32_t *detail, uint32_t is_signed)
{
	if (is_result(number))
		return 0;
	if (number->least < 0)
		*detail |= is_signed;
	if (is_constant(number))
		return (uint64_t)(number->least < 0 ? ~number->least : number->least);
	return number->mask;
}

struct lull_filter_test lull_linked_step(uint32_t kind, const struct number *a,
					 const struct number *b)
{
	uint32_t detail = 0;
	uint64_t left = side_word(a, &detail, LULL_FILTER_LEFT_SIGNED);
	uint64_t right = side_word(b, &detail, LULL_FILTER_RIGHT_SIGNED);

	return (struct lull_filter_test){
		.kind = (uint8_t)kind,
		.left = a->input,
		.right = b->input,
		.detail = (uint8_t)detail,
		.mask = left,
		.operand = right,
	};
}

/* A test of the input @a: with @b, of which the constant is in range. */
static uint16_t put_comparison(struct linked_tests *linked, enum lull_filter_kind kind,
			       const struct number *a, const struct number *b, struct ends ends)
{
	struct lull_filter_test test = {
		.kind = (uint8_t)kind,
		.left = a->input,
		.right = b->input,
		.mask = a->mask,
		.operand = is_constant(b) ? (uint64_t)b->least : b->mask,
	};

	return lull_linked_put(linked, test, ends);
}

/* A test whether an input is negative. Where that is not known, it leads on to the next. */
static uint16_t put_sign(struct linked_tests *linked, const struct number *input, uint16_t negative,
			 uint16_t other)
{
	const struct number zero = { .input = LULL_FILTER_CONSTANT };

	return put_comparison(linked, LULL_FILTER_LESS_SIGNED, input, &zero,
			      (struct ends){ negative, other, 0 });
}

/* Of two inputs, the one that may be negative, where the other may be too large to be signed. */
static const struct number *mixed(const struct number *a, const struct number *b)
{
	if (a->least < 0 && b->least >= 0 && b->most > INT64_MAX)
		return a;
	if (b->least < 0 && a->least >= 0 && a->most > INT64_MAX)
		return b;
	return NULL;
}

uint16_t lull_linked_equal(struct linked_tests *linked, const struct number *a,
			   const struct number *b, struct ends ends)
{
	const struct number *input = is_constant(a) ? b : a, *other = is_constant(a) ? a : b;
	const struct number *is_signed;
	uint16_t same_bits;

	if (is_constant(input))
		return a->least == b->least ? ends.holds : ends.fails;
	if (is_result(a) || is_result(b))
		return lull_linked_put(linked, lull_linked_step(LULL_FILTER_SAME, a, b), ends);
	if (is_constant(other) && (other->least < input->least || other->least > input->most))
		return ends.fails;
	is_signed = is_constant(other) ? NULL : mixed(a, b);
	same_bits = put_comparison(linked, LULL_FILTER_EQUAL, input, other, ends);
	/* The bits of a negative number are those of a large one. */
	return is_signed ? put_sign(linked, is_signed, ends.fails, same_bits) : same_bits;
}

/* Whether an input is less than a constant. */
static uint16_t less_than_constant(struct linked_tests *linked, const struct number *input,
				   wide value, struct ends ends)
{
	const struct number constant = { value, value, 0, LULL_FILTER_CONSTANT };

	if (value <= input->least)
		return ends.fails;
	if (value > input->most)
		return ends.holds;
	return put_comparison(linked, input->least < 0 ? LULL_FILTER_LESS_SIGNED : LULL_FILTER_LESS,
			      input, &constant, ends);
}

uint16_t lull_linked_less(struct linked_tests *linked, const struct number *a,
			  const struct number *b, struct ends ends)
{
	const struct number *is_signed = mixed(a, b);
	uint16_t unsigned_less;

	if (is_constant(a) && is_constant(b))
		return a->least < b->least ? ends.holds : ends.fails;
	if (is_result(a) || is_result(b))
		return lull_linked_put(linked, lull_linked_step(LULL_FILTER_BELOW, a, b), ends);
	/* Less than what the input is: the input is not less than one more. */
	if (is_constant(a))
		return less_than_constant(linked, b, a->least + 1, ends_swap(ends));
	if (is_constant(b))
		return less_than_constant(linked, a, b->least, ends);
	if (!is_signed)
		return put_comparison(linked,
				      a->least < 0 || b->least < 0 ? LULL_FILTER_LESS_SIGNED :
								     LULL_FILTER_LESS,
				      a, b, ends);
	unsigned_less = put_comparison(linked, LULL_FILTER_LESS, a, b, ends);
	/* A negative number is less than all of the other's; nothing of the other's is less. */
	return put_sign(linked, is_signed, is_signed == a ? ends.holds : ends.fails, unsigned_less);
}
