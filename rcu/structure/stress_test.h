/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the structures share: checks, seeds, threads, poisoned memory.
 *
 * Each stress test makes a fixed number of operations, fewer under a sanitizer. An entry is
 * overwritten before it is freed. So a thread that still reads a reclaimed entry finds no
 * ENTRY_ALIVE, or follows a link to nowhere and crashes; with -fsanitize=address the sanitizer
 * reports the read. A signal holds threads up for a moment, again and again, wherever it finds
 * them: that widens gaps of a few instructions. Where a fault makes threads wait for each other for
 * ever, an alarm ends the test.
 */
#ifndef LULL_RCU_STRESS_TEST_H
#define LULL_RCU_STRESS_TEST_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../../check/test.h"

#ifdef __has_feature
#define STRESS_FEATURE(name) __has_feature(name)
#else
#define STRESS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || STRESS_FEATURE(thread_sanitizer)
#define STRESS_PART 20
#elif defined(__SANITIZE_ADDRESS__) || STRESS_FEATURE(address_sanitizer)
#define STRESS_PART 4
#else
#define STRESS_PART 1
#endif

/* @count operations, or the part of them that a sanitizer makes in the same time. */
#define STRESS_OPERATIONS(count) ((count) / STRESS_PART)
#define STRESS_LIMIT_S 60 /* every test takes much less */
#define ENTRY_ALIVE 0x600d600du
#define ENTRY_POISON 0x5a

static uint64_t stress_seed;
/* How many faults all threads together found. */
static unsigned long stress_faults;

/* A thread calls this: it counts a fault, and prints the first few. */
static inline void expect(int condition, const char *what)
{
	if (condition)
		return;
	if (__atomic_fetch_add(&stress_faults, 1, __ATOMIC_RELAXED) < 5)
		fprintf(stderr, "fault: %s\n", what);
}

/* Whether threads found nothing since the last call. */
static inline int no_faults(void)
{
	return __atomic_exchange_n(&stress_faults, 0, __ATOMIC_RELAXED) == 0;
}

static inline void on_alarm(int number)
{
	static const char text[] = "fault: threads wait for each other for ever\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

/* The signal's handler: holds up the thread that it interrupts. */
static inline void on_disturb(int number)
{
	const struct timespec moment = { 0, 20000 };
	int saved = errno;

	(void)number;
	nanosleep(&moment, NULL);
	errno = saved;
}

/* PROGRAM [SEED] */
static inline void stress_begin(int argc, char **argv)
{
	signal(SIGALRM, on_alarm);
	signal(SIGUSR2, on_disturb);
	alarm(STRESS_LIMIT_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	stress_seed = argc > 1 ? strtoull(argv[1], NULL, 0) :
				 (uint64_t)getpid() << 20 ^ (uint64_t)(uintptr_t)&argc >> 4;
	printf("seed %llu\n", (unsigned long long)stress_seed);
}

/* splitmix64, to which any seed is as good as another. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline unsigned int random_below(uint64_t *state, unsigned int limit)
{
	return (unsigned int)((random_next(state) >> 32) * limit >> 32);
}

/* A thread of a stress test, with random numbers of its own. */
struct stress_thread {
	pthread_t thread;
	void (*body)(struct stress_thread *self);
	unsigned int index; /* among those of the same call of stress_start() */
	int running;
	uint64_t random;
};

static inline void *stress_thread_main(void *argument)
{
	struct stress_thread *self = (struct stress_thread *)argument;

	self->body(self);
	__atomic_store_n(&self->running, 0, __ATOMIC_RELEASE);
	return NULL;
}

static inline void stress_start(struct stress_thread *threads, unsigned int count,
				void (*body)(struct stress_thread *self))
{
	for (unsigned int i = 0; i < count; i++) {
		threads[i].body = body;
		threads[i].index = i;
		threads[i].running = 1;
		threads[i].random = stress_seed + (uint64_t)(uintptr_t)body * 31 + i * 977;
		if (pthread_create(&threads[i].thread, NULL, stress_thread_main, &threads[i])) {
			fprintf(stderr, "no thread\n");
			exit(2);
		}
	}
}

/* Disturbs threads as long as any of them runs. */
static inline void stress_disturb(struct stress_thread *threads, unsigned int count)
{
	const struct timespec moment = { 0, 10000 };
	uint64_t random = stress_seed;
	unsigned int running = 1;

	while (running) {
		unsigned int victim = random_below(&random, count);

		running = 0;
		for (unsigned int i = 0; i < count; i++)
			running += (unsigned int)__atomic_load_n(&threads[i].running,
								 __ATOMIC_ACQUIRE);
		pthread_kill(threads[victim].thread, SIGUSR2);
		nanosleep(&moment, NULL);
	}
}

static inline void stress_join(struct stress_thread *threads, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i].thread, NULL);
}

/* Whether an entry is not reclaimed. Volatile: each call reads the word again. */
static inline int is_alive(const volatile unsigned int *alive)
{
	return *alive == ENTRY_ALIVE;
}

static inline void *entry_new(size_t bytes)
{
	void *entry = malloc(bytes);

	if (!entry) {
		fprintf(stderr, "no memory\n");
		exit(2);
	}
	return entry;
}

static inline void entry_poison(void *entry, size_t bytes)
{
	memset(entry, ENTRY_POISON, bytes);
	/* Otherwise the compiler drops the stores, because free() follows. */
	__asm__ __volatile__("" ::"r"(entry) : "memory");
}

static inline void entry_free(void *entry, size_t bytes)
{
	entry_poison(entry, bytes);
	free(entry);
}

#endif
