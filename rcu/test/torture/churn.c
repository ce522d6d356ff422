// SPDX-License-Identifier: MIT
/*
 * Threads that come and go, with and without saying so, and signals to those that stay.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include "torture.h"

#define AT_ONCE 3

/* A short life. Every third ends without unregistering. */
static void *brief_thread(void *index)
{
	struct random random;
	uint32_t i;

	random_start(&random, (uint32_t)(uintptr_t)index);
	register_thread();
	for (i = random_below(&random, 20); i; i--)
		section(&random);
	if (random_below(&random, 3))
		unregister_thread();
	counts_flush();
	return NULL;
}

void *churn_thread(void *index)
{
	pthread_t thread[AT_ONCE];
	struct random random;
	uint32_t i, started;

	random_start(&random, (uint32_t)(uintptr_t)index);
	while (!stopped()) {
		for (started = 0; started < AT_ONCE; started++)
			if (pthread_create(&thread[started], NULL, brief_thread,
					   (void *)(uintptr_t)random_below(&random, 1u << 30)))
				break;
		for (i = 0; i < started; i++)
			pthread_join(thread[i], NULL);
		counted[COUNT_STARTED] += started;
	}
	counts_flush();
	return NULL;
}

void *signal_thread(void *threads)
{
	const pthread_t *thread = threads;
	struct timespec moment = { 0, 0 };
	struct random random;

	random_start(&random, 77);
	while (!stopped()) {
		pthread_kill(thread[random_below(&random, READERS + UPDATERS)], SIGUSR1);
		moment.tv_nsec = 1000l * (long)random_below(&random, 200);
		nanosleep(&moment, NULL);
	}
	return NULL;
}
