/* SPDX-License-Identifier: MIT */
/*
 * Texts that liblull puts together in memory of its callers', such as paths: without the C library.
 * There is no end in them until it is appended, and room is for the caller to see to.
 * Context: async-signal-safe. Progress: wait-free.
 */
#ifndef LIBLULL_TEXT_H
#define LIBLULL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define NUMBER_BYTES 12 /* a 32-bit number in decimal, and its end */

/* Append @bytes of @more. Return: how many bytes there are then. */
static inline size_t text_append(char *text, size_t used, const char *more, size_t bytes)
{
	__builtin_memcpy(text + used, more, bytes);
	return used + bytes;
}

/* The same of a number in decimal. */
static inline size_t number_append(char *text, size_t used, uint32_t number)
{
	char digits[NUMBER_BYTES];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return text_append(text, used, digits + at, sizeof(digits) - at);
}

#endif
