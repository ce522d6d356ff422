/* SPDX-License-Identifier: MIT */
/*
 * A library to preload behind ours, with functions of the C library of its own: ours have to
 * call these, as the program would. It is built with either kind of hash table.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

int fsync(int fd)
{
	(void)fd;
	errno = ENOTRECOVERABLE;
	return -7;
}
