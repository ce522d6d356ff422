/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate, pass blocks on and free each other's; checks every byte, and the
 * alignment and usable size of every block.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 5000
#define SHARED 64

static unsigned char *shared[SHARED];
static int mistakes;

static void mistake(void)
{
	__atomic_add_fetch(&mistakes, 1, __ATOMIC_RELAXED);
}

static void *allocate(unsigned int kind, size_t bytes)
{
	void *block = NULL;

	switch (kind % 6) {
	case 0:
		return malloc(bytes);
	case 1:
		block = calloc(1, bytes);
		for (size_t i = 0; i < bytes; i++)
			if (((unsigned char *)block)[i])
				mistake();
		return block;
	case 2:
		if (posix_memalign(&block, 256, bytes) || (uintptr_t)block % 256)
			mistake();
		return block;
	case 3:
		block = aligned_alloc(64, (bytes + 63) & ~63ul);
		if ((uintptr_t)block % 64)
			mistake();
		return block;
	case 4:
		return realloc(memalign(32, 8), bytes);
	default:
		return reallocarray(NULL, bytes, 1);
	}
}

static void *work(void *seed)
{
	unsigned int random = (unsigned int)(uintptr_t)seed;

	for (int i = 0; i < ROUNDS; i++) {
		size_t bytes = 16 + (random = random * 1103515245 + 12345) / 65536 % 2000;
		unsigned char *block = allocate(random, bytes);

		if (!block || malloc_usable_size(block) < bytes) {
			mistake();
			continue;
		}
		memset(block, (int)bytes, bytes);
		memcpy(block, &bytes, sizeof(bytes));
		block = __atomic_exchange_n(&shared[random % SHARED], block, __ATOMIC_ACQ_REL);
		if (!block)
			continue;
		memcpy(&bytes, block, sizeof(bytes));
		block = realloc(block, bytes + 8);
		for (size_t at = sizeof(bytes); at < bytes; at++)
			if (block[at] != (unsigned char)bytes)
				mistake();
		free(block);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	int status = 0;

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	if (fork() == 0) {
		work((void *)99);
		_exit(mistakes != 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	wait(&status);
	free(NULL);
	printf("%d mistakes, status %d, huge %p\n", mistakes, status, malloc(SIZE_MAX / 2));
	return 0;
}
