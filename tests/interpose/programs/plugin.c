/* SPDX-License-Identifier: MIT */
/* A plug-in that says which one it is. Its constructor and destructor do I/O. */
#include <unistd.h>

#ifndef PLUGIN_NUMBER
#define PLUGIN_NUMBER 1
#endif

static int fds[2];

int plugin_number(void);
int plugin_number(void)
{
	return PLUGIN_NUMBER;
}

__attribute__((constructor)) static void open_fds(void)
{
	if (pipe(fds))
		_exit(99);
}

__attribute__((destructor)) static void close_fds(void)
{
	close(fds[0]);
	close(fds[1]);
}
