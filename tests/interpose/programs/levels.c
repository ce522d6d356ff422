/* SPDX-License-Identifier: MIT */
/* A tree of forked processes, DEPTH levels of two children, each with threads of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH 4

static void *add(void *sum)
{
	__atomic_add_fetch((int *)sum, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Return: the number of processes in the tree below and with this one. */
static int tree(int depth)
{
	pthread_t threads[2];
	int count = 0, status;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add, &count);
	for (int i = 0; i < 2 && depth; i++)
		if (fork() == 0)
			_exit(tree(depth - 1));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	count = count == 2 ? 1 : 1000;
	while (wait(&status) > 0)
		count += WEXITSTATUS(status);
	return count;
}

int main(void)
{
	printf("%d processes\n", tree(DEPTH));
	return 0;
}
