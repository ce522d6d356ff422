/* SPDX-License-Identifier: MIT */
/*
 * The history of explored operations on a table of unique keys, checked against a sequential map.
 *
 * Each operation notes which others had ended before it began. At the end there must be an order of
 * all operations that agrees with these notes, in which a map would have returned the same results
 * and has the same content in the end: that is linearizability (Herlihy and Wing, 1990). A history
 * lies in ghost memory, which is part of the explored state but no access of the code.
 */
#ifndef LULL_RCU_MAP_SCHED_TEST_H
#define LULL_RCU_MAP_SCHED_TEST_H

#include <stdint.h>
#include <string.h>

#define MAP_OPERATIONS_MAX 8u
#define KEYS 3u

/* Operation n puts the value n + 1; no value is 0. */
enum map_kind {
	MAP_ADD, /* adds unless the key has a value; got: that value */
	MAP_PUT, /* got: the value before */
	MAP_GET, /* got: the value */
	MAP_REMOVE, /* removes the value if it is `old`; got: whether it was */
	MAP_EXCHANGE, /* replaces the value if it is `old`; got: whether it was */
};

struct map_operation {
	uint8_t kind;
	uint8_t key;
	uint8_t before; /* bit n: operation n had ended when this one began */
	uint8_t ended;
	uint8_t old;
	uint8_t got; /* 0: no value, or no */
};

struct map_history {
	struct map_operation operation[MAP_OPERATIONS_MAX];
	uint8_t count;
};

struct map {
	uint8_t value[KEYS];
};

static inline uint32_t map_begin(struct map_history *history, enum map_kind kind, unsigned long key,
				 unsigned long old)
{
	uint32_t i, number = history->count++;
	struct map_operation *operation = &history->operation[number];

	operation->kind = (uint8_t)kind;
	operation->key = (uint8_t)key;
	operation->old = (uint8_t)old;
	for (i = 0; i < number; i++)
		operation->before |= (uint8_t)(history->operation[i].ended << i);
	return number;
}

static inline void map_end(struct map_history *history, uint32_t number, unsigned long got)
{
	history->operation[number].got = (uint8_t)got;
	history->operation[number].ended = 1;
}

/* Applies an operation to @map. Return: 0 if it cannot have been the next one. */
static inline int map_apply(const struct map_history *history, uint32_t number, struct map *map)
{
	const struct map_operation *operation = &history->operation[number];
	uint8_t *in = &map->value[operation->key];

	switch (operation->kind) {
	case MAP_ADD:
	case MAP_PUT:
		if (*in != operation->got)
			return 0;
		if (!*in || operation->kind == MAP_PUT)
			*in = (uint8_t)(number + 1);
		return 1;
	case MAP_GET:
		return *in == operation->got;
	default:
		if ((*in == operation->old) != operation->got)
			return 0;
		if (operation->got)
			*in = operation->kind == MAP_EXCHANGE ? (uint8_t)(number + 1) : 0;
		return 1;
	}
}

/* Bound of the recursion: MAP_OPERATIONS_MAX. */
static inline int map_agrees(const struct map_history *history, uint32_t done,
			     const struct map *now, const struct map *end)
{
	uint32_t i;

	if (done == (1u << history->count) - 1)
		return !memcmp(now, end, sizeof(*now));
	for (i = 0; i < history->count; i++) {
		struct map next = *now;

		if (done & 1u << i || history->operation[i].before & ~done)
			continue;
		if (map_apply(history, i, &next) && map_agrees(history, done | 1u << i, &next, end))
			return 1;
	}
	return 0;
}

static inline int map_explains(const struct map_history *history, const struct map *end)
{
	const struct map nothing = { { 0 } };

	return map_agrees(history, 0, &nothing, end);
}

#endif
