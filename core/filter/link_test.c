/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fuzzes the check of unlinked programs and linking them: programs that are right, damaged at
 * random, for descriptions that are right and for some that are not.
 *
 *	link_test [ROUNDS [SEED]]
 *
 * The unlinked program ends where memory ends, and so does each description: an accepted program
 * that read behind its own would end this one. What is linked has to pass the check of programs.
 * What linking means is held to a second evaluation in tools/filter.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../../check/random.h"
#include "../../check/test.h"
#include "filter.h"

#define ROUNDS 200000u
#define PAGE 4096u
#define LEAST 1000u /* of each outcome: else the damage is too great or too small */
#define TESTS 5u
#define SIDE 9u /* operands of one, with its operators */
#define COUNT(array) (sizeof(array) / sizeof(array[0]))

static const char *const descriptions[] = {
	("a:b\n6\nf:1\ni32 pid\nu64 count\nstr name\nenum state IDLE=0,BUSY=0x10,GONE=-1\n"
	 "au8 list\nx32 mode R=4,W=2\n"),
	"syscalls:sys_enter_read\n6\n:\nu32 fd\n",
	"",
	"a\n\n\n\nu8\nu8 \n enum\nenum state\nenum state =,=,A=,BUSY\nx8 mode R=R,W=9999999999999",
	"a:b\n6\nf:1\nu8 pid\ni64 count\ni8 state\nu64 mode BUSY=1\nptr name\nbool list",
};
static const char words[] = "pidcountnamestatelistmodeBUSYsyscallreadcommcpu*g?t";
static const struct {
	uint8_t place;
	uint8_t bytes;
} cut[] = { { 0, 3 },  { 3, 5 },  { 8, 4 },  { 12, 5 }, { 17, 4 }, { 21, 4 }, { 25, 4 },
	    { 29, 7 }, { 36, 4 }, { 40, 4 }, { 44, 3 }, { 47, 4 }, { 0, 0 } };

/* Pages that end at one that nobody may touch. Return: where that is. */
static unsigned char *fence(void)
{
	unsigned char *pages =
		mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 4 * PAGE, PAGE, PROT_NONE))
		exit(2);
	return pages + 4 * PAGE;
}

static uint16_t next_of(uint32_t index, uint32_t count)
{
	uint32_t choice = random_below(4);

	if (choice < 2 && index + 1 < count)
		return (uint16_t)(index + 1 + random_below(count - index - 1));
	return choice & 1 ? LULL_FILTER_ACCEPT : LULL_FILTER_REJECT;
}

static struct lull_unlinked_operand operand_make(void)
{
	uint32_t kind = random_below(2) ? LULL_UNLINKED_NAME : random_below(LULL_UNLINKED_ADD);
	uint32_t word = random_below(COUNT(cut));
	struct lull_unlinked_operand operand = {
		.kind = (uint8_t)kind,
		.text_place = kind == LULL_UNLINKED_NAME || kind >= LULL_UNLINKED_TEXT ?
				      cut[word].place :
				      0,
		.text_bytes = cut[word].bytes,
		.number = random_below(4) ? random_below(LULL_CONTEXTS) : UINT64_MAX >> 1,
	};

	if (kind == LULL_UNLINKED_CONTEXT)
		operand.number %= LULL_CONTEXTS;
	return operand;
}

/* The operands of a side: one, or what operators make one. Return: how many there are. */
static uint32_t side_make(struct lull_unlinked_operand *operands)
{
	uint32_t count = 0, waiting = 0, left = random_below(4) ? 0 : random_below(5);

	operands[count++] = operand_make();
	/* Bound: SIDE operands. */
	while (left || waiting) {
		if (left && random_below(2)) {
			operands[count++] = operand_make();
			waiting++;
			left--;
		} else if (waiting) {
			operands[count++] = (struct lull_unlinked_operand){
				.kind = (uint8_t)(LULL_UNLINKED_ADD +
						  random_below(LULL_UNLINKED_KINDS -
							       LULL_UNLINKED_ADD)),
			};
			waiting--;
		}
	}
	return count;
}

/* A program that is right, at the end of its pages. */
static struct lull_unlinked *unlinked_make(unsigned char *end)
{
	uint32_t count = 1 + random_below(TESTS), operand_count = 2 * SIDE * count;
	uint32_t bytes = (uint32_t)(sizeof(struct lull_unlinked) +
				    count * sizeof(struct lull_unlinked_test) +
				    operand_count * sizeof(struct lull_unlinked_operand) +
				    sizeof(words) - 1);
	struct lull_unlinked *unlinked = (void *)(end - ((bytes + 7) & ~7u));
	struct lull_unlinked_test *tests = (void *)(unlinked + 1);
	struct lull_unlinked_operand *operands = (void *)(tests + count);

	*unlinked = (struct lull_unlinked){ .bytes = bytes,
					    .test_count = (uint16_t)count,
					    .operand_count = (uint16_t)operand_count,
					    .texts_bytes = sizeof(words) - 1 };
	for (uint32_t i = 0; i < count; i++) {
		uint32_t relation = random_below(LULL_UNLINKED_RELATIONS);
		uint32_t first = 2 * SIDE * i, left = side_make(&operands[first]), right = 0;

		if (relation != LULL_UNLINKED_TRUE)
			right = side_make(&operands[first + left]);
		for (uint32_t rest = first + left + right; rest < first + 2 * SIDE; rest++)
			operands[rest] = operand_make();
		tests[i] = (struct lull_unlinked_test){
			.relation = (uint8_t)relation,
			.negated = (uint8_t)random_below(2),
			.left_count = (uint8_t)left,
			.right_count = (uint8_t)right,
			.first = (uint16_t)first,
			.then = next_of(i, count),
			.otherwise = next_of(i, count),
		};
	}
	memcpy(operands + operand_count, words, sizeof(words) - 1);
	return unlinked;
}

static void damage(unsigned char *bytes, uint32_t from, uint32_t until)
{
	for (uint32_t left = random_below(3); left; left--)
		bytes[from + random_below(until - from)] =
			random_below(2) ? (unsigned char)random_below(256) :
					  (unsigned char)(random_below(9) - 2);
}

/* A description that ends where memory ends. */
static const char *description_make(unsigned char *end)
{
	const char *text = descriptions[random_below(COUNT(descriptions))];
	size_t bytes = strlen(text) + 1;

	memcpy(end - bytes, text, bytes);
	if (bytes > 1 && !random_below(4))
		end[-2 - (int)random_below((uint32_t)bytes - 1)] = (unsigned char)random_below(256);
	return (const char *)end - bytes;
}

static const char *check_linked(const struct lull_filter *program, const char *description)
{
	uint8_t inputs[LULL_FILTER_FIELDS_MAX];
	size_t count = lull_filter_fields(description, inputs);

	return lull_filter_check(program, program->bytes, inputs, count);
}

static int program_that_is_too_long_for_its_tests_is_wrong(void)
{
	static struct {
		struct lull_unlinked head;
		struct lull_unlinked_test tests[LULL_FILTER_TESTS_MAX];
		struct lull_unlinked_operand operands[2];
		char texts[8];
	} unlinked = {
		.head = { sizeof(unlinked), LULL_FILTER_TESTS_MAX, 2, 8, { 0 } },
		.operands = { { .kind = LULL_UNLINKED_NAME, .text_bytes = 3 },
			      { .kind = LULL_UNLINKED_NAME, .text_bytes = 5, .text_place = 3 } },
		.texts = "pidcount",
	};
	static uint64_t program[LULL_FILTER_BYTES_MAX / 8];
	struct lull_filter_found found;
	uint16_t end = LULL_FILTER_ACCEPT;

	for (uint16_t i = 0; i < LULL_FILTER_TESTS_MAX; i++, end = LULL_FILTER_REJECT)
		unlinked.tests[LULL_FILTER_TESTS_MAX - 1 - i] = (struct lull_unlinked_test){
			.left_count = 1,
			.right_count = 1,
			.then = i ? (uint16_t)(LULL_FILTER_TESTS_MAX - i) : end,
			.otherwise = LULL_FILTER_REJECT,
		};
	unlinked.tests[1].then = 1;
	CHECK(lull_unlinked_check(&unlinked.head, sizeof(unlinked)));
	unlinked.tests[1].then = 0;
	CHECK(lull_unlinked_check(&unlinked.head, sizeof(unlinked)));
	unlinked.tests[1].then = 2;
	CHECK(!lull_unlinked_check(&unlinked.head, sizeof(unlinked)));
	/* A signed and an unsigned field: each comparison is two tests. */
	CHECK(lull_filter_link(&unlinked.head, descriptions[0], ~0u, (void *)program, &found) ==
	      LULL_FILTER_WRONG);
	CHECK(strstr(found.wrong, "128 tests") != NULL);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : ROUNDS;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint32_t refused = 0, wrong = 0, constant = 0, linked = 0, bad = 0;
	unsigned char *end = fence(), *text_end = fence(), *program_end = fence();
	struct lull_filter *program = (void *)(program_end - LULL_FILTER_BYTES_MAX);

	*(uint32_t *)(end - 8) = 8;
	check(lull_unlinked_check((void *)(end - 8), 8) != NULL,
	      "unlinked_program_that_is_shorter_than_its_head_is_refused_unread");
	check(!program_that_is_too_long_for_its_tests_is_wrong(),
	      "filter_that_takes_more_tests_than_there_are_does_not_fit");
	for (uint32_t round = 0; round < rounds; round++) {
		struct lull_filter_found found;
		struct lull_unlinked *unlinked;
		const char *description;
		uint32_t bytes;

		random_begin(seed + round);
		unlinked = unlinked_make(end);
		bytes = unlinked->bytes;
		damage((unsigned char *)unlinked, 4, bytes);
		description = description_make(text_end);
		if (lull_unlinked_check(unlinked, bytes)) {
			refused++;
			continue;
		}
		switch (lull_filter_link(unlinked, description, random_below(1 << LULL_CONTEXTS),
					 program, &found)) {
		case LULL_FILTER_PROGRAM:
			linked++;
			if (check_linked(program, description) && !bad++)
				printf("  round with seed %llu: %s\n",
				       (unsigned long long)(seed + round),
				       check_linked(program, description));
			break;
		case LULL_FILTER_WRONG:
			wrong++;
			break;
		default:
			constant++;
		}
	}
	printf("  %u refused, %u wrong, %u always or never, %u linked\n", refused, wrong, constant,
	       linked);
	check(!bad, "what_is_linked_passes_the_check_of_programs");
	check(rounds < ROUNDS ||
		      (refused > LEAST && wrong > LEAST && constant > LEAST && linked > LEAST),
	      "unlinked_programs_of_each_kind_were_made");
	return sums();
}
