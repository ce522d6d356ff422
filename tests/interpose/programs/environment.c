/* SPDX-License-Identifier: MIT */
/*
 * Execute `env` in the way that the first argument names, with an environment that was
 * emptied, or has an LD_PRELOAD of its own, or is said to be untraced.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *arguments[] = { "env", NULL };
static char *empty[] = { NULL };
static char *own[] = { "LD_PRELOAD=libm.so.6", "A=b", NULL };
static char *declined[] = { "LULL_SESSION=", NULL };
static char *large[3000];

static int await(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

int main(int count, char **how)
{
	const char *name = count > 1 ? how[1] : "", *target = count > 2 ? how[2] : "/usr/bin/env";
	pid_t child;

	for (int i = 0; i < 2999; i++)
		large[i] = "VARIABLE=value";
	if (!strcmp(name, "execve"))
		execve(target, arguments, empty);
	if (!strcmp(name, "own"))
		execve(target, arguments, own);
	if (!strcmp(name, "declined"))
		execve(target, arguments, declined);
	if (!strcmp(name, "large"))
		execve(target, arguments, large);
	if (!strcmp(name, "null"))
		execve(target, arguments, NULL);
	if (!strcmp(name, "execle"))
		execle(target, "env", NULL, empty);
	if (!strcmp(name, "execvpe"))
		execvpe("env", arguments, empty);
	if (!strcmp(name, "fexecve"))
		fexecve(open(target, O_RDONLY), arguments, empty);
	if (!strcmp(name, "execveat"))
		execveat(AT_FDCWD, target, arguments, empty, 0);
	if (!strcmp(name, "clearenv")) {
		clearenv();
		execl(target, "env", NULL);
	}
	if (!strcmp(name, "vfork")) {
		child = vfork();
		if (child == 0) {
			execve(target, arguments, empty);
			_exit(9);
		}
		return await(child);
	}
	if (!strcmp(name, "spawn") &&
	    posix_spawn(&child, target, NULL, NULL, arguments, empty) == 0)
		return await(child);
	if (!strcmp(name, "spawnp") &&
	    posix_spawnp(&child, "env", NULL, NULL, arguments, empty) == 0)
		return await(child);
	return 10;
}
