/* SPDX-License-Identifier: MIT */
/*
 * Callbacks after grace periods: how many call_rcu() and its worker get through (T 6.4.5).
 *
 * Each updater queues its callbacks as fast as it can; the sample ends when rcu_barrier() says that
 * all have been called. Either the objects are there before and a callback marks its own, so that
 * nothing is measured but the queue and the worker; or each is allocated, and freed by its
 * callback, as most programs do.
 */
#include <stdbool.h>
#include <stddef.h>

#include "rcu_subject.h"

#if SIDE_IS_RCU

#define CALLS_UPDATERS_MAX 64
/* Calls between two quiescent states of an updater: the worker's grace period waits for it. */
#define CALLS_BETWEEN 64

struct call_object {
	struct rcu_head head;
	unsigned long called;
} __attribute__((aligned(64)));

struct call_updater {
	pthread_t thread;
	unsigned int index;
	unsigned long count;
	bool allocate;
	struct call_object *objects;
	pthread_barrier_t *ready, *begin;
	uint64_t cpu_ns;
	int failed;
} __attribute__((aligned(64)));

static struct call_object *object_of(struct rcu_head *head)
{
	return (struct call_object *)((char *)head - offsetof(struct call_object, head));
}

static void mark(struct rcu_head *head)
{
	object_of(head)->called++;
}

static void give_back(struct rcu_head *head)
{
	free(object_of(head));
}

static void *update(void *argument)
{
	struct call_updater *self = argument;
	struct timing timing;

	rcu_subject_pin(self->index);
	rcu_register_thread();
	rcu_thread_offline();
	pthread_barrier_wait(self->ready);
	pthread_barrier_wait(self->begin);
	rcu_thread_online();
	timing_begin(&timing);
	for (unsigned long i = 0; i < self->count; i++) {
		if (self->allocate) {
			struct call_object *object = malloc(sizeof(*object));

			if (!object) {
				self->failed = 1;
				break;
			}
			call_rcu(&object->head, give_back);
		} else {
			call_rcu(&self->objects[i].head, mark);
		}
		if (i % CALLS_BETWEEN == 0)
			rcu_quiescent_state();
	}
	timing_end(&timing);
	self->cpu_ns = timing.cpu_ns;
	rcu_unregister_thread();
	return NULL;
}

static void nothing(struct rcu_head *head)
{
	(void)head;
}

/* The first callback starts the worker: not from a pinned thread, whose CPUs it would inherit. */
static void start_worker(void)
{
	static struct rcu_head head;
	static bool started;

	if (started)
		return;
	started = true;
	rcu_register_thread();
	call_rcu(&head, nothing);
	rcu_unregister_thread();
	rcu_barrier();
}

static int start(struct call_updater *updaters, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct call_updater *self = &updaters[i];

		self->index = i;
		self->failed = 0;
		self->objects = NULL;
		if (!self->allocate) {
			self->objects = aligned_alloc(64, self->count * sizeof(*self->objects));
			if (!self->objects)
				return -1;
			for (unsigned long k = 0; k < self->count; k++)
				self->objects[k].called = 0;
		}
		if (pthread_create(&self->thread, NULL, update, self))
			return -1;
	}
	return 0;
}

/* Callbacks that were not called exactly once, though the barrier has passed. */
static unsigned long wrong_count(const struct call_updater *self)
{
	unsigned long wrong = 0;

	for (unsigned long i = 0; self->objects && i < self->count; i++)
		wrong += self->objects[i].called != 1;
	return wrong;
}

int rcu_answer_calls(const char *arguments)
{
	static struct call_updater updaters[CALLS_UPDATERS_MAX];
	unsigned int updater_count, allocate;
	unsigned long count, wrong = 0;
	pthread_barrier_t ready, begin;
	uint64_t begin_ns, wall_ns, cpu_ns = 0;

	if (sscanf(arguments, "%u %lu %u", &updater_count, &count, &allocate) != 3 ||
	    !updater_count || updater_count > CALLS_UPDATERS_MAX || !count)
		return -1;
	start_worker();
	pthread_barrier_init(&ready, NULL, updater_count + 1);
	pthread_barrier_init(&begin, NULL, updater_count + 1);
	for (unsigned int i = 0; i < updater_count; i++) {
		updaters[i].count = count;
		updaters[i].allocate = allocate != 0;
		updaters[i].ready = &ready;
		updaters[i].begin = &begin;
	}
	if (start(updaters, updater_count))
		return -1;
	pthread_barrier_wait(&ready);
	/* Before they begin: this thread may be the last to run again. */
	begin_ns = timing_read_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&begin);
	for (unsigned int i = 0; i < updater_count; i++)
		pthread_join(updaters[i].thread, NULL);
	rcu_barrier();
	wall_ns = timing_read_ns(CLOCK_MONOTONIC) - begin_ns;
	for (unsigned int i = 0; i < updater_count; i++) {
		if (updaters[i].failed)
			return -1;
		cpu_ns += updaters[i].cpu_ns;
		wrong += wrong_count(&updaters[i]);
		free(updaters[i].objects);
	}
	pthread_barrier_destroy(&ready);
	pthread_barrier_destroy(&begin);
	printf("callbacks_per_s=%.0f caller_ns=%.2f wrong=%lu\n",
	       (double)(updater_count * count) * 1e9 / (double)wall_ns,
	       (double)cpu_ns / (double)(updater_count * count), wrong);
	return 0;
}

#endif
