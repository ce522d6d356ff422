// SPDX-License-Identifier: MIT
/*
 * ending CASE: threads read in bp as they end, behind the library's own destructor of
 * thread-specific data. Afterwards grace periods end, beside threads that have their stacks.
 *
 * A case that hangs is killed by an alarm. Paper: T 6.4.4 (registry).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lull/rcu/flavour/bp.h"
#include "rough.h"

#define ENDING_THREADS 2000
#define USED_BYTES 65536

static pthread_key_t late; /* made after the library's: its destructor is called behind that */
static int stop;
static unsigned long reads;

static void read_once(void)
{
	rcu_bp_read_lock();
	rcu_bp_read_lock();
	__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	rcu_bp_read_unlock();
	rcu_bp_read_unlock();
}

/* In every pass that the C library makes, to the last. */
static void read_in_every_pass(void *unused)
{
	read_once();
	pthread_setspecific(late, unused);
}

static void use_all_in_every_pass(void *unused)
{
	read_once();
	rcu_bp_register_thread();
	rcu_bp_poll_state(rcu_bp_start_poll());
	read_once();
	rcu_bp_synchronize();
	rcu_bp_unregister_thread();
	rcu_bp_register_thread();
	pthread_setspecific(late, unused);
}

static void *has_a_destructor(void *unused)
{
	(void)unused;
	pthread_setspecific(late, &late);
	return NULL;
}

/* Has the memory of a thread that has ended, and writes all over it. */
static void *uses_stack(void *until)
{
	volatile unsigned char used[USED_BYTES];

	memset((void *)used, 0xff, sizeof(used));
	await(until);
	return used[0] ? NULL : until;
}

static void synchronize_beside_others(void)
{
	pthread_t thread[3];
	sem_t until;
	int i;

	sem_init(&until, 0, 0);
	for (i = 0; i < 3; i++)
		thread[i] = start(uses_stack, &until);
	rcu_bp_synchronize();
	for (i = 0; i < 3; i++)
		sem_post(&until);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	rcu_bp_synchronize();
}

static void end_threads(void (*destructor)(void *))
{
	int i;

	pthread_key_create(&late, destructor);
	for (i = 0; i < 3; i++)
		pthread_join(start(has_a_destructor, NULL), NULL);
	synchronize_beside_others();
}

static void destructors(void)
{
	end_threads(read_in_every_pass);
}

static void destructors_that_wait(void)
{
	end_threads(use_all_in_every_pass);
}

static void on_signal(int number)
{
	(void)number;
	read_once();
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

static void *signals(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		kill(getpid(), SIGUSR1);
	return unused;
}

static void *synchronizes(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		rcu_bp_synchronize();
	return unused;
}

static void *ends_at_once(void *unused)
{
	read_once();
	return unused;
}

/*
 * The process's signals go to the threads that end: no other takes them. Beside a thread that does
 * nothing but wait for grace periods, 2000 threads begin and end within the time of a case.
 */
static void handlers(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t other[2], thread;
	int i;

	sigaction(SIGUSR1, &action, NULL);
	block(SIG_BLOCK);
	other[0] = start(signals, NULL);
	other[1] = start(synchronizes, NULL);
	for (i = 0; i < ENDING_THREADS; i++) {
		block(SIG_UNBLOCK);
		thread = start(ends_at_once, NULL);
		block(SIG_BLOCK);
		pthread_join(thread, NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(other[0], NULL);
	pthread_join(other[1], NULL);
	synchronize_beside_others();
}

int main(int count, char **argument)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} cases[] = {
		{ "destructors", destructors },
		{ "destructors_that_wait", destructors_that_wait },
		{ "handlers", handlers },
	};
	size_t i;

	for (i = 0; count == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argument[1], cases[i].name))
			continue;
		alarm(HANG_LIMIT_S);
		cases[i].body();
		printf("%lu sections\n", reads);
		return reads == 0;
	}
	fprintf(stderr, "usage: ending destructors|destructors_that_wait|handlers\n");
	return 2;
}
