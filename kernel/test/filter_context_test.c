// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts as filters read them: a thread that differs from all others in each, and a session for
 * each context, whose filter takes the value that the kernel tells of that thread elsewhere. Run
 * as root in a kernel that has loaded lull.ko and has more than one CPU, by tests/boot, which
 * mounts the hierarchy of control groups.
 *
 * Usage: context_test CGROUPS.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "../../check/test.h"
#include "filter_program.h"

#define EVENT "syscalls:sys_enter_getppid"
#define CALLS 12
#define AT_ONCE (LULL_SESSIONS_MAX - 2) /* filters, beside a session without, and event_hash()'s */
#define NAME "fifteen_letters"
#define USER 1234
#define GROUP 2345
#define PRIORITY 7
#define CPU 1

static const char *cgroups;
static int begin[2], done[2]; /* pipes */

static void calls_make(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static void *other_thread(void *unused)
{
	cpu_set_t cpus;
	char byte = 0;

	(void)unused;
	CPU_ZERO(&cpus);
	CPU_SET(CPU, &cpus);
	if (prctl(PR_SET_NAME, NAME) || sched_setaffinity(0, sizeof(cpus), &cpus))
		_exit(3);
	/* Bound: LULL_CONTEXTS rounds, and what ends them. */
	while (write(done[1], "d", 1) == 1 && read(begin[0], &byte, 1) == 1 && byte == 'b')
		calls_make();
	return NULL;
}

/* A process in namespaces of its own. Return: its number, or -1. */
static pid_t other_process(void)
{
	struct sched_param priority = { .sched_priority = PRIORITY };
	pthread_t thread;
	pid_t child;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID))
		return -1;
	child = fork();
	if (child)
		return child;
	/* The user namespace comes last: what this process may do elsewhere ends with it. */
	if (unshare(CLONE_NEWCGROUP) || sched_setscheduler(0, SCHED_FIFO, &priority) ||
	    syscall(SYS_setresgid, 1, GROUP, 0) || syscall(SYS_setresuid, 1, USER, 0) ||
	    unshare(CLONE_NEWUSER) || pthread_create(&thread, NULL, other_thread, NULL) ||
	    pthread_join(thread, NULL))
		_exit(3);
	_exit(0);
}

/* The only thread of a process that is not its first. */
static pid_t thread_of(pid_t process)
{
	char path[64];
	struct dirent *entry;
	pid_t found = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != process)
			found = atoi(entry->d_name);
	if (folder)
		closedir(folder);
	return found;
}

static uint64_t namespace_number(pid_t thread, const char *name)
{
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", thread, name);
	if (readlink(path, link, sizeof(link) - 1) < 0 || !strchr(link, '['))
		return 0;
	return strtoull(strchr(link, '[') + 1, NULL, 10);
}

static uint64_t cgroup_enter(pid_t process)
{
	char path[256];
	struct stat status;
	FILE *file;

	snprintf(path, sizeof(path), "%s/own", cgroups);
	mkdir(path, 0755);
	if (stat(path, &status))
		return 0;
	strcat(path, "/cgroup.procs");
	file = fopen(path, "w");
	if (!file || fprintf(file, "%d", process) < 0 || fclose(file))
		return 0;
	return status.st_ino;
}

/* The value that the kernel tells of a thread by other means. */
static uint64_t value_of(enum lull_context context, pid_t process, pid_t thread)
{
	switch (context) {
	case LULL_CONTEXT_PID:
		return (uint64_t)process;
	case LULL_CONTEXT_TID:
		return (uint64_t)thread;
	case LULL_CONTEXT_PRIO:
		return 99 - PRIORITY;
	case LULL_CONTEXT_CPU:
		return CPU;
	case LULL_CONTEXT_UID:
		return USER;
	case LULL_CONTEXT_GID:
		return GROUP;
	case LULL_CONTEXT_CGROUP:
		return cgroup_enter(process);
	case LULL_CONTEXT_PID_NS:
		return namespace_number(thread, "pid");
	case LULL_CONTEXT_NET_NS:
		return namespace_number(thread, "net");
	case LULL_CONTEXT_MNT_NS:
		return namespace_number(thread, "mnt");
	case LULL_CONTEXT_UTS_NS:
		return namespace_number(thread, "uts");
	case LULL_CONTEXT_IPC_NS:
		return namespace_number(thread, "ipc");
	case LULL_CONTEXT_CGROUP_NS:
		return namespace_number(thread, "cgroup");
	case LULL_CONTEXT_USER_NS:
		return namespace_number(thread, "user");
	default:
		return 0;
	}
}

struct seen {
	uint32_t id, tid;
	long of_thread, others;
};

static void look(const struct recorded *event, void *context)
{
	struct seen *seen = context;

	if (event->id == seen->id && event->tid == seen->tid)
		seen->of_thread++;
	else if (event->id == seen->id)
		seen->others++;
}

static struct seen recorded_in(struct recorder *recorder, pid_t thread)
{
	struct seen seen = { .id = recorder_event(recorder, EVENT), .tid = (uint32_t)thread };

	if (recorder_read(recorder, look, &seen) < 0 || recorder_peek(recorder, look, &seen) < 0)
		seen.others = -1;
	return seen;
}

/*
 * Sessions whose filters take the thread's value of some contexts, from number @first on, and one
 * without a filter, while the thread and this one make calls. Return: 0, or 1 where one fails.
 */
static int contexts_decide(int first, pid_t process, pid_t thread)
{
	struct lull_kernel_plan plan = plan_of(EVENT, LULL_MODE_DISCARD);
	int count = first + AT_ONCE < LULL_CONTEXTS ? AT_ONCE : LULL_CONTEXTS - first;
	uint64_t hash = event_hash(EVENT);
	struct recorder recorders[AT_ONCE + 1];
	struct seen seen;
	char byte;

	plan.subbuf_size_bytes = 4096;
	for (int i = 0; i <= count; i++) {
		enum lull_context context = (enum lull_context)(first + i);
		uint8_t input = (uint8_t)(LULL_FILTER_CONTEXT + context);
		struct program program =
			context == LULL_CONTEXT_COMM ?
				text_program_of(input, NAME) :
				program_of(input, value_of(context, process, thread));

		CHECK(recorder_open(&recorders[i], &plan) == 0);
		CHECK(i == count || filter_give(&recorders[i], hash, &program) == 0);
	}
	for (int i = 0; i <= count; i++)
		CHECK(recorder_enable(&recorders[i]).enabled_count == 1);
	CHECK(write(begin[1], "b", 1) == 1 && read(done[0], &byte, 1) == 1);
	calls_make();
	for (int i = 0; i <= count; i++) {
		ioctl(recorders[i].descriptor, LULL_KERNEL_DISABLE);
		seen = recorded_in(&recorders[i], thread);
		printf("  context %d: %ld calls, %ld of others\n", first + i, seen.of_thread,
		       seen.others);
		CHECK(seen.of_thread == CALLS);
		CHECK(i == count ? seen.others >= CALLS : seen.others == 0);
		recorder_close(&recorders[i]);
	}
	return 0;
}

static int filters_read_each_context_of_the_running_thread(void)
{
	pid_t child, process = 0, thread;
	int told[2], status;
	cpu_set_t cpus;
	char byte;

	CHECK(!pipe(begin) && !pipe(done) && !pipe(told));
	fflush(stdout);
	child = fork();
	if (!child) {
		process = other_process();
		if (write(told[1], &process, sizeof(process)) != sizeof(process))
			_exit(3);
		_exit(wait(&status) < 0 || status != 0);
	}
	CHECK(read(told[0], &process, sizeof(process)) == sizeof(process) && process > 0);
	CHECK(read(done[0], &byte, 1) == 1);
	thread = thread_of(process);
	CHECK(thread > 0);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus); /* another one than the thread's */
	CHECK(sched_setaffinity(0, sizeof(cpus), &cpus) == 0);
	for (int first = 0; first < LULL_CONTEXTS; first += AT_ONCE)
		CHECK(contexts_decide(first, process, thread) == 0);
	CHECK(write(begin[1], "e", 1) == 1 && wait(&status) == child && status == 0);
	return 0;
}

int main(int argument_count, char **arguments)
{
	cgroups = argument_count > 1 ? arguments[1] : "/sys/fs/cgroup";
	RUN(filters_read_each_context_of_the_running_thread);
	return sums();
}
