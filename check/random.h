/* SPDX-License-Identifier: MIT */
/*
 * Numbers for tests that damage what they test, round by round: each round can be repeated by its
 * seed.
 */
#ifndef LULL_CHECK_RANDOM_H
#define LULL_CHECK_RANDOM_H

#include <stdint.h>

static uint64_t random_state;

static inline void random_begin(uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
}

/* xorshift. Return: a number below @limit. */
static inline uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % limit;
}

#endif
