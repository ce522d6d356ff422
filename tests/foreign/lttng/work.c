/* SPDX-License-Identifier: MIT */
/*
 * What a guest does while two tracers record it: work whose answers are known, and which
 * tests/foreign/lttng/run compares. Threads have names, by which a trace tells what they did.
 *
 *	work hold		holds descriptors until there is /tmp/go, then runs `work held`
 *	work held		holds those that stayed open, until it is killed
 *	work all FILE		everything else
 *	work leave		ends with status 7
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAKES 20
#define PIPE_ITEMS 40
#define PIPE_BYTES 100
#define BLOCKS 64
#define BLOCK_BYTES 4096
#define BURN_NS 200000000LL
#define NAPS 5
#define NAP_NS 30000000L
#define MESSAGES 25
#define MESSAGE_BYTES 1000
#define PORT 7171
#define KEPT_FD 9
#define MARKED_FD 10
#define LEFT_STATUS 7

static int ends[2];
static int word;
static const char *file_name;

static void check(int is_fine, const char *what)
{
	if (is_fine)
		return;
	perror(what);
	exit(1);
}

static void nap(long ns)
{
	struct timespec duration = { .tv_nsec = ns };

	nanosleep(&duration, NULL);
}

static void called(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

static void *futex_sleeper(void *unused)
{
	called("futex-sleeper");
	for (int seen = 0; seen < WAKES; seen++)
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) <= seen)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	return unused;
}

static void *futex_waker(void *unused)
{
	called("futex-waker");
	for (int i = 0; i < WAKES; i++) {
		nap(3000000);
		__atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return unused;
}

static void *pipe_reader(void *unused)
{
	char item[PIPE_BYTES];

	called("pipe-reader");
	for (int i = 0; i < PIPE_ITEMS; i++)
		check(read(ends[0], item, sizeof(item)) == sizeof(item), "read from the pipe");
	return unused;
}

static void *pipe_writer(void *unused)
{
	char item[PIPE_BYTES] = "";

	called("pipe-writer");
	for (int i = 0; i < PIPE_ITEMS; i++) {
		nap(2000000);
		check(write(ends[1], item, sizeof(item)) == sizeof(item), "write to the pipe");
	}
	return unused;
}

static void *file_worker(void *unused)
{
	static char block[BLOCK_BYTES];
	int file;

	called("file-worker");
	file = open(file_name, O_CREAT | O_TRUNC | O_RDWR, 0600);
	check(file >= 0, file_name);
	for (int i = 0; i < BLOCKS; i++)
		check(write(file, block, sizeof(block)) == sizeof(block), "write to the file");
	check(!fsync(file) && lseek(file, 0, SEEK_SET) == 0, "fsync");
	for (int i = 0; i < BLOCKS; i++)
		check(read(file, block, sizeof(block)) == sizeof(block), "read from the file");
	close(file);
	return unused;
}

/* Two of them share CPU 1: each waits for it about as long as the other one is on it. */
static void *burner(void *name)
{
	struct timespec now;
	cpu_set_t cpus;

	called(name);
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	check(!sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity");
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000000000LL + now.tv_nsec < BURN_NS);
	return NULL;
}

static void *napper(void *unused)
{
	called("napper");
	for (int i = 0; i < NAPS; i++)
		nap(NAP_NS);
	return unused;
}

static struct sockaddr_in address = { .sin_family = AF_INET };

static void serve(int listener)
{
	static char message[MESSAGE_BYTES];
	int from = accept(listener, NULL, NULL);

	called("server");
	for (int i = 0; i < MESSAGES; i++) {
		check(recv(from, message, sizeof(message), MSG_WAITALL) == sizeof(message), "recv");
		check(send(from, message, 1, 0) == 1, "answer");
	}
	_exit(0);
}

static void ask(void)
{
	static char message[MESSAGE_BYTES];
	int to = socket(AF_INET, SOCK_STREAM, 0);

	called("client");
	check(!connect(to, (struct sockaddr *)&address, sizeof(address)), "connect");
	for (int i = 0; i < MESSAGES; i++) {
		nap(1000000);
		check(send(to, message, sizeof(message), 0) == sizeof(message), "send");
		check(recv(to, message, 1, 0) == 1, "the answer");
	}
	_exit(0);
}

static void do_all(const char *self)
{
	void *(*const work[])(void *) = { futex_sleeper, futex_waker, pipe_reader, pipe_writer,
					  file_worker,	 burner,      burner,	   napper };
	void *const names[] = { NULL, NULL, NULL, NULL, NULL, "burner-a", "burner-b", NULL };
	pthread_t threads[8];
	int status, listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_port = htons(PORT);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(!bind(listener, (struct sockaddr *)&address, sizeof(address)), "bind");
	check(!listen(listener, 1) && !pipe(ends), "listen");
	if (!fork())
		serve(listener);
	if (!fork())
		ask();
	if (!fork()) {
		execl(self, "work", "leave", NULL);
		_exit(1);
	}
	for (int i = 0; i < 8; i++)
		check(!pthread_create(&threads[i], NULL, work[i], names[i]), "pthread_create");
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		check(wait(&status) > 0, "wait");
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";

	if (!strcmp(what, "all") && count > 2) {
		file_name = arguments[2];
		do_all(arguments[0]);
	} else if (!strcmp(what, "hold")) {
		int file = open("/etc/passwd", O_RDONLY);

		check(dup3(file, MARKED_FD, O_CLOEXEC) == MARKED_FD, "dup3");
		check(dup2(file, KEPT_FD) == KEPT_FD, "dup2");
		close(file);
		while (access("/tmp/go", F_OK))
			nap(50000000);
		execl(arguments[0], "work", "held", NULL);
		return 1;
	} else if (!strcmp(what, "held")) {
		for (;;)
			pause();
	} else if (!strcmp(what, "leave")) {
		return LEFT_STATUS;
	} else {
		fputs("work hold | held | all FILE | leave\n", stderr);
		return 2;
	}
	return 0;
}
