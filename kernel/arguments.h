/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of a program as one text: a blank stands between two of them, and a backslash before
 * each blank and each backslash within one, so that the text can be taken apart again.
 */
#ifndef LULL_KERNEL_ARGUMENTS_H
#define LULL_KERNEL_ARGUMENTS_H

#include <linux/types.h>

/*
 * lull_argument_append() - append one argument, at most twice as long as it is.
 * Context: any. Return: where the text ends then.
 */
static inline char *lull_argument_append(char *to, const char *from, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++) {
		if (from[i] == ' ' || from[i] == '\\')
			*to++ = '\\';
		*to++ = from[i];
	}
	return to;
}

#endif
