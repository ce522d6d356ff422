/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Filters: what programs decide, and which programs are refused. */
#include <string.h>
#include "../../check/test.h"
#include "compute.h"
#include "run.h"

#define DESCRIPTION \
	"a:b\n6\nf.c:1\ni32 pid\nu64 count\nstr name\nstrn comm\nau8 bytes\nf64 ratio\nx16 flags\n"
enum field { PID, COUNT, NAME, COMM, BYTES, RATIO, FLAGS, FIELDS };
#define TESTS_MAX 4
#define ALL UINT64_MAX
#define CONTEXT(name) (LULL_FILTER_CONTEXT + LULL_CONTEXT_##name)

/* A program, as the compiler lays it out. */
struct program {
	struct lull_filter head;
	struct lull_filter_test tests[TESTS_MAX];
	char texts[16];
};

static uint8_t inputs[LULL_FILTER_FIELDS_MAX];
static size_t input_count;

/* One test, which ends the program. */
static struct lull_filter_test test(int kind, int left, int right, uint64_t mask, uint64_t operand)
{
	return (struct lull_filter_test){
		.kind = (uint8_t)kind,
		.left = (uint8_t)left,
		.right = (uint8_t)right,
		.then = LULL_FILTER_ACCEPT,
		.otherwise = LULL_FILTER_REJECT,
		.mask = mask,
		.operand = operand,
	};
}

static struct program program_of(struct lull_filter_test only)
{
	struct program program = { .tests = { only } };

	program.head.test_count = 1;
	program.head.bytes = sizeof(program.head) + sizeof(only);
	return program;
}

/* A test of a text: its place, in texts that are given. */
static struct program program_of_text(int kind, int left, const char *text)
{
	struct program program =
		program_of(test(kind, left, LULL_FILTER_CONSTANT, strlen(text), 0));

	memcpy(&program.tests[1], text, strlen(text));
	program.head.texts_bytes = (uint16_t)strlen(text);
	program.head.bytes += (uint32_t)strlen(text);
	return program;
}

static const char *refused(const struct program *program)
{
	return lull_filter_check(&program->head, program->head.bytes, inputs, input_count);
}

static int run(struct program program)
{
	const struct lull_filter_value fields[FIELDS] = {
		[PID] = { .number = (uint64_t)-42 },
		[COUNT] = { .number = ALL - 1 },
		[NAME] = { .number = 4, .text = "name" },
		[COMM] = { .number = 0, .text = "" },
		[FLAGS] = { .number = 0xa5 },
	};
	const struct lull_filter_value contexts[LULL_CONTEXTS] = {
		[LULL_CONTEXT_TID] = { .number = 7 },
		[LULL_CONTEXT_COMM] = { .number = 3, .text = "git" },
	};

	int result;

	if (refused(&program))
		return -1;
	result = lull_filter_run(&program.head, fields, contexts);
	if (lull_filter_is_short(&program.head) &&
	    filter_run_short(&program.head, fields) != (uint32_t)result)
		return -1;
	return result;
}

static int number(int kind, int left, uint64_t mask, uint64_t constant)
{
	return run(program_of(test(kind, left, LULL_FILTER_CONSTANT, mask, constant)));
}

static int inputs_of_an_event_are_found_in_its_description(void)
{
	static const uint8_t expected[FIELDS] = { LULL_FILTER_NUMBER, LULL_FILTER_NUMBER,
						  LULL_FILTER_BYTES,  LULL_FILTER_BYTES,
						  LULL_FILTER_NONE,   LULL_FILTER_NONE,
						  LULL_FILTER_NUMBER };
	uint8_t found[LULL_FILTER_FIELDS_MAX];
	char many[2048] = "a:b\n6\nf:1\n";
	static const char *const others[] = {
		"u7 a", "u a", "stri a", "u128 a", "name a", "a", ""
	};

	CHECK(input_count == FIELDS && !memcmp(inputs, expected, sizeof(expected)));
	CHECK(lull_filter_fields("a:b\n6\nf:1\n", found) == 0 && !lull_filter_fields("", found));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(many, sizeof(many), "a:b\n6\nf:1\n%s\nbool x\nptr y\nenum z A=1",
			 others[i]);
		CHECK(lull_filter_fields(many, found) == 4 && found[0] == LULL_FILTER_NONE);
		CHECK(found[1] == LULL_FILTER_NUMBER && found[2] == LULL_FILTER_NUMBER &&
		      found[3] == LULL_FILTER_NUMBER);
	}
	strcpy(many, "a:b\n6\nf:1\n");
	for (int i = 0; i < 100; i++)
		strcat(many, "u8 x\n");
	CHECK(lull_filter_fields(many, found) == LULL_FILTER_FIELDS_MAX);
	return 0;
}

static int numbers_compare_as_their_test_says(void)
{
	CHECK(number(LULL_FILTER_EQUAL, PID, ALL, (uint64_t)-42) == 1);
	CHECK(number(LULL_FILTER_EQUAL, PID, ALL, 42) == 0);
	CHECK(number(LULL_FILTER_LESS_SIGNED, PID, ALL, 0) == 1);
	CHECK(number(LULL_FILTER_LESS_SIGNED, PID, ALL, (uint64_t)-42) == 0);
	CHECK(number(LULL_FILTER_LESS, PID, ALL, 0) == 0);
	CHECK(number(LULL_FILTER_LESS, COUNT, ALL, ALL) == 1);
	CHECK(number(LULL_FILTER_LESS, COUNT, ALL, ALL - 1) == 0);
	CHECK(number(LULL_FILTER_EQUAL, FLAGS, 0xf, 5) == 1);
	CHECK(number(LULL_FILTER_EQUAL, FLAGS, 0xf0, 5) == 0);
	CHECK(number(LULL_FILTER_EQUAL, CONTEXT(TID), ALL, 7) == 1);
	return 0;
}

static int inputs_compare_with_each_other_under_their_masks(void)
{
	CHECK(run(program_of(test(LULL_FILTER_LESS, CONTEXT(TID), FLAGS, ALL, ALL))) == 1);
	CHECK(run(program_of(test(LULL_FILTER_LESS, CONTEXT(TID), FLAGS, ALL, 7))) == 0);
	CHECK(run(program_of(test(LULL_FILTER_EQUAL, FLAGS, CONTEXT(TID), 5, 5))) == 1);
	CHECK(run(program_of(test(LULL_FILTER_LESS_SIGNED, PID, COUNT, ALL, ALL))) == 1);
	CHECK(run(program_of(test(LULL_FILTER_LESS_SIGNED, COUNT, PID, ALL, ALL))) == 0);
	return 0;
}

static int texts_are_equal_or_begin_alike(void)
{
	CHECK(run(program_of_text(LULL_FILTER_TEXT, NAME, "name")) == 1);
	CHECK(run(program_of_text(LULL_FILTER_TEXT, NAME, "nam")) == 0);
	CHECK(run(program_of_text(LULL_FILTER_TEXT, NAME, "names")) == 0);
	CHECK(run(program_of_text(LULL_FILTER_TEXT, NAME, "nama")) == 0);
	CHECK(run(program_of_text(LULL_FILTER_PREFIX, NAME, "na")) == 1);
	CHECK(run(program_of_text(LULL_FILTER_PREFIX, NAME, "name")) == 1);
	CHECK(run(program_of_text(LULL_FILTER_PREFIX, NAME, "names")) == 0);
	CHECK(run(program_of_text(LULL_FILTER_PREFIX, NAME, "ma")) == 0);
	CHECK(run(program_of_text(LULL_FILTER_PREFIX, NAME, "")) == 1);
	CHECK(run(program_of_text(LULL_FILTER_TEXT, COMM, "")) == 1);
	CHECK(run(program_of_text(LULL_FILTER_TEXT, CONTEXT(COMM), "git")) == 1);
	return 0;
}

static int glob(const char *glob)
{
	return run(program_of_text(LULL_FILTER_GLOB, NAME, glob));
}

static int texts_match_globs(void)
{
	static unsigned char longest[2 * LULL_FILTER_VALUE_MAX];

	CHECK(glob("name") == 1 && glob("*") == 1 && glob("n*e") == 1 && glob("????") == 1);
	CHECK(glob("*a*") == 1 && glob("n?m*") == 1 && glob("**e") == 1 && glob("*me*") == 1);
	CHECK(glob("") == 0 && glob("nam") == 0 && glob("?????") == 0 && glob("*names") == 0);
	CHECK(glob("n\\*e") == 0 && glob("\\name") == 1 && glob("nam\\") == 0 && glob("?") == 0);
	CHECK(lull_filter_glob((void *)"a\\*\\?", 5, (void *)"a*?", 3) == 1);
	CHECK(lull_filter_glob((void *)"*", 1, (void *)"", 0) == 1);
	/* What is behind the bytes that are looked at does not matter. */
	longest[LULL_FILTER_VALUE_MAX - 1] = 'x';
	CHECK(lull_filter_glob((void *)"*x", 2, longest, sizeof(longest)) == 1);
	longest[LULL_FILTER_VALUE_MAX - 1] = 0;
	longest[LULL_FILTER_VALUE_MAX] = 'x';
	CHECK(lull_filter_glob((void *)"*x*", 3, longest, sizeof(longest)) == 0);
	return 0;
}

/* pid < 0 && (flags & 1 == 0 || $tid == 7), with the second test's constant in question. */
static int decide(uint64_t flag, uint64_t tid)
{
	struct program program = { .head = { .test_count = 3 } };

	program.head.bytes = sizeof(program.head) + 3 * sizeof(program.tests[0]);
	program.tests[0] = test(LULL_FILTER_LESS_SIGNED, PID, LULL_FILTER_CONSTANT, ALL, 0);
	program.tests[0].then = 1;
	program.tests[1] = test(LULL_FILTER_EQUAL, FLAGS, LULL_FILTER_CONSTANT, 1, flag);
	program.tests[1].otherwise = 2;
	program.tests[2] = test(LULL_FILTER_EQUAL, CONTEXT(TID), LULL_FILTER_CONSTANT, ALL, tid);
	return run(program);
}

static int tests_follow_one_another_as_they_say(void)
{
	CHECK(decide(1, 0) == 1 && decide(0, 7) == 1 && decide(0, 0) == 0);
	return 0;
}

static int compute(int kind, wide a, wide b, wide expected)
{
	wide found = 0;

	return lull_filter_compute((uint8_t)kind, &a, &b, &found) && found == expected;
}

static int has_none(int kind, wide a, wide b)
{
	wide found = 7;

	return !lull_filter_compute((uint8_t)kind, &a, &b, &found) && found == 7;
}

#define MOST ((wide)UINT64_MAX)
#define LEAST (~MOST)

static int numbers_are_computed_exactly_or_not_at_all(void)
{
	CHECK(compute(LULL_FILTER_ADD, MOST, -1, MOST - 1) && has_none(LULL_FILTER_ADD, MOST, 1));
	CHECK(compute(LULL_FILTER_ADD, LEAST, MOST, -1) && has_none(LULL_FILTER_ADD, LEAST, -1));
	CHECK(compute(LULL_FILTER_SUBTRACT, -1, MOST, LEAST));
	CHECK(has_none(LULL_FILTER_SUBTRACT, 0, LEAST));
	CHECK(compute(LULL_FILTER_MULTIPLY, (wide)1 << 32, -((wide)1 << 32), LEAST));
	CHECK(has_none(LULL_FILTER_MULTIPLY, (wide)1 << 32, (wide)1 << 32));
	CHECK(compute(LULL_FILTER_MULTIPLY, 1, LEAST, LEAST) &&
	      has_none(LULL_FILTER_MULTIPLY, LEAST, -1) &&
	      has_none(LULL_FILTER_MULTIPLY, 2, LEAST));
	CHECK(compute(LULL_FILTER_MULTIPLY, LEAST, 0, 0) &&
	      has_none(LULL_FILTER_MULTIPLY, MOST, MOST));
	CHECK(has_none(LULL_FILTER_MULTIPLY, LEAST, LEAST));
	CHECK(compute(LULL_FILTER_DIVIDE, -7, 2, -3) && compute(LULL_FILTER_REMAINDER, -7, 2, -1));
	CHECK(compute(LULL_FILTER_DIVIDE, 7, -2, -3) && compute(LULL_FILTER_REMAINDER, 7, -2, 1));
	CHECK(compute(LULL_FILTER_DIVIDE, INT64_MIN, -1, (wide)1 << 63));
	CHECK(compute(LULL_FILTER_REMAINDER, INT64_MIN, -1, 0));
	CHECK(has_none(LULL_FILTER_DIVIDE, 1, 0) && has_none(LULL_FILTER_REMAINDER, 1, 0));
	CHECK(has_none(LULL_FILTER_DIVIDE, LEAST, -1) &&
	      compute(LULL_FILTER_DIVIDE, LEAST, 1, LEAST));
	CHECK(compute(LULL_FILTER_DIVIDE, LEAST, 3, -6148914691236517205));
	CHECK(compute(LULL_FILTER_REMAINDER, LEAST, 3, -1));
	CHECK(compute(LULL_FILTER_DIVIDE, LEAST, 4, -((wide)1 << 62)));
	CHECK(compute(LULL_FILTER_REMAINDER, LEAST, 4, 0));
	CHECK(compute(LULL_FILTER_DIVIDE, LEAST, LEAST, 1) &&
	      compute(LULL_FILTER_DIVIDE, MOST, LEAST, 0));
	CHECK(compute(LULL_FILTER_REMAINDER, LEAST, LEAST, 0) &&
	      compute(LULL_FILTER_REMAINDER, MOST, LEAST, MOST));
	CHECK(compute(LULL_FILTER_AND, -4, 7, 4) && compute(LULL_FILTER_OR, -4, 1, -3));
	CHECK(compute(LULL_FILTER_XOR, -1, MOST, LEAST) &&
	      compute(LULL_FILTER_AND, LEAST, MOST, 0));
	return 0;
}

static int shifts_are_powers_of_two_as_far_as_there_are_bits(void)
{
	CHECK(compute(LULL_FILTER_SHIFT_LEFT, 1, 63, (wide)1 << 63));
	CHECK(has_none(LULL_FILTER_SHIFT_LEFT, 1, 64) &&
	      compute(LULL_FILTER_SHIFT_LEFT, -1, 64, LEAST));
	CHECK(has_none(LULL_FILTER_SHIFT_LEFT, -1, 65) && has_none(LULL_FILTER_SHIFT_LEFT, -3, 63));
	CHECK(compute(LULL_FILTER_SHIFT_LEFT, 0, MOST, 0) &&
	      has_none(LULL_FILTER_SHIFT_LEFT, 1, MOST));
	CHECK(has_none(LULL_FILTER_SHIFT_LEFT, 0, -1) && has_none(LULL_FILTER_SHIFT_RIGHT, 0, -1));
	CHECK(compute(LULL_FILTER_SHIFT_RIGHT, MOST, 63, 1) &&
	      compute(LULL_FILTER_SHIFT_RIGHT, MOST, 64, 0));
	CHECK(compute(LULL_FILTER_SHIFT_RIGHT, -3, 1, -2) &&
	      compute(LULL_FILTER_SHIFT_RIGHT, LEAST, 64, -1));
	CHECK(compute(LULL_FILTER_SHIFT_RIGHT, LEAST, MOST, -1));
	CHECK(compute(LULL_FILTER_SHIFT_RIGHT, MOST, MOST, 0) &&
	      has_none(LULL_FILTER_SHIFT_RIGHT, 1, LEAST));
	CHECK(has_none(LULL_FILTER_KINDS, 1, 1) && has_none(LULL_FILTER_EQUAL, 1, 1));
	return 0;
}

/* (pid + by) * 2 < limit */
static struct program computed(int64_t by, int64_t limit)
{
	struct program program = { .head = { .test_count = 3 } };

	program.head.bytes = sizeof(program.head) + 3 * sizeof(program.tests[0]);
	program.tests[0] = test(LULL_FILTER_ADD, PID, LULL_FILTER_CONSTANT, ALL, (uint64_t)by);
	program.tests[0].detail = LULL_FILTER_LEFT_SIGNED | 3 << LULL_FILTER_INTO_SHIFT;
	program.tests[0].then = 1;
	program.tests[1] =
		test(LULL_FILTER_MULTIPLY, LULL_FILTER_CONSTANT, LULL_FILTER_RESULT + 3, 2, 0);
	program.tests[1].then = 2;
	program.tests[2] = test(LULL_FILTER_BELOW, LULL_FILTER_RESULT, LULL_FILTER_CONSTANT, 0,
				(uint64_t)(limit < 0 ? ~limit : limit));
	if (limit < 0)
		program.tests[2].detail = LULL_FILTER_RIGHT_SIGNED;
	return program;
}

static int what_is_computed_is_compared(void)
{
	CHECK(run(computed(2, -79)) == 1 && run(computed(2, -80)) == 0 &&
	      run(computed(43, 3)) == 1);
	CHECK(run(computed(43, 2)) == 0 && run(computed(42, 0)) == 0 && run(computed(42, 1)) == 1);
	/* Beyond the range: neither this nor its opposite. */
	CHECK(run(computed(-1, INT64_MAX)) == LULL_FILTER_UNDECIDED);
	return 0;
}

static int contexts_that_are_read_are_named(void)
{
	struct program program =
		program_of(test(LULL_FILTER_LESS, CONTEXT(TID), CONTEXT(UID), ALL, ALL));

	CHECK(lull_filter_contexts(&program.head) ==
	      (1u << LULL_CONTEXT_TID | 1u << LULL_CONTEXT_UID));
	program = program_of(test(LULL_FILTER_LESS, PID, LULL_FILTER_CONSTANT, ALL, 1));
	CHECK(lull_filter_contexts(&program.head) == 0);
	return 0;
}

/* Is a program refused after one change, and taken before? */
#define REFUSED(of, change)            \
	do {                           \
		struct program p = of; \
		CHECK(!refused(&p));   \
		change;                \
		CHECK(refused(&p));    \
	} while (0)
#define SOME program_of(test(LULL_FILTER_EQUAL, PID, COUNT, ALL, ALL))
#define SOME_TEXT program_of_text(LULL_FILTER_TEXT, NAME, "name")

static int program_of_another_size_is_refused(void)
{
	struct program some = SOME;

	CHECK(lull_filter_check(&some.head, some.head.bytes - 1, inputs, input_count));
	CHECK(lull_filter_check(&some.head, some.head.bytes + 1, inputs, input_count));
	some.head.bytes++;
	CHECK(lull_filter_check(&some.head, some.head.bytes - 1, inputs, input_count));
	some.head.bytes--;
	CHECK(lull_filter_check(&some.head, some.head.bytes, inputs, LULL_FILTER_FIELDS_MAX + 1));
	REFUSED(SOME, p.head.bytes++);
	REFUSED(SOME, p.head.test_count = 0);
	REFUSED(SOME, p.head.test_count = 2);
	REFUSED(SOME, p.head.texts_bytes = 1);
	REFUSED(SOME, (p.head.test_count = 0, p.head.bytes = sizeof(p.head)));
	REFUSED(SOME_TEXT, p.head.texts_bytes--);
	return 0;
}

static int program_with_too_much_of_anything_is_refused(void)
{
	static struct {
		struct lull_filter head;
		struct lull_filter_test tests[LULL_FILTER_TESTS_MAX + 1];
		char texts[LULL_FILTER_TEXTS_MAX + 1];
	} big;

	for (uint32_t i = 0; i <= LULL_FILTER_TESTS_MAX; i++)
		big.tests[i] = test(LULL_FILTER_EQUAL, PID, COUNT, ALL, ALL);
	for (uint32_t more = 0; more < 2; more++) {
		big.head.test_count = (uint16_t)(LULL_FILTER_TESTS_MAX + more);
		big.head.bytes =
			(uint32_t)(sizeof(big.head) + big.head.test_count * sizeof(big.tests[0]));
		CHECK(!lull_filter_check(&big.head, big.head.bytes, inputs, input_count) == !more);
		big.head.test_count = 1;
		big.head.texts_bytes = (uint16_t)(LULL_FILTER_TEXTS_MAX + more);
		big.head.bytes =
			(uint32_t)(sizeof(big.head) + sizeof(big.tests[0]) + big.head.texts_bytes);
		CHECK(!lull_filter_check(&big.head, big.head.bytes, inputs, input_count) == !more);
		big.head.texts_bytes = 0;
	}
	big.tests[0] = test(LULL_FILTER_TEXT, NAME, LULL_FILTER_CONSTANT, LULL_FILTER_TEXT_MAX, 0);
	big.head.texts_bytes = LULL_FILTER_TEXTS_MAX;
	big.head.bytes = sizeof(big.head) + sizeof(big.tests[0]) + LULL_FILTER_TEXTS_MAX;
	CHECK(!lull_filter_check(&big.head, big.head.bytes, inputs, input_count));
	big.tests[0].mask++;
	CHECK(lull_filter_check(&big.head, big.head.bytes, inputs, input_count));
	return 0;
}

static int test_of_what_is_not_there_is_refused(void)
{
	REFUSED(SOME, p.tests[0].kind = LULL_FILTER_KINDS);
	REFUSED(SOME, p.tests[0].kind = LULL_FILTER_TEXT);
	REFUSED(SOME, p.tests[0].detail = 1);
	REFUSED(SOME, p.tests[0].left = FIELDS);
	REFUSED(SOME, p.tests[0].left = NAME);
	REFUSED(SOME, p.tests[0].left = BYTES);
	REFUSED(SOME, p.tests[0].left = RATIO);
	REFUSED(SOME, p.tests[0].left = LULL_FILTER_CONTEXT - 1);
	REFUSED(SOME, p.tests[0].left = LULL_FILTER_CONTEXT + LULL_CONTEXTS);
	REFUSED(SOME, p.tests[0].left = CONTEXT(COMM));
	REFUSED(SOME, p.tests[0].left = LULL_FILTER_CONSTANT);
	REFUSED(SOME, p.tests[0].right = NAME);
	REFUSED(SOME, p.tests[0].right = FIELDS);
	REFUSED(SOME, p.tests[0].right = LULL_FILTER_CONSTANT - 1);
	return 0;
}

static int text_that_is_not_in_the_program_is_refused(void)
{
	REFUSED(SOME_TEXT, p.tests[0].left = PID);
	REFUSED(SOME_TEXT, p.tests[0].left = BYTES);
	REFUSED(SOME_TEXT, p.tests[0].right = NAME);
	REFUSED(SOME_TEXT, p.tests[0].mask = 5);
	REFUSED(SOME_TEXT, p.tests[0].operand = 1);
	REFUSED(SOME_TEXT, p.tests[0].operand = ALL);
	REFUSED(SOME_TEXT, p.tests[0].mask = ALL);
	REFUSED(SOME_TEXT, (p.tests[0].mask = 2, p.tests[0].operand = 3));
	REFUSED(SOME_TEXT, (p.tests[0].mask = 0, p.tests[0].operand = 5));
	return 0;
}

#define COMPUTED computed(1, 1)

static int result_that_may_not_be_there_is_refused(void)
{
	REFUSED(COMPUTED, p.tests[0].then = 2);
	REFUSED(COMPUTED, p.tests[0].otherwise = 1);
	REFUSED(COMPUTED, p.tests[1].otherwise = 2);
	REFUSED(COMPUTED, p.tests[0].detail = 2 << LULL_FILTER_INTO_SHIFT);
	REFUSED(COMPUTED, p.tests[0].detail = LULL_FILTER_RESULTS << LULL_FILTER_INTO_SHIFT);
	REFUSED(COMPUTED, p.tests[0].left = LULL_FILTER_RESULT);
	REFUSED(COMPUTED, p.tests[1].right = LULL_FILTER_RESULT + LULL_FILTER_RESULTS);
	REFUSED(COMPUTED, p.tests[1].operand = 1);
	REFUSED(COMPUTED, p.tests[1].right = NAME);
	REFUSED(COMPUTED, p.tests[0].left = CONTEXT(COMM));
	REFUSED(COMPUTED, p.tests[2].detail = 1 << LULL_FILTER_INTO_SHIFT);
	REFUSED(COMPUTED, p.tests[2].kind = LULL_FILTER_EQUAL);
	REFUSED(COMPUTED, p.tests[2].kind = LULL_FILTER_TEXT);
	REFUSED(COMPUTED, p.tests[2].kind = LULL_FILTER_KINDS);
	return 0;
}

static int program_that_does_not_go_ahead_is_refused(void)
{
	REFUSED(SOME, p.tests[0].then = 0);
	REFUSED(SOME, p.tests[0].otherwise = 0);
	REFUSED(SOME, p.tests[0].then = 1);
	REFUSED(SOME, p.tests[0].otherwise = 1);
	REFUSED(SOME, p.tests[0].then = LULL_FILTER_REJECT - 1);
	return 0;
}

int main(void)
{
	input_count = lull_filter_fields(DESCRIPTION, inputs);
	inputs[input_count] = LULL_FILTER_NUMBER; /* of nobody: it must not be looked at */
	RUN(inputs_of_an_event_are_found_in_its_description);
	RUN(numbers_compare_as_their_test_says);
	RUN(inputs_compare_with_each_other_under_their_masks);
	RUN(texts_are_equal_or_begin_alike);
	RUN(texts_match_globs);
	RUN(tests_follow_one_another_as_they_say);
	RUN(numbers_are_computed_exactly_or_not_at_all);
	RUN(shifts_are_powers_of_two_as_far_as_there_are_bits);
	RUN(what_is_computed_is_compared);
	RUN(contexts_that_are_read_are_named);
	RUN(program_of_another_size_is_refused);
	RUN(program_with_too_much_of_anything_is_refused);
	RUN(test_of_what_is_not_there_is_refused);
	RUN(text_that_is_not_in_the_program_is_refused);
	RUN(result_that_may_not_be_there_is_refused);
	RUN(program_that_does_not_go_ahead_is_refused);
	return sums();
}
