/* SPDX-License-Identifier: MIT */
/*
 * Flipping sites while threads run through them. One thread blocks every signal, as worker
 * threads do. After each change, what a thread sees must be the new form; during it, either.
 *
 * Usage: flips [COUNT [emulated]]. An emulator drops what it translated when it gets to it, not
 * when membarrier() returns: there, the new form may be late.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <lull/trace.h>
#include "harness.h"

#define THREADS 3
#define CALLS_LEAST 1000u
#define FLIPS_MOST 100000

/* Even: stable, and bit 1 says enabled. Odd: being changed. */
static uint32_t epoch;
static uint32_t finished;
static uint64_t wrong_results, wrong_forms, checked_calls;
static pthread_barrier_t started;

/* One copy: the test flips one site. */
#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif

ALONE static uint64_t work(uint64_t value, uint32_t *evaluated)
{
	value = value * 3 + 1;
	lull_event("flips:work", lull_u64(value, (*evaluated += 1, value)));
	return value ^ 0x55;
}

static void *run(void *blocks_signals)
{
	uint64_t value = 1;
	sigset_t all;

	if (blocks_signals) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	}
	pthread_barrier_wait(&started);
	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
		uint32_t evaluated = 0;
		uint32_t before = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST);
		uint64_t result = work(value, &evaluated);
		uint32_t after = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST);

		if (result != ((value * 3 + 1) ^ 0x55) || evaluated > 1)
			__atomic_add_fetch(&wrong_results, 1, __ATOMIC_RELAXED);
		if (before == after && !(before & 1)) {
			__atomic_add_fetch(&checked_calls, 1, __ATOMIC_RELAXED);
			if (evaluated != (before >> 1 & 1))
				__atomic_add_fetch(&wrong_forms, 1, __ATOMIC_RELAXED);
		}
		value++;
	}
	return NULL;
}

static uint64_t checked(void)
{
	return __atomic_load_n(&checked_calls, __ATOMIC_RELAXED);
}

int main(int count, char **arguments)
{
	int flips = count > 1 ? atoi(arguments[1]) : 2000;
	pthread_t threads[THREADS];
	uintptr_t code, target;
	uint32_t evaluated = 0, own_wrong = 0, failures = 0;

	sites_scan();
	sites_set("flips:*", 1); /* the mask stays set: the code alone decides */
	if (!site_address("flips:work", &code, &target))
		return 1;
	failures += !!site_set(code, target, 0);
	pthread_barrier_init(&started, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, i ? NULL : &epoch))
			return 1;
	pthread_barrier_wait(&started);
	/* On a busy machine, go on until the threads have come in between. */
	for (int i = 0; i < flips || (i < FLIPS_MOST && checked() < CALLS_LEAST); i++) {
		int enable = !(i & 1);

		__atomic_add_fetch(&epoch, 1, __ATOMIC_SEQ_CST);
		failures += !!site_set(code, target, enable);
		__atomic_add_fetch(&epoch, 1, __ATOMIC_SEQ_CST);
		evaluated = 0;
		work(7, &evaluated);
		own_wrong += evaluated != (uint32_t)enable;
		if (i % 16 == 0)
			sched_yield();
	}
	__atomic_store_n(&finished, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("# %llu calls checked\n", (unsigned long long)checked());
	printf("# wrong results %llu, wrong forms %llu, own %u\n",
	       (unsigned long long)wrong_results, (unsigned long long)wrong_forms, own_wrong);
	CHECK("every_flip_under_running_threads_succeeds", failures == 0);
	CHECK("no_thread_computes_a_wrong_result", wrong_results == 0);
	if (count < 3)
		CHECK("after_a_flip_every_thread_runs_the_new_form", !wrong_forms && !own_wrong);
	CHECK("threads_ran_meanwhile", checked() >= CALLS_LEAST);
	return 0;
}
