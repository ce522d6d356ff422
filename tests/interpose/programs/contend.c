/* SPDX-License-Identifier: MIT */
/*
 * Locks that others hold, each for a while: WAITERS threads wait for each kind of lock, and a
 * lock nobody holds is taken a thousand times.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, robust, alone;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int arrived;

static void arrive(void)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
}

/* Is the thread asleep? Its state follows the name in parentheses. */
static int asleep(const char *tid)
{
	char path[64], text[256] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	state = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return state && state[2] == 'S';
}

/* Until all waiters have arrived and sleep, which they do nowhere but in the lock. */
static void let_them_wait(void)
{
	int sleeping = 0;

	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < WAITERS)
		usleep(100);
	while (sleeping < WAITERS) {
		DIR *tasks = opendir("/proc/self/task");
		struct dirent *task;

		usleep(1000);
		sleeping = 0;
		while ((task = readdir(tasks)))
			sleeping += asleep(task->d_name);
		closedir(tasks);
	}
	arrived = 0;
}

static void *wait_mutex(void *lock)
{
	arrive();
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

static void *wait_timed(void *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 20;
	arrive();
	pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(lock);
	return NULL;
}

static void *wait_read(void *lock)
{
	arrive();
	pthread_rwlock_rdlock(lock);
	pthread_rwlock_unlock(lock);
	return NULL;
}

static void *wait_write(void *lock)
{
	arrive();
	pthread_rwlock_wrlock(lock);
	pthread_rwlock_unlock(lock);
	return NULL;
}

static void *wait_sem(void *lock)
{
	arrive();
	sem_wait(lock);
	sem_post(lock);
	return NULL;
}

static int woken;

static void *wait_cond(void *lock)
{
	pthread_mutex_lock(&cond_mutex);
	arrive();
	while (!woken)
		pthread_cond_wait(lock, &cond_mutex);
	pthread_mutex_unlock(&cond_mutex);
	return NULL;
}

static void *wait_barrier(void *lock)
{
	arrive();
	pthread_barrier_wait(lock);
	return NULL;
}

static pthread_t threads[WAITERS];

static void start(void *(*routine)(void *), void *lock)
{
	for (int i = 0; i < WAITERS; i++)
		pthread_create(&threads[i], NULL, routine, lock);
	let_them_wait();
}

static void finish(void)
{
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	printf("mutex=%p robust=%p alone=%p rwlock=%p cond=%p sem=%p barrier=%p\n", (void *)&mutex,
	       (void *)&robust, (void *)&alone, (void *)&rwlock, (void *)&cond, (void *)&sem,
	       (void *)&barrier);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&alone);
		pthread_mutex_unlock(&alone);
	}
	pthread_mutex_lock(&mutex);
	start(wait_mutex, &mutex);
	pthread_mutex_unlock(&mutex);
	finish();
	pthread_mutex_lock(&robust);
	start(wait_timed, &robust);
	pthread_mutex_unlock(&robust);
	finish();
	pthread_rwlock_wrlock(&rwlock);
	start(wait_read, &rwlock);
	pthread_rwlock_unlock(&rwlock);
	finish();
	pthread_rwlock_rdlock(&rwlock);
	start(wait_write, &rwlock);
	pthread_rwlock_unlock(&rwlock);
	finish();
	sem_init(&sem, 0, 0);
	start(wait_sem, &sem);
	sem_post(&sem);
	finish();
	start(wait_cond, &cond);
	pthread_mutex_lock(&cond_mutex);
	woken = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&cond_mutex);
	finish();
	pthread_barrier_init(&barrier, NULL, WAITERS + 1);
	start(wait_barrier, &barrier);
	pthread_barrier_wait(&barrier);
	finish();
	return 0;
}
