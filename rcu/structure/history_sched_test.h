/* SPDX-License-Identifier: MIT */
/*
 * The history of explored operations, checked against a sequential queue or stack.
 *
 * Each operation notes which others had ended before it began. At the end there must be an order of
 * all operations that agrees with these notes, and in which a sequential structure would have
 * returned the same results: that is linearizability (Herlihy and Wing, 1990). A history lies in
 * ghost memory, which is part of the explored state but no access of the code.
 */
#ifndef LULL_RCU_HISTORY_SCHED_TEST_H
#define LULL_RCU_HISTORY_SCHED_TEST_H

#include <stdint.h>

#define OPERATIONS_MAX 8u
#define CONTENT_MAX 4u

enum operation_kind {
	PUT, /* told: not 0 if there were entries before; 2 if the structure does not tell */
	GET, /* returned one value, or none */
	GET_ALL, /* returned values[0] to values[count - 1] */
	GAVE_UP, /* would have had to wait, and had no effect */
};

struct operation {
	uint8_t kind;
	uint8_t before; /* bit n: operation n had ended when this one began */
	uint8_t ended;
	uint8_t told;
	uint8_t count;
	uint8_t values[CONTENT_MAX];
};

struct history {
	uint8_t count;
	uint8_t last_in_first_out;
	struct operation operation[OPERATIONS_MAX];
};

/* Return: the operation's number; a PUT puts the value that is 1 more. */
static inline uint32_t history_begin(struct history *history, enum operation_kind kind)
{
	uint32_t i, number = history->count++;
	struct operation *operation = &history->operation[number];

	operation->kind = (uint8_t)kind;
	for (i = 0; i < number; i++)
		operation->before |= (uint8_t)(history->operation[i].ended << i);
	return number;
}

static inline void history_got(struct history *history, uint32_t number, unsigned long value)
{
	struct operation *operation = &history->operation[number];

	if (operation->count < CONTENT_MAX)
		operation->values[operation->count++] = (uint8_t)value;
}

static inline void history_end(struct history *history, uint32_t number)
{
	history->operation[number].ended = 1;
}

struct content {
	uint32_t count;
	uint8_t values[OPERATIONS_MAX];
};

/* Applies an operation to @content. Return: 0 if it cannot have been the next one. */
static inline int history_apply(const struct history *history, uint32_t number,
				struct content *content)
{
	const struct operation *operation = &history->operation[number];
	uint32_t i, taken = operation->count;

	switch (operation->kind) {
	case PUT:
		if (operation->told != 2 && operation->told != (content->count != 0))
			return 0;
		content->values[content->count++] = (uint8_t)(number + 1);
		return 1;
	case GET:
		if (taken == 0)
			return content->count == 0;
		break;
	case GET_ALL:
		if (taken != content->count)
			return 0;
		break;
	default:
		return 1;
	}
	if (taken > content->count)
		return 0;
	for (i = 0; i < taken; i++) {
		uint32_t at = history->last_in_first_out ? content->count - 1 - i : i;

		if (content->values[at] != operation->values[i])
			return 0;
	}
	content->count -= taken;
	for (i = 0; !history->last_in_first_out && i < content->count; i++)
		content->values[i] = content->values[i + taken];
	return 1;
}

/* Bound of the recursion: OPERATIONS_MAX. */
static inline int history_agrees(const struct history *history, uint32_t done,
				 const struct content *content)
{
	uint32_t i;

	if (done == (1u << history->count) - 1)
		return 1;
	for (i = 0; i < history->count; i++) {
		struct content next = *content;

		if (done & 1u << i || history->operation[i].before & ~done)
			continue;
		if (history_apply(history, i, &next) &&
		    history_agrees(history, done | 1u << i, &next))
			return 1;
	}
	return 0;
}

static inline int history_linearizable(const struct history *history)
{
	const struct content nothing = { 0 };

	return history_agrees(history, 0, &nothing);
}

#endif
