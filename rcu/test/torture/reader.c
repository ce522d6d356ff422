// SPDX-License-Identifier: MIT
/*
 * Readers: sections of random length and depth, on random CPUs, interrupted by handlers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include "lull/rcu/flavour/qsbr.h"
#include "torture.h"

#define DEPTH_MAX 4
#define LINES (1u << 20)
#define STORES 40

__thread unsigned long counted[COUNTS];
/* Between registration and its end. */
static __thread volatile sig_atomic_t registered;
static __thread struct random handler_random;

uint32_t random_below(struct random *random, uint32_t limit)
{
	uint64_t x = random->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	random->state = x;
	return (uint32_t)(((x >> 32) * limit) >> 32);
}

void counts_flush(void)
{
	int i;

	for (i = 0; i < COUNTS; i++) {
		__atomic_fetch_add(&torture->count[i], counted[i], __ATOMIC_RELAXED);
		counted[i] = 0;
	}
}

/* Mostly nothing, sometimes a few hundred cycles, rarely another thread's turn or a sleep. */
void delay(struct random *random, int may_sleep)
{
	struct timespec moment = { 0, 0 };
	uint32_t i, kind = random_below(random, 1000);

	if (kind < 700)
		return;
	if (kind < 960 || !may_sleep) {
		for (i = random_below(random, 300); i; i--)
			__asm__ __volatile__("" ::: "memory");
	} else if (kind < 998) {
		sched_yield();
	} else {
		moment.tv_nsec = 1000l * (long)random_below(random, 500);
		nanosleep(&moment, NULL);
	}
}

#ifdef TORTURE_DELAYED
/* Until another grace period has begun, or a while. */
static void delay_long(void)
{
	unsigned long counter = __atomic_load_n(&flavour->domain->counter, __ATOMIC_RELAXED);
	int i;

	for (i = 0; i < 50; i++) {
		if (__atomic_load_n(&flavour->domain->counter, __ATOMIC_RELAXED) != counter)
			break;
		sched_yield();
	}
}

/* Stores that miss every cache, so that the next one waits behind them in the processor. */
static void delay_store(struct random *random)
{
	static unsigned char lines[LINES][64];
	int i;

	for (i = 0; i < STORES; i++)
		__atomic_store_n(lines[random_below(random, LINES)], 1, __ATOMIC_RELAXED);
}

/* In every accessor that delayed/lull/rcu/memory.h has, before it stores. */
void torture_delay(const char *function)
{
	static __thread struct random random;

	if (strncmp(function, "rcu_reader_enter", 16))
		return;
	if (!random.state)
		random_start(&random, (uint32_t)(uintptr_t)&random);
	if (!random_below(&random, 64))
		delay_long();
	else if (random_below(&random, 2))
		delay_store(&random);
}
#endif

static void look(struct random *random, int depth)
{
	struct element *element =
		torture->table && random_below(random, 2) ? table_look(random) : NULL;
	unsigned long age;

	if (!element)
		element = rcu_dereference(torture->shared[random_below(random, SHARED)]);
	delay(random, depth >= 0);
	if (element->content != CONTENT)
		fault_found(FAULT_CONTENT);
	if (depth >= 0 && depth < DEPTH_MAX && !random_below(random, 8)) {
		flavour->read_lock();
		look(random, depth + 1);
		flavour->read_unlock();
		counted[COUNT_NESTED]++;
	}
	if (!random_below(random, 4))
		__atomic_store_n(&element->mark, 1, __ATOMIC_RELAXED);
	delay(random, depth >= 0);
	if (element->content != CONTENT)
		fault_found(FAULT_CONTENT);
	age = __atomic_load_n(&element->age, __ATOMIC_RELAXED);
	if (age > 1)
		fault_found(FAULT_OLD);
	counted[COUNT_AGE + (age < AGES ? age : AGES - 1)]++;
}

void section(struct random *random)
{
	flavour->read_lock();
	look(random, 0);
	flavour->read_unlock();
	counted[COUNT_SECTIONS]++;
}

void section_around(struct random *random, void (*within)(void *argument), void *argument)
{
	struct element *element;

	flavour->read_lock();
	element = rcu_dereference(torture->shared[random_below(random, SHARED)]);
	within(argument);
	if (element->content != CONTENT)
		fault_found(FAULT_CONTENT);
	if (__atomic_load_n(&element->age, __ATOMIC_RELAXED) > 1)
		fault_found(FAULT_OLD);
	flavour->read_unlock();
}

/* A QSBR thread is offline at times that only the library knows, as while it waits. */
static int handler_may_read(void)
{
	if (flavour->quiescent)
		return rcu_qsbr_read_ongoing();
	return registered || flavour->automatic;
}

void section_in_handler(int number)
{
	int saved = errno;

	(void)number;
	if (handler_may_read()) {
		if (!handler_random.state)
			random_start(&handler_random, (uint32_t)counted[COUNT_SECTIONS] + 1);
		flavour->read_lock();
		look(&handler_random, -1);
		flavour->read_unlock();
		counted[COUNT_HANDLED]++;
	}
	errno = saved;
}

void register_thread(void)
{
	flavour->register_thread();
	registered = 1;
}

void unregister_thread(void)
{
	registered = 0;
	flavour->unregister_thread();
}

static void move(struct random *random)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(random_below(random, 2), &set);
	CPU_SET(random_below(random, 2), &set);
	sched_setaffinity(0, sizeof(set), &set); /* CPUs that are not there: it stays */
}

/* Between two sections: quiescent states, absences, new registrations. */
static void rest(struct random *random)
{
	if (flavour->quiescent && !random_below(random, 4))
		flavour->quiescent_state();
	if (!random_below(random, 64)) {
		flavour->offline();
		delay(random, 1);
		flavour->online();
	}
	if (!random_below(random, 256)) {
		unregister_thread();
		delay(random, 1);
		register_thread();
	}
	if (!random_below(random, 512))
		move(random);
	delay(random, 1);
}

void *reader_thread(void *index)
{
	struct random random;

	random_start(&random, (uint32_t)(uintptr_t)index);
	signals_may_come(0);
	register_thread();
	while (!stopped()) {
		section(&random);
		rest(&random);
	}
	unregister_thread();
	counts_flush();
	return NULL;
}
