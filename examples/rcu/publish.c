/* SPDX-License-Identifier: MIT */
/*
 * A configuration that many threads read and one thread replaces.
 *
 * Build: gcc publish.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if no reader
 * saw a configuration that was half old, half new, or freed.
 */
#include <lull/rcu/memb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define READERS 2
#define UPDATES 2000

struct configuration {
	int width;
	int height; /* always twice the width */
};

static struct configuration *current;
static pthread_barrier_t begun;
static int stop;

static void *reader(void *wrong)
{
	unsigned long reads = 0;

	rcu_register_thread();
	pthread_barrier_wait(&begun);
	do {
		const struct configuration *seen;

		rcu_read_lock();
		seen = rcu_dereference(current); /* stays valid until the unlock */
		if (seen->height != 2 * seen->width)
			__atomic_add_fetch((int *)wrong, 1, __ATOMIC_RELAXED);
		rcu_read_unlock();
		reads++;
	} while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
	rcu_unregister_thread();
	return (void *)reads;
}

static struct configuration *make(int width)
{
	struct configuration *made = malloc(sizeof(*made));

	if (!made)
		abort();
	made->width = width;
	made->height = 2 * width;
	return made;
}

static void update(int width)
{
	struct configuration *old = rcu_xchg_pointer(&current, make(width));

	synchronize_rcu(); /* all readers of the old one have left */
	old->height = old->width = 0; /* a reader that still held it would notice */
	free(old);
}

int main(void)
{
	pthread_t threads[READERS];
	unsigned long reads = 0;
	int wrong = 0, i;

	current = make(1);
	pthread_barrier_init(&begun, NULL, READERS + 1);
	for (i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader, &wrong))
			return 1;
	pthread_barrier_wait(&begun);
	for (i = 2; i < UPDATES + 2; i++)
		update(i);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++) {
		void *count;

		pthread_join(threads[i], &count);
		reads += (unsigned long)count;
	}
	free(current);
	printf("%d updates, %lu reads, %d wrong\n", UPDATES, reads, wrong);
	return wrong != 0 || reads == 0;
}
