/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Arithmetic of filters: compute.h. Numbers come from programs that anybody wrote and from events
 * of anybody's: each operation is defined for all of them. No division of 128 bits is here: it
 * would be a call of the compiler's library, which the kernel lacks.
 */
#include "compute.h"

#define MOST (((wide)1 << 64) - 1)
#define LEAST (-((wide)1 << 64))

/* 2^64 at most. */
static unsigned __int128 magnitude(wide a)
{
	return a < 0 ? -(unsigned __int128)a : (unsigned __int128)a;
}

static int multiply(wide a, wide b, wide *result)
{
	unsigned __int128 x = magnitude(a), y = magnitude(b), product;

	/* Of two numbers of 64 bits the product has 128. */
	if ((x >> 64 && y > 1) || (y >> 64 && x > 1))
		return 0;
	product = x * y;
	if (product >> 65)
		return 0;
	*result = (a < 0) != (b < 0) ? -(wide)product : (wide)product;
	return 1;
}

static int divide(uint8_t kind, wide a, wide b, wide *result)
{
	unsigned __int128 x = magnitude(a), y = magnitude(b), quotient, rest;

	if (!b)
		return 0;
	if (y >> 64) {
		quotient = x >> 64;
		rest = quotient ? 0 : x;
	} else if (x >> 64) {
		/* 2^64: what it is for one less, and one more. */
		quotient = UINT64_MAX / (uint64_t)y;
		rest = (unsigned __int128)(UINT64_MAX % (uint64_t)y) + 1;
		if (rest == y) {
			quotient++;
			rest = 0;
		}
	} else {
		quotient = (uint64_t)x / (uint64_t)y;
		rest = (uint64_t)x % (uint64_t)y;
	}
	if (kind == LULL_FILTER_DIVIDE)
		*result = (a < 0) != (b < 0) ? -(wide)quotient : (wide)quotient;
	else
		*result = a < 0 ? -(wide)rest : (wide)rest;
	return 1;
}

static int shift_left(wide a, wide b, wide *result)
{
	if (b < 0)
		return 0;
	*result = 0;
	if (!a)
		return 1;
	if (b > 64 || a > MOST >> (int)b || a < LEAST >> (int)b)
		return 0;
	*result = (wide)((unsigned __int128)a << (int)b);
	return 1;
}

static int shift_right(wide a, wide b, wide *result)
{
	*result = a >> (b > 64 ? 65 : b < 0 ? 0 : (int)b);
	return b >= 0;
}

int lull_filter_compute(uint8_t kind, const wide *left, const wide *right, wide *result)
{
	wide a = *left, b = *right, found = 0;
	int is_found = 1;

	switch (kind) {
	case LULL_FILTER_ADD:
		found = a + b;
		break;
	case LULL_FILTER_SUBTRACT:
		found = a - b;
		break;
	case LULL_FILTER_MULTIPLY:
		is_found = multiply(a, b, &found);
		break;
	case LULL_FILTER_DIVIDE:
	case LULL_FILTER_REMAINDER:
		is_found = divide(kind, a, b, &found);
		break;
	case LULL_FILTER_AND:
		found = a & b;
		break;
	case LULL_FILTER_OR:
		found = a | b;
		break;
	case LULL_FILTER_XOR:
		found = a ^ b;
		break;
	case LULL_FILTER_SHIFT_LEFT:
		is_found = shift_left(a, b, &found);
		break;
	case LULL_FILTER_SHIFT_RIGHT:
		is_found = shift_right(a, b, &found);
		break;
	default:
		is_found = 0;
	}
	if (!is_found || found > MOST || found < LEAST)
		return 0;
	*result = found;
	return 1;
}
