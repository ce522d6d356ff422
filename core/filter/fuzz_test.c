/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fuzzes the check of filters and their run: programs that are right, damaged at random.
 *
 *	fuzz_test [ROUNDS [SEED]]
 *
 * Program, fields, contexts and each text end where memory ends, at a page that nobody may touch:
 * an accepted program that read behind any of them would end this one. Beside it runs a second,
 * slow interpreter, which counts the steps and must come to the same result.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../../check/random.h"
#include "../../check/test.h"
#include "run.h"

#define ROUNDS 300000u
#define PAGE 4096u
#define FIELDS 5u /* a number, a text, an array, a number, a text */
#define LEAST 1000u /* of each outcome: else the damage is too great or too small */

static const uint8_t inputs[FIELDS] = { LULL_FILTER_NUMBER, LULL_FILTER_BYTES, LULL_FILTER_NONE,
					LULL_FILTER_NUMBER, LULL_FILTER_BYTES };
static const uint64_t numbers[] = { 0, 1, 42, 255, UINT64_MAX, 1ull << 63, INT64_MAX };
static const char letters[] = "git-status";
static const char wild[] = "g*-s?*\\u*s";

/* Pages that end at one that nobody may touch. Return: where that is. */
static unsigned char *fence(void)
{
	unsigned char *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 2 * PAGE, PAGE, PROT_NONE))
		exit(2);
	return pages + 2 * PAGE;
}

static uint16_t next_of(uint32_t index, uint32_t count)
{
	uint32_t choice = random_below(4);

	if (choice < 2 && index + 1 < count)
		return (uint16_t)(index + 1 + random_below(count - index - 1));
	return choice & 1 ? LULL_FILTER_ACCEPT : LULL_FILTER_REJECT;
}

static uint8_t input_of(int is_text)
{
	static const uint8_t texts[] = { 1, 4, LULL_FILTER_CONTEXT + LULL_CONTEXT_COMM };
	static const uint8_t others[] = { 0, 3, LULL_FILTER_CONTEXT + LULL_CONTEXT_TID,
					  LULL_FILTER_CONTEXT + LULL_CONTEXTS - 1 };

	return is_text ? texts[random_below(3)] : others[random_below(4)];
}

/* A test that takes results: of two places only, so that many are put before they are taken. */
static struct lull_filter_test step_make(uint8_t kind)
{
	struct lull_filter_test test = { .kind = kind, .mask = UINT64_MAX };

	test.detail = (uint8_t)random_below(4);
	if (kind >= LULL_FILTER_ADD)
		test.detail |= (uint8_t)(random_below(2) << LULL_FILTER_INTO_SHIFT);
	switch (random_below(4)) {
	case 0:
		test.left = LULL_FILTER_CONSTANT;
		test.mask = random_below(2) ? random_below(70) : numbers[random_below(7)];
		break;
	case 1:
		test.left = input_of(0);
		break;
	default:
		test.left = (uint8_t)(LULL_FILTER_RESULT + random_below(2));
		test.mask = 0;
	}
	switch (random_below(3)) {
	case 0:
		test.right = LULL_FILTER_CONSTANT;
		test.operand = random_below(2) ? random_below(70) : numbers[random_below(7)];
		break;
	case 1:
		test.right = input_of(0);
		test.operand = UINT64_MAX >> random_below(64);
		break;
	default:
		test.right = (uint8_t)(LULL_FILTER_RESULT + random_below(2));
	}
	return test;
}

/* A program that is right, at the end of its pages; but it may take results that are not there. */
static struct lull_filter *program_make(unsigned char *end)
{
	uint32_t count = 1 + random_below(6),
		 kinds = random_below(2) ? LULL_FILTER_SAME : LULL_FILTER_KINDS;
	uint32_t texts_bytes = random_below(12);
	uint32_t bytes = (uint32_t)(sizeof(struct lull_filter) +
				    count * sizeof(struct lull_filter_test) + texts_bytes);
	/* As aligned as the check asks for: a few bytes may lie behind it. */
	struct lull_filter *program = (void *)(end - ((bytes + 7) & ~7u));
	struct lull_filter_test *tests = (void *)(program + 1);

	*program = (struct lull_filter){ bytes, (uint16_t)count, (uint16_t)texts_bytes };
	for (uint32_t i = 0; i < count; i++) {
		uint8_t kind = (uint8_t)random_below(kinds);
		int is_text = kind >= LULL_FILTER_TEXT;
		uint32_t at = random_below(texts_bytes + 1);

		if (kind >= LULL_FILTER_SAME) {
			tests[i] = step_make(kind);
			tests[i].then = next_of(i, count);
			tests[i].otherwise = next_of(i, count);
			continue;
		}
		tests[i] = (struct lull_filter_test){
			.kind = kind,
			.left = input_of(is_text),
			.right = is_text || random_below(2) ? LULL_FILTER_CONSTANT : input_of(0),
			.then = next_of(i, count),
			.otherwise = next_of(i, count),
			.mask = is_text ? random_below(texts_bytes - at + 1) : UINT64_MAX,
			.operand = is_text ? at : numbers[random_below(7)],
		};
	}
	memcpy(tests + count, random_below(2) ? letters : wild,
	       texts_bytes < 10 ? texts_bytes : 10);
	return program;
}

static void program_damage(struct lull_filter *program)
{
	for (uint32_t left = random_below(3); left; left--) {
		uint32_t at = 4 + random_below(program->bytes - 4);

		((unsigned char *)program)[at] = random_below(2) ?
							 (unsigned char)random_below(256) :
							 (unsigned char)(random_below(9) - 2);
	}
}

/* A glob, by trying every way to share out the text among its stars. */
static int is_like(const char *glob, uint64_t glob_bytes, const char *text, uint64_t text_bytes)
{
	uint64_t escaped = glob_bytes > 1 && *glob == '\\';

	if (!glob_bytes)
		return !text_bytes;
	if (*glob == '*') {
		for (uint64_t taken = 0; taken <= text_bytes; taken++)
			if (is_like(glob + 1, glob_bytes - 1, text + taken, text_bytes - taken))
				return 1;
		return 0;
	}
	return text_bytes && (glob[escaped] == *text || (!escaped && *glob == '?')) &&
	       is_like(glob + 1 + escaped, glob_bytes - 1 - escaped, text + 1, text_bytes - 1);
}

/* Arithmetic by other means than that of compute.c. Return: whether there is a result. */
static int compute_slowly(uint8_t kind, __int128 a, __int128 b, __int128 *result)
{
	const __int128 most = ((__int128)1 << 64) - 1;

	switch (kind) {
	case LULL_FILTER_ADD:
		*result = b + a;
		break;
	case LULL_FILTER_SUBTRACT:
		*result = -b + a;
		break;
	case LULL_FILTER_MULTIPLY:
		if (__builtin_mul_overflow(a, b, result))
			return 0;
		break;
	case LULL_FILTER_DIVIDE:
	case LULL_FILTER_REMAINDER:
		if (!b)
			return 0;
		*result = kind == LULL_FILTER_DIVIDE ? a / b : a % b;
		break;
	case LULL_FILTER_AND:
		*result = ~(~a | ~b);
		break;
	case LULL_FILTER_OR:
		*result = ~(~a & ~b);
		break;
	case LULL_FILTER_XOR:
		*result = (a | b) & ~(a & b);
		break;
	case LULL_FILTER_SHIFT_LEFT:
		if (b < 0)
			return 0;
		/* Bound: what is beyond the range stays there. */
		for (*result = a; b-- && *result && *result <= most && *result >= ~most;)
			*result *= 2;
		break;
	default:
		if (b < 0)
			return 0;
		/* Bound: at 0 and at -1 it stays. */
		for (*result = a; b-- && *result && *result != -1;)
			*result = (*result - (*result & 1)) / 2;
	}
	return *result <= most && *result >= ~most;
}

/* What the second interpreter knows. */
struct slow {
	const struct lull_filter_value *fields;
	const struct lull_filter_value *contexts;
	__int128 results[LULL_FILTER_RESULTS];
	int is_there[LULL_FILTER_RESULTS];
	int is_wrong; /* it would leave its bounds */
	int undecided;
};

static const struct lull_filter_value *value_of(struct slow *slow, uint8_t input)
{
	static const struct lull_filter_value none;

	if (input < FIELDS)
		return &slow->fields[input];
	if (input >= LULL_FILTER_CONTEXT && input - LULL_FILTER_CONTEXT < (int)LULL_CONTEXTS)
		return &slow->contexts[input - LULL_FILTER_CONTEXT];
	slow->is_wrong = 1;
	return &none;
}

static __int128 side_of(struct slow *slow, uint8_t side, uint64_t word, int is_signed)
{
	const struct lull_filter_value *value;

	if (side == LULL_FILTER_CONSTANT)
		return is_signed ? -1 - (__int128)word : (__int128)word;
	if (side >= LULL_FILTER_RESULT && side < LULL_FILTER_RESULT + LULL_FILTER_RESULTS) {
		slow->is_wrong |= !slow->is_there[side - LULL_FILTER_RESULT];
		return slow->results[side - LULL_FILTER_RESULT];
	}
	value = value_of(slow, side);
	slow->is_wrong |= value->text != NULL;
	word &= value->number;
	return is_signed && word >> 63 ? (__int128)word - ((__int128)1 << 64) : (__int128)word;
}

static int result_holds(struct slow *slow, const struct lull_filter_test *test)
{
	__int128 a = side_of(slow, test->left, test->mask, test->detail & 1);
	__int128 b = side_of(slow, test->right, test->operand, test->detail >> 1 & 1);
	uint32_t into = test->detail >> 2;

	if (test->kind == LULL_FILTER_SAME)
		return !(a - b);
	if (test->kind == LULL_FILTER_BELOW)
		return a - b < 0;
	if (into >= LULL_FILTER_RESULTS) {
		slow->is_wrong = 1;
		return 0;
	}
	if (!compute_slowly(test->kind, a, b, &a)) {
		slow->undecided = LULL_FILTER_UNDECIDED;
		return 0;
	}
	slow->results[into] = a;
	return slow->is_there[into] = 1;
}

static int text_holds(struct slow *slow, const struct lull_filter *program,
		      const struct lull_filter_test *test)
{
	const struct lull_filter_test *tests = (const void *)(program + 1);
	const char *texts = (const void *)(tests + program->test_count);
	const struct lull_filter_value *value = value_of(slow, test->left);

	if (!value->text || test->operand + test->mask > program->texts_bytes) {
		slow->is_wrong = 1;
		return 0;
	}
	if (test->kind == LULL_FILTER_GLOB)
		return is_like(texts + test->operand, test->mask, value->text, value->number);
	return (test->kind == LULL_FILTER_TEXT ? value->number == test->mask :
						 value->number >= test->mask) &&
	       !memcmp(value->text, texts + test->operand, test->mask);
}

static int number_holds(struct slow *slow, const struct lull_filter_test *test)
{
	const struct lull_filter_value *left = value_of(slow, test->left), *right = NULL;
	uint64_t a, b;

	if (test->right != LULL_FILTER_CONSTANT)
		right = value_of(slow, test->right);
	slow->is_wrong |= left->text || (right && right->text);
	a = left->number & test->mask;
	b = right ? right->number & test->operand : test->operand;
	if (test->kind == LULL_FILTER_EQUAL)
		return !(a ^ b);
	return test->kind == LULL_FILTER_LESS ? a < b : (a ^ 1ull << 63) < (b ^ 1ull << 63);
}

/*
 * The second interpreter. Return: as lull_filter_run(); -1 where it would leave its bounds or go on
 * for ever.
 */
static int run_slowly(const struct lull_filter *program, const struct lull_filter_value *fields,
		      const struct lull_filter_value *contexts)
{
	const struct lull_filter_test *tests = (const void *)(program + 1);
	struct slow slow = { .fields = fields, .contexts = contexts };
	uint32_t next = 0, steps = 0;

	while (next != LULL_FILTER_ACCEPT && next != LULL_FILTER_REJECT) {
		const struct lull_filter_test *test = &tests[next];
		int holds;

		if (next >= program->test_count || ++steps > program->test_count)
			return -1;
		holds = test->kind < LULL_FILTER_TEXT ? number_holds(&slow, test) :
			test->kind < LULL_FILTER_SAME ? text_holds(&slow, program, test) :
							result_holds(&slow, test);
		if (slow.is_wrong)
			return -1;
		next = holds ? test->then : test->otherwise;
	}
	return (next == LULL_FILTER_ACCEPT) | slow.undecided;
}

/* Values of all inputs, each kind where reading too far is noticed. */
static void values_fill(struct lull_filter_value *values, uint32_t count, unsigned char *end)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bytes = random_below(11);
		int is_text =
			count == FIELDS ? inputs[i] == LULL_FILTER_BYTES : i == LULL_CONTEXT_COMM;

		values[i].number = is_text ? bytes : numbers[random_below(7)];
		values[i].text = is_text ? end - bytes : NULL;
	}
}

/* Does a program take a result? */
static uint32_t has_steps(const struct lull_filter *program)
{
	const struct lull_filter_test *tests = (const void *)(program + 1);
	uint32_t found = 0;

	for (uint32_t i = 0; i < program->test_count; i++)
		found |= (tests[i].left >= LULL_FILTER_RESULT && tests[i].left < 255) ||
			 (tests[i].right >= LULL_FILTER_RESULT && tests[i].right < 255);
	return found;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : ROUNDS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint32_t refused = 0, met = 0, unmet = 0, computed = 0, short_ones = 0;
	uint32_t differing = 0;
	unsigned char *program_end = fence(), *text_end = fence();
	struct lull_filter_value *fields = (void *)(fence() - FIELDS * sizeof(*fields));
	struct lull_filter_value *contexts = (void *)(fence() - LULL_CONTEXTS * sizeof(*contexts));

	memcpy(text_end - 10, letters, 10);
	*(uint32_t *)(program_end - 4) = 4;
	check(lull_filter_check((void *)(program_end - 4), 4, inputs, FIELDS) != NULL,
	      "program_that_is_shorter_than_its_head_is_refused_unread");
	for (uint32_t round = 0; round < rounds; round++) {
		struct lull_filter *program;
		uint32_t bytes;
		int result, is_short;

		random_begin(seed + round);
		program = program_make(program_end);
		bytes = program->bytes;
		program_damage(program);
		values_fill(fields, FIELDS, text_end);
		values_fill(contexts, LULL_CONTEXTS, text_end);
		if (lull_filter_check(program, bytes, inputs, FIELDS)) {
			refused++;
			continue;
		}
		/* First the slow one, which notices what would not end. */
		result = run_slowly(program, fields, contexts);
		is_short = lull_filter_is_short(program);
		if (result < 0 || lull_filter_run(program, fields, contexts) != result ||
		    (is_short && filter_run_short(program, fields) != (uint32_t)result)) {
			if (!differing++)
				printf("  round with seed %llu\n",
				       (unsigned long long)(seed + round));
			continue;
		}
		met += result & 1;
		unmet += !(result & 1);
		computed += has_steps(program);
		short_ones += is_short;
	}
	printf("  %u programs refused, %u met, %u not met, %u with results, %u short\n", refused,
	       met, unmet, computed, short_ones);
	check(!differing, "accepted_programs_stay_in_their_bounds_and_end");
	check(rounds < ROUNDS || (refused > LEAST && met > LEAST && unmet > LEAST &&
				  computed > LEAST && short_ones > LEAST),
	      "programs_of_each_kind_were_made");
	return sums();
}
