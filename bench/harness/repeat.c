/* SPDX-License-Identifier: MIT */
/*
 * Start a program many times, one after the other: repeat COUNT PROGRAM.
 *
 * Prints "WALL_NS FAULTS": the time of the loop, and the page faults of all that it started.
 * Under a recorder, it and what it starts are processes of one session that runs already. The
 * programs read /dev/null and write to it; one that fails ends the whole measurement.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

static int run_once(char **argv, const posix_spawn_file_actions_t *actions)
{
	int status;
	pid_t child;

	if (posix_spawn(&child, argv[0], actions, NULL, argv, environ))
		return -1;
	return waitpid(child, &status, 0) == child && !status ? 0 : -1;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	posix_spawn_file_actions_t actions;
	unsigned long long begin_ns;
	struct rusage used;

	if (!count) {
		fprintf(stderr, "usage: repeat COUNT PROGRAM\n");
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	begin_ns = now_ns();
	for (unsigned long i = 0; i < count; i++) {
		if (run_once(argv + 2, &actions)) {
			fprintf(stderr, "repeat: %s failed\n", argv[2]);
			return 2;
		}
	}
	begin_ns = now_ns() - begin_ns;
	getrusage(RUSAGE_CHILDREN, &used);
	printf("%llu %ld\n", begin_ns, used.ru_minflt);
	return 0;
}
