/* SPDX-License-Identifier: MIT */
/*
 * SHOW(call): print a call, its value and errno, which is 77 where the call left it alone.
 * A program of these prints the same with and without liblull.
 */
#ifndef SHOW_H
#define SHOW_H

#include <errno.h>
#include <stdio.h>

#define SHOW(call)                                                      \
	do {                                                            \
		errno = 77;                                             \
		long long value_ = (long long)(call);                   \
		int errno_ = errno;                                     \
		printf("%s = %lld, errno %d\n", #call, value_, errno_); \
	} while (0)

/* A pointer that no process may use, and that the compiler does not see through. */
static inline void *bad_pointer(void)
{
	void *volatile pointer = (void *)8;

	return pointer;
}

static inline void *null_pointer(void)
{
	void *volatile pointer = NULL;

	return pointer;
}

#endif
