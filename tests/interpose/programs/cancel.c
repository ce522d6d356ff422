/* SPDX-License-Identifier: MIT */
/*
 * Threads cancelled while they are blocked in each of several functions: the cleanup handlers
 * run, the locks are as they should be, and joining gives PTHREAD_CANCELED.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready;
static sem_t sem, full;
static int fds[2], sockets[2], epoll;
static pthread_t never;

static void in_read(void)
{
	char byte;

	(void)!read(fds[0], &byte, 1);
}

static void in_recv(void)
{
	char byte;

	recv(sockets[0], &byte, 1, 0);
}

static void in_poll(void)
{
	struct pollfd wanted = { .fd = fds[0], .events = POLLIN };

	poll(&wanted, 1, -1);
}

static void in_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll, &event, 1, -1);
}

static void in_sem(void)
{
	sem_wait(&sem);
}

/* A cancellation point even though it need not wait. */
static void in_sem_full(void)
{
	while (1)
		if (sem_wait(&full) == 0)
			sem_post(&full);
}

static void in_sleep(void)
{
	sleep(100);
}

static void in_nanosleep(void)
{
	struct timespec ages = { 100, 0 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ages, NULL);
}

static void in_join(void)
{
	pthread_join(never, NULL);
}

static void in_cond(void)
{
	while (1)
		pthread_cond_wait(&cond, &mutex);
}

static const struct {
	const char *name;
	void (*block)(void);
} places[] = { { "read", in_read },   { "recv", in_recv },
	       { "poll", in_poll },   { "epoll", in_epoll },
	       { "sem", in_sem },     { "sem full", in_sem_full },
	       { "sleep", in_sleep }, { "nanosleep", in_nanosleep },
	       { "join", in_join },   { "cond", in_cond } };

static void cleanup(void *name)
{
	printf("cleanup after %s, unlocked %d\n", (char *)name, pthread_mutex_unlock(&mutex));
}

static void *blocked(void *place)
{
	size_t i = (size_t)place;

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, (void *)places[i].name);
	pthread_barrier_wait(&ready);
	places[i].block();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *forever(void *unused)
{
	(void)unused;
	while (1)
		pause();
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&ready, NULL, 2);
	sem_init(&sem, 0, 0);
	sem_init(&full, 0, 1);
	epoll = epoll_create1(0);
	if (pipe(fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	pthread_create(&never, NULL, forever, NULL);
	for (size_t round = 0; round < 30; round++)
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			pthread_t thread;
			int locked;
			void *value;

			pthread_create(&thread, NULL, blocked, (void *)i);
			pthread_barrier_wait(&ready);
			if (round % 2)
				usleep(200);
			pthread_cancel(thread);
			pthread_join(thread, &value);
			locked = pthread_mutex_trylock(&mutex);
			pthread_mutex_unlock(&mutex);
			printf("%s %d, mutex %d\n", places[i].name, value == PTHREAD_CANCELED,
			       locked);
		}
	return 0;
}
