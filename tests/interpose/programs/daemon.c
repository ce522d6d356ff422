/* SPDX-License-Identifier: MIT */
/*
 * A daemon: forks twice, closes every descriptor, by the way the argument names, and works on.
 * What it has to say it writes to the file of the second argument, as its last deed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_all(const char *how)
{
	if (!strcmp(how, "closefrom"))
		closefrom(0);
	else if (!strcmp(how, "close_range"))
		close_range(0, ~0u, 0);
	else
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
}

int main(int count, char **arguments)
{
	char text[64];
	struct stat status = { 0 };
	int first, second[2];

	if (count < 3)
		return 1;
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		close_all(arguments[1]);
		first = open("/dev/null", O_RDWR);
		if (pipe(second) || write(second[1], "works", 5) != 5 ||
		    read(second[0], text, sizeof(text)) != 5)
			_exit(1);
		snprintf(text, sizeof(text), "descriptors %d %d %d\n", first, second[0], second[1]);
		first = open(arguments[2], O_CREAT | O_WRONLY, 0600);
		_exit(write(first, text, strlen(text)) < 0);
	}
	wait(NULL);
	for (int i = 0; i < 20000 && !status.st_size; i++) {
		usleep(1000);
		stat(arguments[2], &status);
	}
	return status.st_size == 0;
}
