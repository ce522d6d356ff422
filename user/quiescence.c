/* SPDX-License-Identifier: MIT */
/*
 * A wait until the other threads of the process are in no probe that began before it: for a process
 * that is about to lose memory that such a probe may still write to (credentials.c).
 *
 * Probes leave no trace of where they are. But a probe makes no system call, and takes a few
 * microseconds of its thread's time. So a thread that sleeps in one is in no probe, and one that
 * has run for RUN_NS since is out of the probe in which it was. The wait is bounded: a thread that
 * does not run for so long, or sleeps in a signal handler that interrupted a probe, loses the event
 * that it was recording. Paper: none.
 */
#include <fcntl.h>
#include <time.h>
#include "liblull.h"
#include "lull_port.h"
#include "syscall.h"
#include "text.h"

#define RUN_NS 200000u
#define WAIT_NS 100000u /* between two looks */
#define LOOKS_MAX 500u /* 50 ms */
#define WATCHED_MAX 256u /* threads that are waited for */

/* As the kernel lays out a directory's entry. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

struct watched {
	uint32_t tid;
	uint64_t ran_ns; /* when it was first looked at */
};

static uint32_t number_of(const char *text)
{
	uint32_t number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint32_t)(*text - '0');
	return number;
}

/* How long a thread of this process has run, to this moment; 0: it has ended. */
static uint64_t ran_ns(uint32_t tid)
{
	const uint32_t per_thread_scheduled = 6; /* the kernel's numbers of such clocks */
	struct timespec ran = { 0 };

	if (lull_syscall(__NR_clock_gettime, (long)(int32_t)(~tid << 3 | per_thread_scheduled),
			 (long)&ran, 0, 0, 0, 0))
		return 0;
	return (uint64_t)ran.tv_sec * 1000000000u + (uint64_t)ran.tv_nsec;
}

/* Does the thread sleep in a system call? Its state follows the name in parentheses. */
static int is_asleep(uint32_t tid)
{
	char path[48] = "/proc/self/task/", text[128];
	size_t used = number_append(path, sizeof("/proc/self/task/") - 1, tid);
	long fd, bytes;

	text_append(path, used, "/stat", sizeof("/stat"));
	fd = lull_syscall(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	bytes = lull_syscall(__NR_read, fd, (long)text, sizeof(text), 0, 0, 0);
	lull_syscall(__NR_close, fd, 0, 0, 0, 0, 0);
	for (; bytes > 2; bytes--)
		if (text[bytes - 3] == ')')
			return text[bytes - 1] == 'S';
	return 0;
}

/* The other threads of the process, as many as are watched. */
static uint32_t threads_find(struct watched watched[WATCHED_MAX])
{
	uint32_t own = (uint32_t)lull_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0), count = 0;
	char text[1024] __attribute__((aligned(8)));
	long fd = lull_syscall(__NR_openat, AT_FDCWD, (long)"/proc/self/task",
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	long bytes;

	if (fd < 0)
		return 0;
	/* Bound: the threads, of which WATCHED_MAX count. */
	while (count < WATCHED_MAX &&
	       (bytes = lull_syscall(__NR_getdents64, fd, (long)text, sizeof(text), 0, 0, 0)) > 0)
		for (long at = 0; at < bytes && count < WATCHED_MAX;) {
			const struct entry *entry = (const void *)(text + at);
			uint32_t tid = number_of(entry->name);

			at += entry->bytes;
			if (tid && tid != own)
				watched[count++] = (struct watched){ tid, ran_ns(tid) };
		}
	lull_syscall(__NR_close, fd, 0, 0, 0, 0, 0);
	return count;
}

static int is_out(const struct watched *watched)
{
	uint64_t now_ns = ran_ns(watched->tid);

	return !watched->ran_ns || !now_ns || now_ns - watched->ran_ns >= RUN_NS ||
	       is_asleep(watched->tid);
}

void lull_threads_quiesce(void)
{
	struct timespec wait = { .tv_nsec = WAIT_NS };
	struct watched watched[WATCHED_MAX];
	uint32_t count = threads_find(watched);

	for (uint32_t look = 0; count && look < LOOKS_MAX; look++) {
		for (uint32_t i = count; i-- > 0;)
			if (is_out(&watched[i]))
				watched[i] = watched[--count];
		if (count)
			lull_syscall(__NR_nanosleep, (long)&wait, 0, 0, 0, 0, 0);
	}
}
