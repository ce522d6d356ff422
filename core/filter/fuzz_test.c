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
#include "../../check/test.h"
#include "filter.h"

#define ROUNDS 300000u
#define PAGE 4096u
#define FIELDS 5u /* a number, a text, an array, a number, a text */
#define LEAST 1000u /* of each outcome: else the damage is too great or too small */

static const uint8_t inputs[FIELDS] = { LULL_FILTER_NUMBER, LULL_FILTER_BYTES, LULL_FILTER_NONE,
					LULL_FILTER_NUMBER, LULL_FILTER_BYTES };
static const uint64_t numbers[] = { 0, 1, 42, 255, UINT64_MAX, 1ull << 63, INT64_MAX };
static const char letters[] = "git-status";
static const char wild[] = "g*-s?*\\u*s";
static uint64_t state;

/* xorshift: each round can be repeated by its seed. */
static uint32_t random_below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % limit;
}

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

/* A program that is right, at the end of its pages. */
static struct lull_filter *program_make(unsigned char *end)
{
	uint32_t count = 1 + random_below(6), texts_bytes = random_below(12);
	uint32_t bytes = (uint32_t)(sizeof(struct lull_filter) +
				    count * sizeof(struct lull_filter_test) + texts_bytes);
	/* As aligned as the check asks for: a few bytes may lie behind it. */
	struct lull_filter *program = (void *)(end - ((bytes + 7) & ~7u));
	struct lull_filter_test *tests = (void *)(program + 1);

	*program = (struct lull_filter){ bytes, (uint16_t)count, (uint16_t)texts_bytes };
	for (uint32_t i = 0; i < count; i++) {
		uint8_t kind = (uint8_t)random_below(LULL_FILTER_KINDS);
		int is_text = kind >= LULL_FILTER_TEXT;
		uint32_t at = random_below(texts_bytes + 1);

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

/* The second interpreter. Return: 0 or 1; -1 where it would leave its bounds or go on for ever. */
static int run_slowly(const struct lull_filter *program, const struct lull_filter_value *fields,
		      const struct lull_filter_value *contexts)
{
	const struct lull_filter_test *tests = (const void *)(program + 1);
	const char *texts = (const void *)(tests + program->test_count);
	uint32_t next = 0, steps = 0;

	while (next != LULL_FILTER_ACCEPT && next != LULL_FILTER_REJECT) {
		const struct lull_filter_test *test = &tests[next];
		const struct lull_filter_value *value[2] = { NULL, NULL };
		const uint8_t input[2] = { test->left, test->right };
		uint64_t a, b;
		int holds;

		if (next >= program->test_count || ++steps > program->test_count)
			return -1;
		for (int i = 0; i < 2; i++)
			if (input[i] < FIELDS)
				value[i] = &fields[input[i]];
			else if (input[i] - LULL_FILTER_CONTEXT < (int)LULL_CONTEXTS &&
				 input[i] >= LULL_FILTER_CONTEXT)
				value[i] = &contexts[input[i] - LULL_FILTER_CONTEXT];
			else if (!i || input[i] != LULL_FILTER_CONSTANT)
				return -1;
		a = value[0]->number & test->mask;
		b = value[1] ? value[1]->number & test->operand : test->operand;
		if (test->kind < LULL_FILTER_TEXT &&
		    (value[0]->text || (value[1] && value[1]->text)))
			return -1;
		if (test->kind >= LULL_FILTER_TEXT &&
		    (!value[0]->text || test->operand + test->mask > program->texts_bytes))
			return -1;
		switch (test->kind) {
		case LULL_FILTER_EQUAL:
			holds = !(a ^ b);
			break;
		case LULL_FILTER_LESS:
			holds = a < b;
			break;
		case LULL_FILTER_LESS_SIGNED:
			holds = (a ^ 1ull << 63) < (b ^ 1ull << 63);
			break;
		case LULL_FILTER_TEXT:
			holds = value[0]->number == test->mask &&
				!memcmp(value[0]->text, texts + test->operand, test->mask);
			break;
		case LULL_FILTER_GLOB:
			holds = is_like(texts + test->operand, test->mask, value[0]->text,
					value[0]->number);
			break;
		default:
			holds = value[0]->number >= test->mask &&
				!memcmp(value[0]->text, texts + test->operand, test->mask);
		}
		next = holds ? test->then : test->otherwise;
	}
	return next == LULL_FILTER_ACCEPT;
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

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : ROUNDS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint32_t refused = 0, met = 0, unmet = 0, differing = 0;
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
		int result;

		state = (seed + round) * 0x9e3779b97f4a7c15ull | 1;
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
		if (result < 0 || lull_filter_run(program, fields, contexts) != result) {
			if (!differing++)
				printf("  round with seed %llu\n",
				       (unsigned long long)(seed + round));
			continue;
		}
		met += (uint32_t)result;
		unmet += !result;
	}
	printf("  %u programs refused, %u met, %u not met\n", refused, met, unmet);
	check(!differing, "accepted_programs_stay_in_their_bounds_and_end");
	check(rounds < ROUNDS || (refused > LEAST && met > LEAST && unmet > LEAST),
	      "programs_of_each_kind_were_made");
	return sums();
}
