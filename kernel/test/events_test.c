// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's half of tests/boot/events_test.py: records events while a command runs, and prints
 * them, so that the test can compare them with what tracefs has of the same events.
 *
 * Usage: events_test PATTERNS COMMAND. Where COMMAND is `calls`, the program makes system calls of
 * its own, whose arguments the test knows. Prints a line for each event: the thread, the event's
 * name, and NAME:TYPE:BYTES of each field, bytes in hexadecimal; strings without their NUL, arrays
 * without their count. The last line is `lost N, undescribed N`.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "session.h"

static void field_print(const char *line, const unsigned char *at, size_t bytes)
{
	const char *name = strchr(line, ' ') + 1;
	size_t before = *line == 'a' || *line == 'b' ? 4 : 0;

	if (!strncmp(line, "bool ", 5))
		before = 0;
	if (!strncmp(line, "str", 3))
		bytes--;
	printf(" %.*s:%.*s:", (int)strcspn(name, " \n"), name, (int)strcspn(line, " "), line);
	for (size_t i = before; i < bytes; i++)
		printf("%02x", at[i]);
}

static void event_print(const struct recorded *event, void *context)
{
	const struct recorder *recorder = context;
	char *description = recorder_description(recorder, event->id);
	const unsigned char *at = event->payload;
	const char *line = description;

	printf("%u %.*s", event->tid, (int)strcspn(line, "\n"), line);
	for (int number = 0; *line; number++, line = strchr(line, '\n') + 1) {
		size_t bytes;

		if (number < 3)
			continue;
		bytes = recorder_field_bytes(line, at, SIZE_MAX);
		field_print(line, at, bytes);
		at += bytes;
	}
	putchar('\n');
	free(description);
}

#define NOWHERE 16ul /* no program has memory there */

/* A page that a new process has not touched yet is not in its memory: a probe cannot read it. */
static const char *touched(const char *text)
{
	(void)*(const volatile char *)text;
	return text;
}

static void files_open(void)
{
	static char endless[8192];
	struct open_how how = { .flags = O_CLOEXEC, .resolve = RESOLVE_BENEATH };

	memset(endless, 'a', sizeof(endless) - 1);
	syscall(SYS_openat, AT_FDCWD, touched("/run/a place"), O_RDONLY, 0);
	syscall(SYS_openat, AT_FDCWD, touched(""), O_RDONLY, 0);
	syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY, 0);
	syscall(SYS_openat, AT_FDCWD, NOWHERE, O_RDONLY, 0);
	syscall(SYS_openat, AT_FDCWD, endless, O_RDONLY, 0);
	syscall(SYS_symlinkat, touched("from"), AT_FDCWD, touched("/run/to"));
	syscall(SYS_openat2, AT_FDCWD, touched("nothing"), &how, sizeof(how));
}

static void sockets_connect(void)
{
	struct sockaddr_in in = { AF_INET, htons(9), { htonl(INADDR_LOOPBACK) }, { 0 } };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	struct sockaddr_un un = { AF_UNIX, "/run/nothing" };

	in6.sin6_addr.s6_addr[15] = 1;
	syscall(SYS_connect, -1, &in, sizeof(in));
	syscall(SYS_connect, -1, &in6, sizeof(in6));
	syscall(SYS_connect, -1, &un, sizeof(un.sun_family) + strlen(un.sun_path));
	syscall(SYS_connect, -1, NOWHERE, sizeof(in));
}

static void programs_execute(void)
{
	static char endless[300];
	const char *few[] = { touched("one"), touched("two words"), touched("back\\slash"), "",
			      NULL };
	const char *many[18] = { NULL }, *large[] = { few[0], endless, few[0], NULL };
	const char *wrong[] = { few[0], (const char *)NOWHERE, NULL };

	memset(endless, 'a', sizeof(endless) - 1);
	for (size_t i = 0; i < 17; i++)
		many[i] = few[0];
	syscall(SYS_execve, touched("/run/nothing"), few, NULL);
	syscall(SYS_execve, touched("/run/nothing"), many + 1, NULL);
	syscall(SYS_execve, touched("/run/nothing"), many, NULL);
	syscall(SYS_execve, touched("/run/nothing"), large, NULL);
	syscall(SYS_execve, touched("/run/nothing"), wrong, NULL);
	syscall(SYS_execve, touched("/run/nothing"), NOWHERE, NULL);
	syscall(SYS_execve, touched("/run/nothing"), NULL, NULL);
}

static void lists_give(void)
{
	struct iovec places[10];
	struct pollfd polled[] = { { -1, POLLIN, 0 }, { -2, POLLOUT | POLLPRI, 0 } };
	struct timespec no_time = { 0, 0 };

	for (size_t i = 0; i < 10; i++)
		places[i] = (struct iovec){ NULL, i + 3 };
	syscall(SYS_writev, -1, places, 2);
	syscall(SYS_writev, -1, places, 10);
	syscall(SYS_writev, -1, NOWHERE, 2);
	syscall(SYS_ppoll, polled, 2, &no_time, NULL, 8);
}

static void descriptors_give(void)
{
	int ends[2], pair[2], file = (int)syscall(SYS_memfd_create, touched("own"), 0);
	int epoll = (int)syscall(SYS_epoll_create1, 0);
	struct epoll_event event = { EPOLLIN, { .u64 = 0x1122334455 } }, events[4];
	struct statx extended;
	struct stat status;

	syscall(SYS_pipe2, ends, 0);
	syscall(SYS_pipe2, NOWHERE, 0);
	syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, pair);
	syscall(SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 6);
	syscall(SYS_ioctl, pair[0], FIONREAD, NULL);
	syscall(SYS_write, file, "hello", 5);
	syscall(SYS_fstat, file, &status);
	syscall(SYS_fstat, -1, &status);
	syscall(SYS_fstat, ends[0], &status);
	syscall(SYS_statx, file, touched(""), AT_EMPTY_PATH, STATX_SIZE, &extended);
	syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, ends[0], &event);
	syscall(SYS_epoll_pwait, epoll, events, 4, 0, NULL, 8);
	syscall(SYS_write, ends[1], "x", 1);
	syscall(SYS_epoll_pwait, epoll, events, 4, 0, NULL, 8);
	/* By which the test knows their numbers. */
	syscall(SYS_close, ends[0]);
	syscall(SYS_close, ends[1]);
	syscall(SYS_close, pair[0]);
	syscall(SYS_close, pair[1]);
}

static void sockets_give(void)
{
	struct sockaddr_un own = { AF_UNIX, "/run/own" }, found;
	int socket = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	socklen_t bytes = sizeof(found);

	syscall(SYS_getsockname, socket, &found, &bytes);
	syscall(SYS_bind, socket, &own, sizeof(own.sun_family) + strlen(own.sun_path));
	bytes = sizeof(found);
	syscall(SYS_getsockname, socket, &found, &bytes);
	syscall(SYS_getsockname, socket, NULL, NULL);
}

static void wake(int number)
{
	(void)number;
}

static void times_give(void)
{
	const struct itimerval soon = { .it_value = { 0, 20000 } };
	struct sigaction action = { .sa_handler = wake };
	struct timespec time = { 100, 0 }, rest;
	int status, child;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &rest);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, &rest);
	time.tv_sec = 0;
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, &rest);
	child = fork();
	if (!child)
		_exit(7);
	syscall(SYS_wait4, child, &status, 0, NULL);
}

static void call_of_32bit_make(void)
{
#ifdef __x86_64__
	long number = 20; /* of a 32-bit program's getpid */

	__asm__ volatile("int $0x80" : "+a"(number) : "b"(5) : "memory");
#endif
}

static void calls_make(void)
{
	struct timespec time = { 0, 1234 };

	syscall(SYS_getpgid, 0); /* by which the test knows this process */
	files_open();
	sockets_connect();
	programs_execute();
	lists_give();
	descriptors_give();
	sockets_give();
	times_give();
	syscall(SYS_nanosleep, &time, NULL);
	syscall(SYS_nanosleep, NULL, NULL);
	syscall(SYS_nanosleep, NOWHERE, NULL);
	syscall(1000, 77, 0, 0, 0, 0, 0);
	call_of_32bit_make();
}

/* Return: 0 when the command, or the calls, are done. */
static int run(const char *command)
{
	int status = 1;

	if (strcmp(command, "calls"))
		return system(command);
	fflush(stdout);
	if (!fork()) {
		calls_make();
		_exit(0);
	}
	wait(&status);
	return status;
}

int main(int argument_count, char **arguments)
{
	struct lull_kernel_plan plan;
	struct lull_kernel_enable enable;
	struct recorder recorder;

	if (argument_count != 3)
		return 2;
	plan = plan_of(arguments[1], LULL_MODE_DISCARD);
	plan.subbuf_count = 64;
	if (recorder_open(&recorder, &plan))
		return 1;
	enable = recorder_enable(&recorder);
	if (run(arguments[2]) || ioctl(recorder.descriptor, LULL_KERNEL_DISABLE))
		return 1;
	if (recorder_read(&recorder, event_print, &recorder) < 0 ||
	    recorder_peek(&recorder, event_print, &recorder) < 0)
		return 1;
	printf("lost %lu, undescribed %u\n", recorder_lost(&recorder), enable.undescribed_count);
	recorder_close(&recorder);
	return 0;
}
