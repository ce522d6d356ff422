// SPDX-License-Identifier: MIT
/*
 * Threads that come and go, with and without saying so, and signals to those that stay, that end
 * and that fork.
 *
 * A thread that ends reads in a destructor of thread-specific data, which comes behind the
 * library's own in each pass, and in handlers until the C library holds its signals.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "torture.h"

#define BURST 300 /* signals one after the other: one comes in a moment that is short */
#define PLACES 8 /* more than threads that stay; of threads that end, the latest */

static pthread_key_t late;
static int reads_late;
/* Threads that get signals: the kernel's numbers of those that stay, and of those that end. */
static struct {
	int number[PLACES];
	unsigned int count;
} victims[2];
static __thread struct random late_random;
static __thread int late_passes;

/* In the last pass that the C library makes, nothing is left to be done in another. */
static void read_late(void *unused)
{
	int registers = !flavour->automatic;

	if (registers)
		register_thread();
	section(&late_random);
	raise(SIGUSR1);
	counted[COUNT_LATE]++;
	if (registers)
		unregister_thread();
	counts_flush();
	if (++late_passes < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(late, unused);
}

void churn_start(int late_sections)
{
	reads_late = late_sections;
	if (pthread_key_create(&late, read_late))
		exit(2);
}

void signals_may_come(int ends_soon)
{
	unsigned int place = __atomic_fetch_add(&victims[ends_soon].count, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&victims[ends_soon].number[place % PLACES], (int)syscall(SYS_gettid),
			 __ATOMIC_RELAXED);
}

/* A short life. Every third ends without unregistering. */
static void *brief_thread(void *index)
{
	struct random random;
	uint32_t i;

	random_start(&random, (uint32_t)(uintptr_t)index);
	random_start(&late_random, (uint32_t)(uintptr_t)index + 1);
	if (reads_late) {
		pthread_setspecific(late, &late);
		signals_may_come(1);
	}
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

/* A number that is another thread's by now, or none's, does no harm. */
void *signal_thread(void *unused)
{
	struct timespec moment = { 0, 0 };
	struct random random;
	int *victim, number, i;

	random_start(&random, 77);
	while (!stopped()) {
		victim = victims[random_below(&random, 2)].number;
		number = __atomic_load_n(&victim[random_below(&random, PLACES)], __ATOMIC_RELAXED);
		for (i = random_below(&random, 16) ? 1 : BURST; i && number; i--)
			syscall(SYS_tgkill, getpid(), number, SIGUSR1);
		moment.tv_nsec = 1000l * (long)random_below(&random, 200);
		nanosleep(&moment, NULL);
	}
	return unused;
}
