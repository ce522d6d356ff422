/* SPDX-License-Identifier: MIT */
/*
 * Threads replace a shared object and leave the old ones to one thread. That thread takes all that
 * have come, waits for one grace period and frees them: this is call_rcu() by hand.
 *
 * Build: gcc queue.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if each old
 * object was freed once, and in the order in which its thread left it.
 */
#include <lull/rcu/memb.h>
#include <lull/rcu/queue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define UPDATERS 3
#define UPDATES 20000

struct version {
	struct rcu_queue_node node;
	int updater; /* the thread that left it */
	int number; /* how many objects that thread had left before */
};

static struct version *current;
static struct rcu_queue old = RCU_QUEUE_INIT(old);
static int working = UPDATERS;

static struct version *version_new(void)
{
	struct version *version = calloc(1, sizeof(*version));

	if (!version)
		abort();
	return version;
}

static void *update(void *index)
{
	for (int i = 0; i < UPDATES; i++) {
		struct version *version = rcu_xchg_pointer(&current, version_new());

		version->updater = *(int *)index;
		version->number = i;
		rcu_queue_enqueue(&old, &version->node); /* never waits */
	}
	__atomic_sub_fetch(&working, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Frees a batch, and counts objects that came out of order. Return: how many it freed. */
static unsigned long reclaim(int *next, int *wrong)
{
	struct rcu_queue batch = RCU_QUEUE_INIT(batch);
	struct version *version;
	unsigned long freed = 0;

	if (rcu_queue_splice(&batch, &old) == RCU_QUEUE_SPLICED_NOTHING)
		return 0;
	synchronize_rcu(); /* one for the whole batch */
	rcu_queue_for_each_entry(version, &batch, node) {
		*wrong += version->number != next[version->updater]++;
		free(version);
		freed++;
	}
	return freed;
}

int main(void)
{
	int indexes[UPDATERS] = { 0, 1, 2 }, next[UPDATERS] = { 0 }, wrong = 0, more;
	unsigned long freed = 0, batches = 0;
	pthread_t threads[UPDATERS];

	current = version_new();
	for (int i = 0; i < UPDATERS; i++)
		if (pthread_create(&threads[i], NULL, update, &indexes[i]))
			return 1;
	do {
		unsigned long count;

		more = __atomic_load_n(&working, __ATOMIC_ACQUIRE);
		count = reclaim(next, &wrong);
		freed += count;
		batches += count != 0;
	} while (more);
	for (int i = 0; i < UPDATERS; i++)
		pthread_join(threads[i], NULL);
	free(current);
	printf("%lu objects freed in %lu batches, %d wrong\n", freed, batches, wrong);
	return wrong != 0 || freed != UPDATERS * UPDATES;
}
