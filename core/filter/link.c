/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Linking: what an unlinked program means for one event. Names become the event's fields, contexts,
 * labels and system calls; a comparison with what the event lacks holds neither way.
 *
 *	operands -> side of a comparison, computed (compute.c) -> tests (number.c) -> program
 *
 * Tests are linked from the last to the first, because each leads to ones ahead of it: so what is
 * known of the event decides at once, and a test that leads to one end only is none of the
 * program. Design: docs/design/70-filter.md.
 */
#include "description.h"
#include "number.h"

#define SYSCALL "syscall" /* stands for the call that an event is the entry or the exit of */
#define NAME_MOST(bits) (((wide)1 << (bits)) - 1)

enum side_kind { ABSENT, NUMBER, TEXT_INPUT, TEXT, CALL };

/* One side of a comparison, or one operand of it. */
struct side {
	enum side_kind kind;
	struct number number; /* NUMBER; its input also of TEXT_INPUT */
	uint8_t text_kind; /* TEXT: LULL_UNLINKED_TEXT and so on */
	struct word text; /* TEXT; of CALL the call, without bytes where the event is of none */
};

struct linker {
	const struct lull_unlinked_operand *operands;
	const char *texts;
	const char *description;
	struct word call; /* that the event is the entry or the exit of; without bytes: of none */
	uint32_t contexts;
	struct lull_filter_found *found;
	struct linked_tests linked;
	/* Of the test that is linked: numbers that wait for an operator, and what was joined. */
	struct number stack[LULL_FILTER_RESULTS];
	uint32_t depth;
	uint32_t step_count; /* of tests that compute, at the begin of those that are linked */
};

/* The operands of one test. */
struct operands {
	uint32_t first;
	uint32_t left_count;
	uint32_t count;
};

static struct word word_behind(struct word word, const char *prefix)
{
	size_t bytes = __builtin_strlen(prefix);

	if (word.bytes <= bytes || __builtin_memcmp(word.text, prefix, bytes))
		return (struct word){ word.text, 0 };
	return (struct word){ word.text + bytes, word.bytes - bytes };
}

static struct word call_of(const char *description)
{
	struct word name = lull_description_name(description);
	struct word call = word_behind(name, "syscalls:sys_enter_");

	return call.bytes ? call : word_behind(name, "syscalls:sys_exit_");
}

static struct word text_of(const struct linker *linker, const struct lull_unlinked_operand *operand)
{
	return (struct word){ linker->texts + operand->text_place, operand->text_bytes };
}

static struct number constant_of(wide value)
{
	return (struct number){ value, value, 0, LULL_FILTER_CONSTANT };
}

static struct number input_of(uint8_t input, struct field_type type)
{
	wide half = (wide)1 << (type.bits - 1);

	return (struct number){
		.least = type.is_signed ? -half : 0,
		.most = type.is_signed ? half - 1 : NAME_MOST(type.bits),
		.mask = UINT64_MAX,
		.input = input,
	};
}

/* A digit of a base up to 16, or -1. */
static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A whole word as a number, as labels have it: decimal or 0x, of 64 bits and a sign. */
static int number_read(struct word word, wide *value)
{
	size_t at = word.bytes && *word.text == '-', sign = at;
	int base = 10;

	if (word.bytes - at > 2 && word.text[at] == '0' && (word.text[at + 1] | ' ') == 'x') {
		base = 16;
		at += 2;
	}
	if (at == word.bytes)
		return 0;
	for (*value = 0; at < word.bytes; at++) {
		int digit = digit_of(word.text[at]);

		if (digit < 0 || digit >= base)
			return 0;
		*value = *value * base + digit;
		if (*value > UINT64_MAX)
			return 0;
	}
	*value = sign ? -*value : *value;
	return 1;
}

static struct word trimmed(struct word word)
{
	while (word.bytes && (*word.text == ' ' || *word.text == '"')) {
		word.text++;
		word.bytes--;
	}
	while (word.bytes && (word.text[word.bytes - 1] == ' ' || word.text[word.bytes - 1] == '"'))
		word.bytes--;
	return word;
}

/* Up to a character, which is taken off the list with the word. */
static struct word list_take(struct word *list, char end)
{
	struct word word = { list->text, 0 };

	while (word.bytes < list->bytes && list->text[word.bytes] != end)
		word.bytes++;
	list->text += word.bytes;
	list->bytes -= word.bytes;
	if (list->bytes) {
		list->text++;
		list->bytes--;
	}
	return trimmed(word);
}

/* What a label of a field stands for. Return: 0 where the field has no such label. */
static int label_find(const struct field *field, struct word name, wide *value)
{
	struct field_type type = lull_description_type(field->type);
	struct word list = trimmed(field->argument);

	while (type.is_named && list.bytes) {
		struct word text = list_take(&list, ',');
		struct word label = list_take(&text, '=');

		if (!is_same_word(label, name) || !number_read(trimmed(text), value))
			continue;
		/* An unsigned enumerator is stored as the same 32 bits. */
		if (type.is_signed && *value > INT32_MAX)
			*value -= (wide)1 << 32;
		return 1;
	}
	return 0;
}

static struct side miss(struct linker *linker, uint32_t operand, enum lull_filter_missing missing)
{
	linker->found->missing[operand] = (uint8_t)missing;
	return (struct side){ .kind = ABSENT };
}

static struct side context_side(struct linker *linker, uint32_t operand, uint32_t number,
				struct word type)
{
	uint8_t input = (uint8_t)(LULL_FILTER_CONTEXT + number);

	if (!(linker->contexts & 1u << number))
		return miss(linker, operand, LULL_FILTER_NO_CONTEXT);
	if (number == LULL_CONTEXT_COMM)
		return (struct side){ .kind = TEXT_INPUT, .number = { .input = input } };
	return (struct side){ .kind = NUMBER,
			      .number = input_of(input, lull_description_type(type)) };
}

/* A context by its name, or, where @name has no text, by its number. */
static struct side context_find(struct linker *linker, uint32_t operand, struct word name,
				uint64_t number)
{
	static const char *const lines[LULL_CONTEXTS] = { LULL_CONTEXT_LINES };

	for (uint32_t i = 0; i < LULL_CONTEXTS; i++) {
		struct field context;

		lull_description_field(lines[i], &context);
		if (name.text ? is_same_word(context.name, name) : i == number)
			return context_side(linker, operand, i, context.type);
	}
	return miss(linker, operand, LULL_FILTER_NO_NAME);
}

/* What another operand of the test explains: a label of that field. */
static int is_label(const struct linker *linker, const struct operands *of, uint32_t index,
		    struct word name, wide *value)
{
	for (uint32_t i = of->first; i < of->first + of->count; i++) {
		const struct lull_unlinked_operand *other = &linker->operands[i];
		struct field field;

		if (i != index && other->kind == LULL_UNLINKED_NAME &&
		    lull_description_find(linker->description, text_of(linker, other), &field) >=
			    0 &&
		    label_find(&field, name, value))
			return 1;
	}
	return 0;
}

/* Is it one of two names, of which the other is `syscall` and no field? */
static int is_call_name(const struct linker *linker, const struct operands *of, uint32_t index)
{
	const struct lull_unlinked_operand *other =
		&linker->operands[index == of->first ? of->first + 1 : of->first];
	struct field field;

	return of->count == 2 && of->left_count == 1 && other->kind == LULL_UNLINKED_NAME &&
	       is_word(text_of(linker, other), SYSCALL) &&
	       lull_description_find(linker->description, text_of(linker, other), &field) < 0;
}

static struct side name_side(struct linker *linker, const struct operands *of, uint32_t index)
{
	struct word name = text_of(linker, &linker->operands[index]);
	struct field_type type;
	struct field field;
	wide value;
	int place;

	if (is_call_name(linker, of, index)) {
		if (!is_same_word(linker->call, name))
			miss(linker, index, LULL_FILTER_OTHER_CALL);
		return (struct side){ .kind = TEXT, .text_kind = LULL_UNLINKED_TEXT, .text = name };
	}
	if (is_label(linker, of, index, name, &value))
		return (struct side){ .kind = NUMBER, .number = constant_of(value) };
	place = lull_description_find(linker->description, name, &field);
	if (place < 0 && is_word(name, SYSCALL))
		return (struct side){ .kind = CALL, .text = linker->call };
	if (place < 0)
		return context_find(linker, index, name, 0);
	type = lull_description_type(field.type);
	if (type.input == LULL_FILTER_NONE)
		return miss(linker, index, LULL_FILTER_NO_VALUE);
	if (type.input == LULL_FILTER_BYTES)
		return (struct side){ .kind = TEXT_INPUT, .number = { .input = (uint8_t)place } };
	return (struct side){ .kind = NUMBER, .number = input_of((uint8_t)place, type) };
}

static struct side operand_side(struct linker *linker, const struct operands *of, uint32_t index)
{
	const struct lull_unlinked_operand *operand = &linker->operands[index];

	switch ((enum lull_unlinked_kind)operand->kind) {
	case LULL_UNLINKED_NUMBER:
		return (struct side){ .kind = NUMBER, .number = constant_of(operand->number) };
	case LULL_UNLINKED_NEGATIVE:
		return (struct side){ .kind = NUMBER,
				      .number = constant_of(-(wide)operand->number) };
	case LULL_UNLINKED_NAME:
		return name_side(linker, of, index);
	case LULL_UNLINKED_CONTEXT:
		return context_find(linker, index, (struct word){ NULL, 0 }, operand->number);
	default:
		return (struct side){ .kind = TEXT,
				      .text_kind = operand->kind,
				      .text = text_of(linker, operand) };
	}
}

/* Tests are linked from the last to the first: what is wrong with the first is told. */
static void is_wrong(struct linker *linker, uint16_t test, enum lull_filter_side side,
		     const char *why)
{
	linker->found->wrong = why;
	linker->found->wrong_test = test;
	linker->found->wrong_side = (uint8_t)side;
}

static void is_wrong_operand(struct linker *linker, uint16_t test, uint32_t operand,
			     const char *why)
{
	is_wrong(linker, test, LULL_FILTER_ONE, why);
	linker->found->wrong_operand = (uint16_t)operand;
}

/* Join two numbers by & where a mask of the input is enough. Return: whether it is. */
static int mask(struct number *a, const struct number *b)
{
	const struct number *input = a->input == LULL_FILTER_CONSTANT ? b : a;
	const struct number *bits = a->input == LULL_FILTER_CONSTANT ? a : b;
	struct number masked = *input;

	if (bits->input != LULL_FILTER_CONSTANT || input->input >= LULL_FILTER_RESULT ||
	    (bits->least < INT64_MIN && input->least < 0))
		return 0;
	masked.mask &= (uint64_t)bits->least;
	if (bits->least < 0 && input->least < 0) {
		/* Of both only the bits ahead of all others say that a number is negative. */
		masked.least = INT64_MIN;
		*a = masked;
		return 1;
	}
	if (input->least < 0 || masked.most > masked.mask)
		masked.most = masked.mask;
	masked.least = 0;
	*a = masked;
	return 1;
}

/* What can be known of two numbers before an event: why they have no result, or NULL. */
static const char *operator_check(uint8_t kind, const struct number *b)
{
	if (b->input != LULL_FILTER_CONSTANT)
		return NULL;
	if ((kind == LULL_FILTER_DIVIDE || kind == LULL_FILTER_REMAINDER) && !b->least)
		return "this divides by 0";
	if ((kind == LULL_FILTER_SHIFT_LEFT || kind == LULL_FILTER_SHIFT_RIGHT) && b->least < 0)
		return "this shifts by a negative number";
	return NULL;
}

/* Join the last two numbers of the stack by an operator. Return: NULL, or why that cannot be. */
static const char *join(struct linker *linker, const struct lull_unlinked_operand *operator)
{
	uint8_t kind = (uint8_t)(LULL_FILTER_ADD + (operator->kind - LULL_UNLINKED_ADD));
	uint32_t into = --linker->depth - 1;
	struct number *a = &linker->stack[into], *b = a + 1;
	const char *wrong = operator_check(kind, b);
	struct lull_filter_test step;
	wide value;

	if (wrong)
		return wrong;
	if (a->input == LULL_FILTER_CONSTANT && b->input == LULL_FILTER_CONSTANT) {
		if (!lull_filter_compute(kind, &a->least, &b->least, &value))
			return "this is no number of 64 bits and a sign";
		*a = constant_of(value);
		return NULL;
	}
	if (kind == LULL_FILTER_AND && mask(a, b))
		return NULL;
	step = lull_linked_step(kind, a, b);
	step.detail |= (uint8_t)(into << LULL_FILTER_INTO_SHIFT);
	*a = (struct number){ .input = (uint8_t)(LULL_FILTER_RESULT + into) };
	/* What is computed before the test waits where tests are not linked yet. */
	if (linker->step_count + 1 < linker->linked.first)
		linker->linked.tests[linker->step_count++] = step;
	else
		linker->linked.is_full = 1;
	return NULL;
}

/* All operands of one side, joined. The right one's stand behind the left side on the stack. */
static struct side side_of(struct linker *linker, const struct operands *of, uint16_t test,
			   enum lull_filter_side which)
{
	uint32_t until = of->first + (which == LULL_FILTER_LEFT ? of->left_count : of->count);
	uint32_t at = of->first + (which == LULL_FILTER_LEFT ? 0 : of->left_count);
	int is_absent = 0;

	if (at + 1 == until)
		return operand_side(linker, of, at);
	linker->depth = which == LULL_FILTER_LEFT ? 0 : 1;
	for (; at < until; at++) {
		const struct lull_unlinked_operand *operand = &linker->operands[at];
		const char *wrong = NULL;
		struct side side;

		if (operand->kind < LULL_UNLINKED_ADD) {
			side = operand_side(linker, of, at);
			if (is_absent || side.kind == ABSENT)
				is_absent = 1;
			else if (side.kind == NUMBER)
				linker->stack[linker->depth++] = side.number;
			else
				wrong = "this is computed with, and is no number";
		} else if (!is_absent) {
			wrong = join(linker, operand);
		}
		if (wrong) {
			is_wrong_operand(linker, test, at, wrong);
			is_absent = 1;
		}
	}
	return is_absent ?
		       (struct side){ .kind = ABSENT } :
		       (struct side){ .kind = NUMBER, .number = linker->stack[linker->depth - 1] };
}

/* Put what a test needs computed before it. Return: where to begin. */
static uint16_t steps_put(struct linker *linker, uint16_t test, uint16_t absent)
{
	for (uint32_t i = linker->step_count; i--;)
		test = lull_linked_put(&linker->linked, linker->linked.tests[i],
				       (struct ends){ test, absent, 0 });
	return test;
}

static uint16_t text_link(struct linker *linker, uint8_t input, const struct side *text,
			  struct ends ends)
{
	struct lull_filter_test test = {
		.kind = text->text_kind == LULL_UNLINKED_TEXT	? LULL_FILTER_TEXT :
			text->text_kind == LULL_UNLINKED_PREFIX ? LULL_FILTER_PREFIX :
								  LULL_FILTER_GLOB,
		.left = input,
		.right = LULL_FILTER_CONSTANT,
		.mask = text->text.bytes,
		.operand = (uint64_t)(text->text.text - linker->texts),
	};

	if (text->text_kind == LULL_UNLINKED_PREFIX && !text->text.bytes)
		return ends.holds;
	return lull_linked_put(&linker->linked, test, ends);
}

static int call_matches(struct word call, const struct side *text)
{
	struct word wanted = text->text;

	if (text->text_kind == LULL_UNLINKED_GLOB)
		return lull_filter_glob((const void *)wanted.text, wanted.bytes,
					(const void *)call.text, call.bytes);
	if (text->text_kind == LULL_UNLINKED_PREFIX && call.bytes > wanted.bytes)
		call.bytes = wanted.bytes;
	return is_same_word(call, wanted);
}

/* Two sides by ==, of which one is no number. */
static uint16_t texts_link(struct linker *linker, uint16_t test, const struct side *a,
			   const struct side *b, struct ends ends, uint16_t absent)
{
	const struct side *text = a->kind == TEXT ? a : b, *other = a->kind == TEXT ? b : a;

	if (text->kind == TEXT && other->kind == CALL) {
		if (!other->text.bytes)
			return absent;
		return call_matches(other->text, text) ? ends.holds : ends.fails;
	}
	if (text->kind == TEXT && other->kind == TEXT_INPUT)
		return text_link(linker, other->number.input, text, ends);
	is_wrong(linker, test, LULL_FILTER_BOTH,
		 a->kind == NUMBER || b->kind == NUMBER ?
			 "a number is compared with what is no number" :
			 "a text is compared with one in quotes, and that with a field");
	return absent;
}

static uint16_t compare(struct linker *linker, uint16_t test, int is_less, const struct side *a,
			const struct side *b, struct ends ends, uint16_t absent)
{
	if (a->kind == ABSENT || b->kind == ABSENT)
		return absent;
	if (a->kind == NUMBER && b->kind == NUMBER)
		return (is_less ? lull_linked_less : lull_linked_equal)(&linker->linked, &a->number,
									&b->number, ends);
	if (!is_less)
		return texts_link(linker, test, a, b, ends, absent);
	is_wrong(linker, test, LULL_FILTER_BOTH,
		 a->kind == CALL || b->kind == CALL ?
			 "system calls compare by == and != only" :
		 a->kind == NUMBER || b->kind == NUMBER ?
			 "a number is compared with what is no number" :
			 "texts compare by == and != only");
	return absent;
}

/* A side that stands alone holds where it is not 0. */
static uint16_t alone(struct linker *linker, uint16_t test, const struct side *side,
		      struct ends ends, uint16_t absent)
{
	const struct number zero = constant_of(0);

	if (side->kind == ABSENT)
		return absent;
	if (side->kind == NUMBER && side->number.input != LULL_FILTER_CONSTANT)
		return lull_linked_equal(&linker->linked, &side->number, &zero,
					 (struct ends){ ends.fails, ends.holds, !ends.inverted });
	is_wrong(linker, test, LULL_FILTER_LEFT,
		 side->kind == NUMBER ? "a number alone is no condition" :
					"compare this with something by == or !=");
	return absent;
}

/* Link one test. @entries: where each test that is ahead begins. Return: where this one does. */
static uint16_t test_link(struct linker *linker, const struct lull_unlinked_test *test,
			  uint16_t index, const uint16_t *entries)
{
	uint16_t then = test->then < LULL_FILTER_REJECT ? entries[test->then] : test->then;
	uint16_t otherwise =
		test->otherwise < LULL_FILTER_REJECT ? entries[test->otherwise] : test->otherwise;
	struct operands of = { test->first, test->left_count,
			       (uint32_t)test->left_count + test->right_count };
	struct ends ends = { test->negated ? otherwise : then, test->negated ? then : otherwise,
			     test->negated };
	struct side left, right;
	uint16_t entry;

	linker->step_count = 0;
	left = side_of(linker, &of, index, LULL_FILTER_LEFT);
	if (test->relation == LULL_UNLINKED_TRUE) {
		entry = alone(linker, index, &left, ends, otherwise);
	} else {
		right = side_of(linker, &of, index, LULL_FILTER_RIGHT);
		entry = compare(linker, index, test->relation == LULL_UNLINKED_LESS, &left, &right,
				ends, otherwise);
	}
	return steps_put(linker, entry, otherwise);
}

/* Move the tests, from the one that is run first on, to the begin, with the texts behind them. */
static void program_finish(struct linker *linker, struct lull_filter *program, uint16_t first,
			   uint16_t texts_bytes)
{
	struct lull_filter_test *tests = linker->linked.tests;
	uint16_t count = (uint16_t)(LULL_FILTER_TESTS_MAX - first);

	for (uint16_t i = 0; i < count; i++) {
		tests[i] = tests[first + i];
		linker->found->inverted[i] = linker->found->inverted[first + i];
		if (tests[i].then < LULL_FILTER_REJECT)
			tests[i].then -= first;
		if (tests[i].otherwise < LULL_FILTER_REJECT)
			tests[i].otherwise -= first;
	}
	__builtin_memcpy(tests + count, linker->texts, texts_bytes);
	*program = (struct lull_filter){
		.bytes = (uint32_t)(sizeof(*program) + count * sizeof(*tests) + texts_bytes),
		.test_count = count,
		.texts_bytes = texts_bytes,
	};
}

enum lull_filter_linked lull_filter_link(const struct lull_unlinked *unlinked,
					 const char *description, uint32_t contexts,
					 struct lull_filter *program,
					 struct lull_filter_found *found)
{
	const struct lull_unlinked_test *tests = (const void *)(unlinked + 1);
	const struct lull_unlinked_operand *operands = (const void *)(tests + unlinked->test_count);
	struct linker linker = {
		.operands = operands,
		.texts = (const char *)(operands + unlinked->operand_count),
		.description = description,
		.call = call_of(description),
		.contexts = contexts,
		.found = found,
		.linked = { .tests = (void *)(program + 1),
			    .inverted = found->inverted,
			    .first = LULL_FILTER_TESTS_MAX },
	};
	uint16_t entries[LULL_FILTER_TESTS_MAX];

	__builtin_memset(found, 0, sizeof(*found));
	for (uint16_t i = unlinked->test_count; i--;)
		entries[i] = test_link(&linker, &tests[i], i, entries);
	if (!found->wrong && linker.linked.is_full)
		is_wrong(&linker, 0, LULL_FILTER_BOTH,
			 "what it compares and computes takes more than 128 tests for this event");
	if (found->wrong)
		return LULL_FILTER_WRONG;
	if (entries[0] >= LULL_FILTER_REJECT)
		return entries[0] == LULL_FILTER_ACCEPT ? LULL_FILTER_ALWAYS : LULL_FILTER_NEVER;
	program_finish(&linker, program, entries[0], unlinked->texts_bytes);
	return LULL_FILTER_PROGRAM;
}
