/* SPDX-License-Identifier: MIT */
/*
 * Executing and spawning where little stack is left, where files are locked or none at all, and
 * with many arguments.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "show.h"

#define STACK_BYTES 8192 /* SIGSTKSZ, as it was for long */
#define GUARD_BYTES 65536 /* a multiple of every page size */

static char *own[] = { "A=b", NULL };
static char *echo[] = { "echo", "handled", NULL };
static char *script[] = { "script", NULL };

static void reap(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	printf("status %x\n", status);
}

static void handle(int number)
{
	pid_t child;

	if (number == SIGUSR1) {
		posix_spawn(&child, "/bin/echo", NULL, NULL, echo, own);
	} else {
		child = fork();
		if (child == 0) {
			execle("/bin/echo", "echo", "handled", NULL, own);
			_exit(1);
		}
	}
	reap(child);
}

static void on_a_small_stack(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	char *memory = aligned_alloc(GUARD_BYTES, 2 * GUARD_BYTES);
	stack_t stack = { .ss_sp = memory + GUARD_BYTES, .ss_size = STACK_BYTES };

	SHOW(mprotect(memory, GUARD_BYTES, PROT_NONE));
	SHOW(sigaltstack(&stack, NULL));
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	fflush(stdout);
	SHOW(raise(SIGUSR1));
	fflush(stdout);
	SHOW(raise(SIGUSR2));
}

static void is_still_locked(void)
{
	struct flock lock = { .l_type = F_WRLCK };

	fflush(stdout);
	if (fork() == 0) {
		SHOW(fcntl(open("script", O_RDWR), F_SETLK, &lock));
		exit(0);
	}
	reap(-1);
}

/* @fd: by which the lock is requested. */
static void of_a_locked_file(int fd)
{
	struct flock lock = { .l_type = F_RDLCK };
	pid_t child;

	SHOW(fcntl(fd, F_SETLK, &lock));
	SHOW(posix_spawn(&child, "./script", NULL, NULL, script, environ));
	reap(child);
	is_still_locked();
	SHOW(fexecve(fd, script, NULL) < 0);
	is_still_locked();
	chmod("script", 0644);
	SHOW(execve("./other", script, environ));
	chmod("script", 0755);
	is_still_locked();
	close(fd);
}

/* "other" is a script whose interpreter is "script". */
static void scripts_make(void)
{
	FILE *file = fopen("script", "w");

	fputs("#!/bin/sh\nexit 7\n", file);
	fclose(file);
	file = fopen("other", "w");
	fputs("#!./script\n", file);
	fclose(file);
	chmod("script", 0755);
	chmod("other", 0755);
}

static void of_a_fifo(void)
{
	int watch = inotify_init1(IN_NONBLOCK);
	struct inotify_event event;

	SHOW(mkfifo("fifo", 0755));
	SHOW(inotify_add_watch(watch, "fifo", IN_OPEN) > 0);
	SHOW(execl("./fifo", "fifo", NULL));
	SHOW(read(watch, &event, sizeof(event)));
}

#define TEN(text) text, text, text, text, text, text, text, text, text, text

static void with_many_arguments(void)
{
	fflush(stdout);
	if (fork() == 0) {
		execl("/bin/sh", "sh", "-c", "echo $#", TEN(TEN(TEN("a"))), NULL);
		_exit(1);
	}
	reap(-1);
}

int main(void)
{
	on_a_small_stack();
	scripts_make();
	of_a_locked_file(open("script", O_RDONLY));
	of_a_locked_file(fcntl(open("script", O_RDONLY), F_DUPFD, 500));
	of_a_fifo();
	with_many_arguments();
	return 0;
}
