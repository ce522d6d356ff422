// SPDX-License-Identifier: MIT
/*
 * The tight form: readers and an updater that do as little as they can, and no delay in the
 * library.
 *
 * What widens a gap of a few instructions is what programs do: a signal's handler holds a reader up
 * wherever it finds it, until another grace period has begun; stores that miss every cache come
 * before a section, so that the store of its word waits behind them in the processor.
 * Paper: T 6.4.3 (steps 1 and 4), 6.4.4.
 */
#include <sched.h>
#include <signal.h>
#include <time.h>
#include "torture.h"

#define USED 16u /* elements, one after the other */
#define LINES (1u << 18)
#define STORES 8u
#define LOOKS 100 /* of a handler, at the counter */
#define POISON 0xdeadul

static struct {
	unsigned long content __attribute__((aligned(64)));
} used[USED], *shared = used;
static unsigned char lines[LINES][64];
static pthread_t reader[TIGHT_READERS];

static void hold_up(int number)
{
	unsigned long counter = __atomic_load_n(&flavour->domain->counter, __ATOMIC_RELAXED);
	int i;

	(void)number;
	for (i = 0; i < LOOKS; i++) {
		if (__atomic_load_n(&flavour->domain->counter, __ATOMIC_RELAXED) != counter)
			break;
		sched_yield();
	}
}

static void look(struct random *random)
{
	const volatile unsigned long *content = &rcu_dereference(shared)->content;
	uint32_t i;

	if (*content != CONTENT)
		fault_found(FAULT_CONTENT);
	for (i = random_below(random, random_below(random, 8) ? 200 : 8000); i; i--)
		__asm__ __volatile__("" ::: "memory");
	if (*content != CONTENT)
		fault_found(FAULT_CONTENT);
}

static void *tight_reader(void *index)
{
	struct random random;
	uint32_t i;

	random_start(&random, (uint32_t)(uintptr_t)index);
	register_thread();
	while (!stopped()) {
		for (i = random_below(&random, STORES); i; i--)
			__atomic_store_n(lines[random_below(&random, LINES)], 1, __ATOMIC_RELAXED);
		flavour->read_lock();
		look(&random);
		flavour->read_unlock();
		if (flavour->quiescent)
			flavour->quiescent_state();
		counted[COUNT_SECTIONS]++;
	}
	unregister_thread();
	counts_flush();
	return NULL;
}

static void *tight_updater(void *unused)
{
	unsigned int next = 0, old;

	while (!stopped()) {
		old = next;
		next = (next + 1) % USED;
		used[next].content = CONTENT;
		(void)rcu_xchg_pointer(&shared, &used[next]);
		if (next % 4)
			flavour->expedited();
		else
			flavour->synchronize();
		used[old].content = POISON;
		__atomic_fetch_add(&torture->updates, 1, __ATOMIC_RELAXED);
		counted[COUNT_SYNCHRONIZED]++;
	}
	counts_flush();
	return unused;
}

static void *tight_sender(void *unused)
{
	struct timespec moment = { .tv_nsec = 10000 };
	struct random random;

	random_start(&random, 78);
	while (!stopped()) {
		pthread_kill(reader[random_below(&random, TIGHT_READERS)], SIGUSR1);
		nanosleep(&moment, NULL);
	}
	return unused;
}

int tight_start(pthread_t *thread)
{
	struct sigaction action = { .sa_handler = hold_up, .sa_flags = SA_RESTART };
	int i;

	used[0].content = CONTENT;
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < TIGHT_READERS; i++)
		reader[i] = thread[i] = thread_start(tight_reader, (void *)(uintptr_t)(i + 1));
	thread[i++] = thread_start(tight_updater, NULL);
	thread[i++] = thread_start(tight_sender, NULL);
	return i;
}
