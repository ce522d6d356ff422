/* SPDX-License-Identifier: MIT */
/* Results and errno of threads, locks and waiting, the detected mistakes above all. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "show.h"

static struct timespec soon(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_nsec += 5000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

static void *lock_and_die(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void *echo(void *value)
{
	return value;
}

static void *leave(void *value)
{
	pthread_exit(value);
}

static int echo_c11(void *value)
{
	return (int)(intptr_t)value;
}

static void run(void *(*routine)(void *), void *argument)
{
	pthread_t thread;
	void *value = NULL;

	SHOW(pthread_create(&thread, NULL, routine, argument));
	SHOW(pthread_join(thread, &value));
	SHOW(value == argument);
}

static pthread_mutex_t mutex_of(int type, int robust)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	if (robust)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attributes);
	return mutex;
}

static void mutexes(void)
{
	static pthread_mutex_t checked, recursive, robust, normal = PTHREAD_MUTEX_INITIALIZER;
	struct timespec at = soon(CLOCK_REALTIME), bad = { 0, -1 };

	checked = mutex_of(PTHREAD_MUTEX_ERRORCHECK, 0);
	recursive = mutex_of(PTHREAD_MUTEX_RECURSIVE, 0);
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_mutex_timedlock(&checked, &at));
	SHOW(pthread_mutex_unlock(&checked));
	SHOW(pthread_mutex_unlock(&checked));
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_timedlock(&normal, &at));
	SHOW(pthread_mutex_trylock(&normal));
	SHOW(pthread_mutex_timedlock(&normal, &at));
	SHOW(pthread_mutex_timedlock(&normal, &bad));
	at = soon(CLOCK_MONOTONIC);
	SHOW(pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &at));
	SHOW(pthread_mutex_unlock(&normal));
	robust = mutex_of(PTHREAD_MUTEX_NORMAL, 1);
	run(lock_and_die, &robust);
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_consistent(&robust));
	SHOW(pthread_mutex_unlock(&robust));
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_unlock(&robust));
	run(lock_and_die, &robust);
	SHOW(pthread_mutex_timedlock(&robust, &at));
	SHOW(pthread_mutex_unlock(&robust));
	SHOW(pthread_mutex_lock(&robust));
}

/* Each kind of mutex there is: free, held by the caller, and with times and clocks of all kinds. */
static void mutex_kinds(void)
{
	struct timespec past = { 1, 0 }, bad = { 1, -5 }, late = { 1, 2000000000 };

	for (int kind = 0; kind < 3 * 4 * 2; kind++) {
		int protocol = kind / 8, type = kind / 2 % 4, robust = kind % 2;
		pthread_mutexattr_t attributes;
		pthread_mutex_t mutex;

		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_settype(&attributes, type);
		pthread_mutexattr_setprotocol(&attributes, protocol);
		pthread_mutexattr_setrobust(&attributes, robust);
		printf("protocol %d type %d robust %d\n", protocol, type, robust);
		if (pthread_mutex_init(&mutex, &attributes))
			continue;
		SHOW(pthread_mutex_timedlock(&mutex, &bad));
		SHOW(pthread_mutex_timedlock(&mutex, &past));
		SHOW(pthread_mutex_unlock(&mutex));
		SHOW(pthread_mutex_unlock(&mutex));
		SHOW(pthread_mutex_clocklock(&mutex, 77, &past));
		SHOW(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &late));
		SHOW(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
		SHOW(pthread_mutex_unlock(&mutex));
		SHOW(pthread_mutex_unlock(&mutex));
		SHOW(pthread_mutex_lock(&mutex));
		SHOW(pthread_mutex_trylock(&mutex));
		SHOW(pthread_mutex_timedlock(&mutex, &past));
		SHOW(pthread_mutex_destroy(&mutex));
	}
}

/* A lock of each kind that is free, read by the caller, and written. */
static void rwlock_times(void)
{
	struct timespec past = { 1, 0 }, bad = { 1, -5 }, late = { 1, 2000000000 };

	for (int kind = 0; kind < 3 * 3; kind++) {
		pthread_rwlockattr_t attributes;
		pthread_rwlock_t rwlock;

		pthread_rwlockattr_init(&attributes);
		pthread_rwlockattr_setkind_np(&attributes, kind / 3);
		pthread_rwlock_init(&rwlock, &attributes);
		printf("kind %d held %d\n", kind / 3, kind % 3);
		if (kind % 3 == 1)
			pthread_rwlock_rdlock(&rwlock);
		else if (kind % 3 == 2)
			pthread_rwlock_wrlock(&rwlock);
		SHOW(pthread_rwlock_timedrdlock(&rwlock, &bad));
		SHOW(pthread_rwlock_timedwrlock(&rwlock, &bad));
		SHOW(pthread_rwlock_timedrdlock(&rwlock, &late));
		SHOW(pthread_rwlock_clockrdlock(&rwlock, 77, &past));
		SHOW(pthread_rwlock_clockwrlock(&rwlock, CLOCK_BOOTTIME, &past));
		SHOW(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &bad));
		SHOW(pthread_rwlock_timedwrlock(&rwlock, &past));
		SHOW(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past));
		SHOW(pthread_rwlock_trywrlock(&rwlock));
	}
}

static void rwlocks(void)
{
	static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec at = soon(CLOCK_REALTIME);

	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_timedwrlock(&rwlock, &at));
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_wrlock(&rwlock));
	SHOW(pthread_rwlock_wrlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_timedrdlock(&rwlock, &at));
	SHOW(pthread_rwlock_unlock(&rwlock));
}

static void conditions(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec at = soon(CLOCK_REALTIME), bad = { 0, 2000000000 };
	pthread_barrier_t barrier;
	sem_t sem;

	SHOW(pthread_cond_signal(&cond));
	SHOW(pthread_cond_broadcast(&cond));
	SHOW(pthread_mutex_lock(&mutex));
	SHOW(pthread_cond_timedwait(&cond, &mutex, &at));
	SHOW(pthread_cond_timedwait(&cond, &mutex, &bad));
	at = soon(CLOCK_MONOTONIC);
	SHOW(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &at));
	SHOW(pthread_mutex_unlock(&mutex));
	pthread_barrier_init(&barrier, NULL, 1);
	SHOW(pthread_barrier_wait(&barrier));
	SHOW(sem_init(&sem, 0, 1));
	SHOW(sem_wait(&sem));
	at = soon(CLOCK_REALTIME);
	SHOW(sem_timedwait(&sem, &at));
	SHOW(sem_timedwait(&sem, &bad));
	SHOW(sem_post(&sem));
	SHOW(sem_timedwait(&sem, &bad));
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void sleeping(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { .it_value = { 0, 20000 } };
	struct timespec wanted = { 0, 1000 }, bad = { 0, -1 }, ages = { 100, 0 }, left;

	sigaction(SIGALRM, &action, NULL);
	SHOW(usleep(1));
	SHOW(sleep(0));
	SHOW(nanosleep(&wanted, NULL));
	SHOW(nanosleep(&bad, NULL));
	SHOW(nanosleep(bad_pointer(), NULL));
	SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &wanted, NULL));
	SHOW(clock_nanosleep(12345, 0, &wanted, NULL));
	setitimer(ITIMER_REAL, &timer, NULL);
	SHOW(nanosleep(&ages, &left));
	SHOW(left.tv_sec);
	setitimer(ITIMER_REAL, &timer, NULL);
	SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &ages, &left));
	setitimer(ITIMER_REAL, &timer, NULL);
	SHOW(sleep(100) > 90);
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	thrd_t c11;
	char name[16];
	int value;

	run(echo, name);
	run(leave, name);
	SHOW(pthread_join(pthread_self(), NULL));
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	SHOW(pthread_create(&thread, &attributes, echo, NULL));
	SHOW(thrd_create(&c11, echo_c11, (void *)7));
	SHOW(thrd_join(c11, &value));
	SHOW(value);
	SHOW(pthread_setname_np(pthread_self(), "a name much too long"));
	SHOW(pthread_setname_np(pthread_self(), "short"));
	SHOW(prctl(PR_GET_NAME, name));
	printf("%s\n", name);
	SHOW(prctl(PR_SET_NAME, "other"));
	SHOW(prctl(PR_SET_NAME, bad_pointer()));
	SHOW(prctl(-1, 1, 2, 3, 4));
	mutexes();
	mutex_kinds();
	rwlocks();
	rwlock_times();
	conditions();
	sleeping();
	fflush(stdout);
	pthread_exit(NULL);
}
