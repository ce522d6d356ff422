// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's half of tests/boot/state_test.py: a population of processes, a storm of forks, execs,
 * threads and files among them, and what /proc says of all when the storm is over.
 *
 * Usage: state_test SNAPSHOT. The storm lasts from when there is a file /run/go until there is
 * /run/stop; then nothing changes any more, and SNAPSHOT gets a line for each thread,
 * `T TID PID PPID NAME`, and for each descriptor, `F PID FD PATH`. The program's own descriptors
 * are not in it: it uses them to look. It waits then until it is killed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GO "/run/go"
#define STOP "/run/stop"
#define IDLERS 12
#define IDLE_FILES 600 /* of each, so that the dump takes a while */
#define WORKERS 6
#define KEPT 20 /* children and threads of each worker that stay */
#define STAYS(number) ((number) % 16 == 0)
#define FILES 24
#define TEXT_BYTES (4 << 20)

static int is_over(void)
{
	usleep(1000);
	return !access(STOP, F_OK);
}

static void rest(void)
{
	for (;;)
		pause();
}

/* Opens a file of this name, new each time. */
static int file_open(int number, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/run/files/%d", number);
	return open(path, O_RDWR | O_CREAT | flags, 0600);
}

/* Several descriptors whose numbers are used again and again. */
static void files_change(unsigned int *seed)
{
	int fd = file_open(rand_r(seed) % 100, rand_r(seed) % 2 ? O_CLOEXEC : 0);
	int other = 20 + (int)(rand_r(seed) % FILES);

	switch (rand_r(seed) % 5) {
	case 0:
		dup2(fd, other);
		break;
	case 1:
		dup3(fd, other, O_CLOEXEC);
		break;
	case 2:
		close(other);
		break;
	case 3:
		fcntl(other, F_SETFD, FD_CLOEXEC);
		break;
	default:
		break;
	}
	close(fd);
}

static void *thread_run(void *number)
{
	unsigned int seed = (unsigned int)(size_t)number;
	char name[16];

	snprintf(name, sizeof(name), "thread-%zu", (size_t)number);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < 4; i++)
		files_change(&seed);
	if (STAYS((size_t)number))
		rest();
	return NULL;
}

static void work_threads(unsigned int seed)
{
	for (size_t number = 1; !is_over(); number++) {
		pthread_t thread;

		if (STAYS(number) && number / 16 > KEPT)
			continue;
		if (!pthread_create(&thread, NULL, thread_run, (void *)number))
			pthread_detach(thread);
		files_change(&seed);
	}
}

/* A child that ends, becomes another program, or stays. */
static void child_run(int number, unsigned int seed)
{
	for (int i = 0; i < 3; i++)
		files_change(&seed);
	if (number % 3 == 1)
		execl("/proc/self/exe", "state_test", "--rest", STAYS(number) ? "stays" : "ends",
		      NULL);
	if (STAYS(number))
		rest();
	_exit(0);
}

static void work_forks(unsigned int seed)
{
	for (int number = 1; !is_over(); number++) {
		if (STAYS(number) && number / 16 > KEPT)
			continue;
		if (!fork())
			child_run(number, seed + (unsigned int)number);
		files_change(&seed);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* The same process, again and again another program. */
static void work_execs(unsigned int seed)
{
	char text[16];

	for (int i = 0; i < 4; i++)
		files_change(&seed);
	snprintf(text, sizeof(text), "%u", seed + 1);
	if (!is_over())
		execl("/proc/self/exe", "state_test", "--exec", text, NULL);
}

static void worker_run(int number)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", number);
	prctl(PR_SET_NAME, name);
	while (access(GO, F_OK))
		usleep(10000);
	if (number % 3 == 0)
		work_threads((unsigned int)number);
	else if (number % 3 == 1)
		work_forks((unsigned int)number);
	else
		work_execs((unsigned int)number);
	rest();
}

/* Processes with threads and files, which were there before and do nothing. */
static void idler_run(int number)
{
	for (int i = 0; i < IDLE_FILES; i++)
		file_open(1000 + number * 4 + i % 4, i % 2 ? O_CLOEXEC : 0);
	for (size_t i = 1; i <= 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, thread_run, (void *)(16 * i));
	}
	rest();
}

/* One thread's line. Return: its end. */
static char *thread_tell(char *at, int pid, int tid)
{
	char path[64], line[512] = "", state = 'Z';
	int ppid = 0;
	FILE *file;
	char *name, *until;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return at;
	if (fgets(line, sizeof(line), file) && (name = strchr(line, '(')) &&
	    (until = strrchr(line, ')'))) {
		*until = 0;
		sscanf(until + 1, " %c %d", &state, &ppid);
		if (state != 'Z' && state != 'X')
			at += sprintf(at, "T %d %d %d %s\n", tid, pid, ppid, name + 1);
	}
	fclose(file);
	return at;
}

static char *files_tell(char *at, int pid)
{
	char folder[64], path[320], text[512];
	struct dirent *entry;
	DIR *files;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
	files = opendir(folder);
	while (files && (entry = readdir(files))) {
		ssize_t bytes;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		bytes = readlink(path, text, sizeof(text));
		if (bytes > 0)
			at += sprintf(at, "F %d %s %.*s\n", pid, entry->d_name, (int)bytes, text);
	}
	if (files)
		closedir(files);
	return at;
}

/* All that /proc says, sorted as /proc is. */
static void snapshot(char *at)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while ((entry = readdir(processes))) {
		int pid = atoi(entry->d_name);
		struct dirent *of_task;
		char folder[64];
		DIR *tasks;

		if (!pid)
			continue;
		snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
		tasks = opendir(folder);
		while (tasks && (of_task = readdir(tasks)))
			if (atoi(of_task->d_name))
				at = thread_tell(at, pid, atoi(of_task->d_name));
		if (tasks)
			closedir(tasks);
		if (pid != getpid())
			at = files_tell(at, pid);
	}
	*at = 0;
	closedir(processes);
}

/* What /proc says when two looks, some time apart, see the same of it. */
static char *snapshot_settled(void)
{
	char *last = calloc(2, TEXT_BYTES), *next = last + TEXT_BYTES;

	for (int round = 0; round < 100; round++) {
		snapshot(last);
		usleep(200000);
		snapshot(next);
		if (!strcmp(last, next))
			return last;
	}
	return NULL;
}

static int population_run(const char *path)
{
	char *text;
	FILE *file;

	for (int number = 0; number < IDLERS; number++)
		if (!fork())
			idler_run(number);
	for (int number = 0; number < WORKERS; number++)
		if (!fork())
			worker_run(number);
	while (!is_over())
		;
	text = snapshot_settled();
	file = fopen(path, "w");
	if (!text || !file || fputs(text, file) < 0 || fclose(file))
		return 1;
	rest();
	return 0;
}

int main(int argument_count, char **arguments)
{
	if (argument_count == 3 && !strcmp(arguments[1], "--exec")) {
		work_execs((unsigned int)atoi(arguments[2]));
		rest();
	}
	if (argument_count == 3 && !strcmp(arguments[1], "--rest")) {
		if (!strcmp(arguments[2], "stays"))
			rest();
		return 0;
	}
	return argument_count == 2 ? population_run(arguments[1]) : 2;
}
