/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Strings and arrays on their way into a slot: measured once, before any slot is reserved,
 * then copied once for each session. abi/site.h defines the payload's layout.
 *
 * The only outside functions are memcpy() and memchr(), which the compiler knows.
 */
#ifndef LULL_FIELDS_COPY_H
#define LULL_FIELDS_COPY_H

#pragma GCC system_header

#include <stddef.h>
#include <stdint.h>
#include "abi/packet.h"

/* More than a sub-buffer can hold: an event that reaches it is lost as too big, and counted. */
#define LULL_ELEMENTS_MAX LULL_SLOT_BYTES_MAX

struct lull_string {
	const char *text;
	uint32_t bytes; /* without the NUL */
};

struct lull_array {
	const void *elements;
	uint32_t count;
};

static inline uint32_t lull_elements(uint64_t count, int has_sign)
{
	if (has_sign && count >> 63)
		return 0;
	return count < LULL_ELEMENTS_MAX ? (uint32_t)count : LULL_ELEMENTS_MAX;
}

static inline struct lull_string lull_string_measure(const char *text, uint32_t limit_bytes)
{
	struct lull_string measured = { "(null)", 6 };
	const void *end;

	if (text) {
		__asm__("" : "+r"(text)); /* lest the compiler warn of its declared size */
		end = __builtin_memchr(text, 0, limit_bytes);
		measured.text = text;
		measured.bytes = end ? (uint32_t)((const char *)end - text) : limit_bytes;
	}
	return measured;
}

/* A NUL that another thread put into the string would cut the record there: it becomes '#'. */
static inline unsigned char *lull_string_store(unsigned char *to, struct lull_string text)
{
	unsigned char *until = to + text.bytes;
	unsigned char *nul = to;

	__builtin_memcpy(to, text.text, text.bytes);
	while ((nul = (unsigned char *)__builtin_memchr(nul, 0, (size_t)(until - nul))))
		*nul = '#';
	*until = 0;
	return until + 1;
}

static inline struct lull_array lull_array_measure(const void *elements, uint32_t count)
{
	struct lull_array measured = { elements, elements ? count : 0 };

	return measured;
}

static inline unsigned char *lull_array_store(unsigned char *to, struct lull_array array,
					      uint32_t element_bytes)
{
	uint32_t bytes = array.count * element_bytes;

	__builtin_memcpy(to, &array.count, sizeof(array.count));
	if (bytes)
		__builtin_memcpy(to + sizeof(array.count), array.elements, bytes);
	return to + sizeof(array.count) + bytes;
}

/* The last word of a payload, before the fields are stored over what they use of it. */
static inline void lull_padding_store(unsigned char *payload, uint32_t bytes)
{
	const uint32_t zero = 0;

	if (bytes & 3)
		__builtin_memcpy(payload + (bytes & ~3u), &zero, sizeof(zero));
}

#endif
