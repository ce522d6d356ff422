/* SPDX-License-Identifier: MIT */
/*
 * Condition variables of the kind that programs linked before 2003 use: 8 bytes at first, a
 * pointer that their functions fill in. The newer functions would take them for their own
 * and scribble on 48 bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct old_cond {
	void *pointer;
	unsigned char beyond[40];
} old_cond;

int old_wait(old_cond *cond, pthread_mutex_t *mutex);
int old_timedwait(old_cond *cond, pthread_mutex_t *mutex, const struct timespec *until);
int old_signal(old_cond *cond);
int old_broadcast(old_cond *cond);
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static old_cond cond;
static pthread_cond_t new_cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *other(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 100; i++) {
		while (turn != 1)
			old_wait(&cond, &mutex);
		turn = 0;
		pthread_cond_signal(&new_cond);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	int (*found)(pthread_cond_t *) = dlsym(RTLD_DEFAULT, "pthread_cond_signal");
	struct timespec past = { 1, 0 };
	pthread_t thread;

	memset(cond.beyond, 0x5a, sizeof(cond.beyond));
	pthread_create(&thread, NULL, other, NULL);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 100; i++) {
		turn = 1;
		old_broadcast(&cond);
		while (turn != 0)
			pthread_cond_wait(&new_cond, &mutex);
	}
	printf("timedwait %d\n", old_timedwait(&cond, &mutex, &past));
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	old_signal(&cond);
	for (size_t i = 0; i < sizeof(cond.beyond); i++)
		if (cond.beyond[i] != 0x5a)
			return printf("byte %zu was overwritten\n", i), 1;
	printf("pointer %d, dlsym finds the newer one %d\n", cond.pointer != NULL,
	       found == pthread_cond_signal);
	return 0;
}
