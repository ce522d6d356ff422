/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * aarch64: the bytes of a site, NOP or B. Instructions are little-endian whatever the data.
 */
#ifndef LULL_SITE_CODE_H
#define LULL_SITE_CODE_H

#include <errno.h>
#include <stdint.h>

#define LULL_CODE_BYTES 4u
#define LULL_CHANGE_BYTES 4u
#define LULL_CODE_NOP 0xd503201fu
#define LULL_CODE_B 0x14000000u
#define LULL_CODE_B_WORDS 0x03ffffffu
#define LULL_CODE_B_REACH_BYTES ((intptr_t)1 << 27)

/* The new bytes for a form: 0, the no-op, or 1, the jump. Return: 0, or -ERANGE: too far. */
static inline int lull_code_write(unsigned char *bytes, int form, uintptr_t code, uintptr_t target)
{
	intptr_t distance = (intptr_t)(target - code);
	uint32_t word = LULL_CODE_NOP;

	if ((distance & 3) || distance < -LULL_CODE_B_REACH_BYTES ||
	    distance >= LULL_CODE_B_REACH_BYTES)
		return -ERANGE;
	if (form)
		word = LULL_CODE_B | ((uint32_t)(distance >> 2) & LULL_CODE_B_WORDS);
	__builtin_memcpy(bytes, &word, sizeof(word));
	return 0;
}

/* Which form is at code. Return: 0, 1, or -1 where it is no site that jumps to target. */
static inline int lull_code_read(uintptr_t code, uintptr_t target)
{
	unsigned char bytes[LULL_CODE_BYTES];

	if (code & 3)
		return -1;
	for (int form = 0; form < 2; form++)
		if (!lull_code_write(bytes, form, code, target) &&
		    !__builtin_memcmp((const void *)code, bytes, LULL_CODE_BYTES))
			return form;
	return -1;
}

#endif
