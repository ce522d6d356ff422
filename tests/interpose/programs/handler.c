/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers that write, over a main program that reads, writes and allocates: every
 * byte arrives, whatever was interrupted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define HANDLED_ENOUGH 500

static int fds[2];
static volatile int handled;

static void on_signal(int signal)
{
	int saved = errno;

	(void)signal;
	if (write(fds[1], "s", 1) == 1)
		handled++;
	errno = saved;
}

static void *drain(void *count)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(fds[0], bytes, sizeof(bytes))) > 0)
		*(long *)count += got;
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	long drained = 0, written = 0, mistakes = 0;
	sigset_t set;
	pthread_t thread;

	if (pipe(fds))
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, drain, &drained);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (handled < HANDLED_ENOUGH) {
		errno = 0;
		free(malloc(100));
		if (read(-1, fds, 1) != -1 || errno != EBADF)
			mistakes++;
		if (write(fds[1], "m", 1) == 1)
			written++;
	}
	timer = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &timer, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	close(fds[1]);
	pthread_join(thread, NULL);
	printf("%s, %ld mistakes\n", drained == written + handled ? "all arrived" : "some missing",
	       mistakes);
	return 0;
}
