/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * x86-64: the bytes of a site. Their meaning is in lull/site_x86_64.h; only the first two
 * ever change.
 */
#ifndef LULL_SITE_CODE_H
#define LULL_SITE_CODE_H

#include <stdint.h>

#define LULL_CODE_BYTES 8u
#define LULL_CHANGE_BYTES 2u

static const unsigned char lull_code_forms[2][LULL_CHANGE_BYTES] = {
	{ 0x0f, 0x1f }, /* nopl disp32(%rcx,%rbp,8) */
	{ 0xeb, 0x01 }, /* jmp to the jump in the last five bytes */
};

/* The new bytes for a form: 0, the no-op, or 1, the jump. Return: 0 or -ERANGE. */
static inline int lull_code_write(unsigned char *bytes, int form, uintptr_t code, uintptr_t target)
{
	(void)code;
	(void)target;
	__builtin_memcpy(bytes, lull_code_forms[form], LULL_CHANGE_BYTES);
	return 0;
}

/* Which form is at code. Return: 0, 1, or -1 where it is no site that jumps to target. */
static inline int lull_code_read(uintptr_t code, uintptr_t target)
{
	const unsigned char *at = (const unsigned char *)code;
	int32_t distance;

	__builtin_memcpy(&distance, at + 4, sizeof(distance));
	if (at[2] != 0x84 || at[3] != 0xe9 || (code & 7) == 7 ||
	    code + LULL_CODE_BYTES + (uintptr_t)(intptr_t)distance != target)
		return -1;
	for (int form = 0; form < 2; form++)
		if (!__builtin_memcmp(at, lull_code_forms[form], LULL_CHANGE_BYTES))
			return form;
	return -1;
}

#endif
