/* SPDX-License-Identifier: MIT */
/*
 * Grace periods one at a time: how long synchronize_rcu() keeps an updater waiting (T 6.4.2-6.4.4).
 *
 * The caller is a registered reader itself, as threads of real programs are. Beside it:
 *	idle        nobody
 *	busy        one thread that enters, reads and leaves without pause, on another CPU
 *	registered  LATENCY_REGISTERED threads that sleep outside sections (QSBR: offline)
 */
#include <string.h>

#include "rcu_subject.h"

#if SIDE_IS_RCU

#define LATENCY_REGISTERED 64
/* Sections of the busy reader between two quiescent states. */
#define LATENCY_SECTIONS 64

struct latency_beside {
	pthread_t thread;
	unsigned int index;
	pthread_barrier_t *begin, *until;
};

static int busy_stop;

static void *be_busy(void *argument)
{
	struct latency_beside *self = argument;
	unsigned long live = 0;

	rcu_subject_pin(1);
	rcu_register_thread();
	pthread_barrier_wait(self->begin);
	while (!__atomic_load_n(&busy_stop, __ATOMIC_RELAXED)) {
		for (unsigned int i = 0; i < LATENCY_SECTIONS; i++) {
			rcu_read_lock();
			live += rcu_dereference(rcu_shared.object)->live;
			rcu_read_unlock();
		}
		SUBJECT_OPAQUE(live);
		rcu_quiescent_state();
	}
	rcu_unregister_thread();
	return NULL;
}

static void *be_registered(void *argument)
{
	struct latency_beside *self = argument;

	rcu_subject_pin(self->index);
	rcu_register_thread();
	/* A self-registering flavour learns of its threads when they read. */
	rcu_read_lock();
	rcu_read_unlock();
	rcu_thread_offline();
	pthread_barrier_wait(self->begin);
	pthread_barrier_wait(self->until);
	rcu_thread_online();
	rcu_unregister_thread();
	return NULL;
}

/* Fills samples with cycles, for a while; the number taken, and the sum of all. */
static unsigned int take(uint64_t *samples, unsigned int sample_ms, double *cycles_sum)
{
	uint64_t until_ns = timing_read_ns(CLOCK_MONOTONIC) + sample_ms * 1000000ull;
	unsigned int count = 0;

	*cycles_sum = 0;
	while (count < SUBJECT_SAMPLES_MAX &&
	       (count % 16 || timing_read_ns(CLOCK_MONOTONIC) < until_ns)) {
		uint64_t begin = timing_cycles_ordered();

		synchronize_rcu();
		samples[count] = timing_cycles_ordered() - begin;
		*cycles_sum += (double)samples[count++];
	}
	return count;
}

/* What two readings of the counter cost, so that the table can take it off. */
static double empty_cycles(void)
{
	uint64_t begin = timing_cycles_ordered(), until = begin;

	for (int i = 0; i < 1000; i++)
		until = timing_cycles_ordered();
	return (double)(until - begin) / 1000;
}

int rcu_answer_latency(const char *arguments)
{
	static uint64_t samples[SUBJECT_SAMPLES_MAX];
	static struct latency_beside beside[LATENCY_REGISTERED];
	static double cycles_per_ns;
	pthread_barrier_t begin, until;
	unsigned int sample_ms, count, beside_count = 0;
	char name[16];
	double cycles_sum, empty;

	if (sscanf(arguments, "%15s %u", name, &sample_ms) != 2)
		return -1;
	if (cycles_per_ns == 0)
		cycles_per_ns = timing_cycles_per_ns();
	beside_count = !strcmp(name, "busy")	   ? 1 :
		       !strcmp(name, "registered") ? LATENCY_REGISTERED :
						     0;
	pthread_barrier_init(&begin, NULL, beside_count + 1);
	pthread_barrier_init(&until, NULL, beside_count + 1);
	busy_stop = 0;
	for (unsigned int i = 0; i < beside_count; i++) {
		beside[i].index = i;
		beside[i].begin = &begin;
		beside[i].until = &until;
		if (pthread_create(&beside[i].thread, NULL,
				   beside_count == 1 ? be_busy : be_registered, &beside[i]))
			return -1;
	}
	rcu_subject_pin(0);
	rcu_register_thread();
	rcu_read_lock();
	rcu_read_unlock();
	pthread_barrier_wait(&begin);
	count = take(samples, sample_ms, &cycles_sum);
	__atomic_store_n(&busy_stop, 1, __ATOMIC_RELAXED);
	rcu_unregister_thread();
	if (beside_count > 1)
		pthread_barrier_wait(&until);
	for (unsigned int i = 0; i < beside_count; i++)
		pthread_join(beside[i].thread, NULL);
	pthread_barrier_destroy(&begin);
	pthread_barrier_destroy(&until);
	empty = empty_cycles();
	printf("count=%u average_ns=%.1f empty_ns=%.1f", count, cycles_sum / count / cycles_per_ns,
	       empty / cycles_per_ns);
	subject_print_quantiles("", samples, count, cycles_per_ns);
	printf("\n");
	return 0;
}

#endif
