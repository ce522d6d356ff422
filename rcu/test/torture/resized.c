// SPDX-License-Identifier: MIT
/*
 * The form in which a table is resized without rest, beside lookups, updates and forks.
 *
 * The sizes lie to both sides of those at which buckets move from one array to another. Walks rest
 * at a node, from which they go on to a bucket of the old array, until the buckets have moved; a
 * signal's handler holds a lookup up wherever it finds it. Memory that was given back is
 * overwritten or gone, so that a reader in an array that was freed too early crashes or misses a
 * key.
 * Design: docs/design/42-hash.md. Paper: T 6.2.5.
 */
#include <sched.h>
#include <signal.h>
#include <time.h>
#include "torture.h"

/* How long a reader waits for the buckets to move, and then for the old array to be gone. */
#define HOLD_NS 100000l
#define HOLD_MORE_NS 20000l

#define FORK_PAUSE_MS 10

static pthread_t reader[RESIZED_READERS];

static const unsigned long *array(void)
{
	return __atomic_load_n(&torture->table->buckets, __ATOMIC_RELAXED);
}

static void wait_while(const unsigned long *before, long limit_ns)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (array() == before &&
		 (now.tv_sec - begin.tv_sec) * 1000000000l + now.tv_nsec - begin.tv_nsec <
			 limit_ns);
}

static void linger(void)
{
	const unsigned long *before = array();

	wait_while(before, HOLD_NS);
	if (array() != before)
		wait_while(array(), HOLD_MORE_NS);
}

static void hold_up(int number)
{
	(void)number;
	linger();
}

static void *looking_reader(void *index)
{
	struct random random;
	uint32_t i;

	random_start(&random, (uint32_t)(uintptr_t)index);
	register_thread();
	while (!stopped()) {
		flavour->read_lock();
		for (i = random_below(&random, 8); i; i--)
			table_look_lasting(&random);
		if (!random_below(&random, 64))
			table_walk(&random, linger);
		flavour->read_unlock();
		if (flavour->quiescent)
			flavour->quiescent_state();
		counted[COUNT_SECTIONS]++;
	}
	unregister_thread();
	counts_flush();
	return NULL;
}

static void *resizer(void *index)
{
	static const unsigned long sizes[] = { 32, 64, 32, 64, 32, 512, 64, 4096 };
	struct random random;

	random_start(&random, (uint32_t)(uintptr_t)index);
	while (!stopped()) {
		table_resize_to(sizes[random_below(&random, sizeof(sizes) / sizeof(sizes[0]))]);
		__atomic_fetch_add(&torture->updates, 1, __ATOMIC_RELAXED);
		flavour->synchronize();
		counted[COUNT_SYNCHRONIZED]++;
	}
	counts_flush();
	return NULL;
}

static void *sender(void *unused)
{
	struct timespec moment = { 0, 0 };
	struct random random;

	random_start(&random, 79);
	while (!stopped()) {
		moment.tv_nsec = 1000l * (long)random_below(&random, 200);
		pthread_kill(reader[random_below(&random, RESIZED_READERS)], SIGUSR1);
		nanosleep(&moment, NULL);
	}
	return unused;
}

int resized_start(pthread_t *thread, int forks)
{
	struct sigaction action = { .sa_handler = hold_up, .sa_flags = SA_RESTART };
	int i;

	fork_pause_ms = FORK_PAUSE_MS;
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < RESIZED_READERS; i++)
		reader[i] = thread[i] = thread_start(looking_reader, (void *)(uintptr_t)(i + 1));
	thread[i++] = thread_start(resizer, (void *)200);
	thread[i++] = thread_start(updater_thread, (void *)201);
	if (forks)
		thread[i++] = thread_start(fork_thread, (void *)400);
	thread[i++] = thread_start(sender, NULL);
	return i;
}
