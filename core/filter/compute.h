/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Arithmetic of filters: exact, or without a result. Where a program is linked, run and followed by
 * a reader, it is this one. Design: docs/design/70-filter.md.
 */
#ifndef LULL_FILTER_COMPUTE_H
#define LULL_FILTER_COMPUTE_H

#include "filter.h"

/* A number of 64 bits and a sign, with room for what is computed of two. */
typedef __int128 wide;

/**
 * lull_filter_compute() - compute a number of two.
 * @kind: LULL_FILTER_ADD and those behind it.
 * @a, @b: from -2^64 to 2^64 - 1, as the result.
 * @result: filled in if there is one.
 *
 * Context: any, async-signal-safe, NMIs included. Progress: wait-free.
 * Return: 1; 0 where there is none: it is beyond the range, @b is 0 and divides, or @b is negative
 * and says how far to shift.
 */
int lull_filter_compute(uint8_t kind, const wide *a, const wide *b, wide *result);

#endif
