/* SPDX-License-Identifier: MIT */
/* Calls a function that a library preloaded behind ours may have replaced, and one it has not. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	int result = fsync(-1), error = errno;

	printf("fsync %d %d, fdatasync %d\n", result, error, fdatasync(-1));
	return 0;
}
