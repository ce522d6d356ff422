/* SPDX-License-Identifier: MIT */
/*
 * Readers and updaters of one shared object, for a while (T 6.5.1-6.5.4).
 *
 * A reader enters, reads the object, stays for section_cycles, leaves. An updater puts a new
 * object in the place of the old one; with locks it excludes everybody meanwhile and has the old
 * one back at once, with RCU it keeps batch old ones, waits for one grace period and has them all
 * back. Objects are marked when they come back and unmarked when they are published: a reader that
 * ever meets a marked one has found a broken implementation, and the sample says so.
 */
#include <stdbool.h>
#include <string.h>

#include "rcu_subject.h"

/* Sections between two looks at the stop flag, and two quiescent states: short and long ones. */
#define MIX_SHORT_SECTIONS 64
#define MIX_LONG_SECTIONS 4

struct mix_plan {
	unsigned int reader_count, updater_count;
	uint64_t section_turns, delay_turns;
	unsigned int batch_count;
	bool exchange; /* one pointer for all; else each updater has its own (T figure 6.20) */
	pthread_barrier_t ready, begin;
	uint64_t begin_ns; /* for all threads: one that waits for a CPU is in the sample too */
};

struct mix_thread {
	pthread_t thread;
	struct mix_plan *plan;
	unsigned int index; /* among readers, or among updaters */
	struct rcu_object *objects; /* an updater's, batch_count of them */
	struct rcu_object **slots; /* those to publish and, behind them, those taken back */
	struct rcu_shared own;
	struct rcu_object own_object;
	uint64_t count, wrong_count, wall_ns;
} __attribute__((aligned(64)));

static struct {
	int updaters, readers;
} stop __attribute__((aligned(64)));

static inline bool stopped(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

static inline const struct rcu_object *shared_object(void)
{
#if SIDE_IS_RCU
	return rcu_dereference(rcu_shared.object);
#else
	return rcu_shared.object;
#endif
}

static void *read_for_a_while(void *argument)
{
	struct mix_thread *self = argument;
	uint64_t turns = self->plan->section_turns, count = 0, live = 0;
	unsigned int sections = turns > 1000 ? MIX_LONG_SECTIONS : MIX_SHORT_SECTIONS;

	rcu_subject_pin(self->index);
	side_register();
	side_offline();
	pthread_barrier_wait(&self->plan->ready);
	pthread_barrier_wait(&self->plan->begin);
	side_online();
	do {
		for (unsigned int i = 0; i < sections; i++) {
			const struct rcu_object *object;

			side_enter(self->index);
			object = shared_object();
			rcu_subject_spin(turns);
			/* At the section's end: until then nobody may have reclaimed it. */
			live += __atomic_load_n(&object->live, __ATOMIC_RELAXED);
			side_leave(self->index);
		}
		count += sections;
		side_quiescent();
	} while (!stopped(&stop.readers));
	self->wall_ns = timing_read_ns(CLOCK_MONOTONIC) - self->plan->begin_ns;
	side_unregister();
	self->count = count;
	self->wrong_count = count - live;
	return NULL;
}

/* The objects in slots are nobody's any more: mark them as whoever frees them would. */
static void reclaim(struct rcu_object **slots, unsigned int count)
{
	side_wait();
	for (unsigned int i = 0; i < count; i++)
		__atomic_store_n(&slots[i]->live, 0, __ATOMIC_RELAXED);
}

static inline struct rcu_object *replace(struct mix_thread *self, struct rcu_object *object)
{
	struct rcu_object *old;

#if SIDE_IS_RCU
	if (self->plan->exchange)
		return rcu_xchg_pointer(&rcu_shared.object, object);
	old = self->own.object;
	rcu_assign_pointer(self->own.object, object);
#else
	(void)self;
	old = rcu_shared.object;
	rcu_shared.object = object;
#endif
	return old;
}

static void *update_for_a_while(void *argument)
{
	struct mix_thread *self = argument;
	struct mix_plan *plan = self->plan;
	unsigned int taken = 0;

	rcu_subject_pin(plan->reader_count + self->index);
	pthread_barrier_wait(&plan->ready);
	pthread_barrier_wait(&plan->begin);
	while (!stopped(&stop.updaters)) {
		struct rcu_object *object = self->slots[taken];

		__atomic_store_n(&object->live, 1, __ATOMIC_RELAXED);
		side_exclude(plan->reader_count);
		self->slots[taken++] = replace(self, object);
		side_admit(plan->reader_count);
		/* Let in only after the readers' end: starved, and not counted (T figure 6.19). */
		self->count += SIDE_IS_RCU || !stopped(&stop.updaters);
		if (taken == plan->batch_count) {
			reclaim(self->slots, taken);
			taken = 0;
		}
		rcu_subject_spin(plan->delay_turns);
	}
	reclaim(self->slots, taken);
	self->wall_ns = timing_read_ns(CLOCK_MONOTONIC) - plan->begin_ns;
	return NULL;
}

static int prepare_updater(struct mix_thread *self, unsigned int batch_count)
{
	self->objects = aligned_alloc(64, batch_count * sizeof(*self->objects));
	self->slots = malloc(batch_count * sizeof(*self->slots));
	if (!self->objects || !self->slots)
		return -1;
	memset(self->objects, 0, batch_count * sizeof(*self->objects));
	for (unsigned int i = 0; i < batch_count; i++)
		self->slots[i] = &self->objects[i];
	self->own.object = &self->own_object;
	return 0;
}

static struct mix_thread *start(struct mix_plan *plan)
{
	unsigned int count = plan->reader_count + plan->updater_count;
	struct mix_thread *threads = aligned_alloc(64, count * sizeof(*threads));

	if (!threads)
		return NULL;
	memset(threads, 0, count * sizeof(*threads));
	memset(&stop, 0, sizeof(stop));
	if (pthread_barrier_init(&plan->ready, NULL, count + 1) ||
	    pthread_barrier_init(&plan->begin, NULL, count + 1))
		return NULL;
	for (unsigned int i = 0; i < count; i++) {
		bool reads = i < plan->reader_count;
		struct mix_thread *self = &threads[i];

		self->plan = plan;
		self->index = reads ? i : i - plan->reader_count;
		if (!reads && prepare_updater(self, plan->batch_count))
			return NULL;
		if (pthread_create(&self->thread, NULL,
				   reads ? read_for_a_while : update_for_a_while, self))
			return NULL;
	}
	pthread_barrier_wait(&plan->ready);
	plan->begin_ns = timing_read_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&plan->begin);
	return threads;
}

/* Rates are added thread by thread, each over its own time. */
static void join(struct mix_thread *threads, unsigned int count, double *per_s, uint64_t *wrong)
{
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(threads[i].thread, NULL);
		*per_s += (double)threads[i].count * 1e9 / (double)threads[i].wall_ns;
		*wrong += threads[i].wrong_count;
	}
}

int rcu_answer_mix(const char *arguments)
{
	static struct rcu_object first = { .live = 1 };
	unsigned long long section_cycles, delay_cycles;
	struct mix_plan plan = { 0 };
	struct mix_thread *threads;
	unsigned int exchange, sample_ms;
	double reads_per_s = 0, updates_per_s = 0;
	uint64_t wrong = 0;

	if (sscanf(arguments, "%u %u %llu %llu %u %u %u", &plan.reader_count, &plan.updater_count,
		   &section_cycles, &delay_cycles, &plan.batch_count, &exchange, &sample_ms) != 7 ||
	    plan.reader_count > SIDE_READERS_MAX || !plan.batch_count)
		return -1;
	plan.section_turns = rcu_subject_turns(section_cycles);
	plan.delay_turns = rcu_subject_turns(delay_cycles);
	plan.exchange = exchange != 0;
	rcu_shared.object = &first;
	first.live = 1;
	threads = start(&plan);
	if (!threads)
		return -1;
	nanosleep(&(struct timespec){ sample_ms / 1000, sample_ms % 1000 * 1000000 }, NULL);
	/* RCU updaters end their last batch beside readers; others may wait for readers to end. */
	__atomic_store_n(&stop.updaters, 1, __ATOMIC_RELAXED);
	if (!SIDE_IS_RCU)
		__atomic_store_n(&stop.readers, 1, __ATOMIC_RELAXED);
	join(threads + plan.reader_count, plan.updater_count, &updates_per_s, &wrong);
	__atomic_store_n(&stop.readers, 1, __ATOMIC_RELAXED);
	join(threads, plan.reader_count, &reads_per_s, &wrong);
	for (unsigned int i = 0; i < plan.updater_count; i++) {
		free(threads[plan.reader_count + i].objects);
		free(threads[plan.reader_count + i].slots);
	}
	free(threads);
	pthread_barrier_destroy(&plan.ready);
	pthread_barrier_destroy(&plan.begin);
	printf("reads_per_s=%.0f updates_per_s=%.0f wrong=%llu\n", reads_per_s, updates_per_s,
	       (unsigned long long)wrong);
	return 0;
}
