/* SPDX-License-Identifier: MIT */
/* What the programs of rough cases share: starting threads, waiting, the limit of a case. */
#ifndef LULL_RCU_ROUGH_H
#define LULL_RCU_ROUGH_H

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define HANG_LIMIT_S 30

static inline void await(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static inline pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument)) {
		fprintf(stderr, "no thread can be started\n");
		exit(2);
	}
	return thread;
}

#endif
