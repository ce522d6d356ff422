// SPDX-License-Identifier: MIT
/*
 * Hot swapping: a table of functions and their data is replaced while threads call through it.
 *
 * Callers mark each use as an operation. The thread that swaps publishes a new table at once. When
 * no caller is in the old table any more, its state no longer changes, and a callback copies it
 * without a lock. The callback runs on every CPU, to renew what each CPU keeps of its own.
 * Paper: Q 1.2, 3.2.1 (hot swapping).
 *
 * qdo_functions [SWAPS]     status 0 if no call was lost over the swaps, and all were seen.
 */
#include <lull/qdo.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLERS 3

/* One version of a service. */
struct service {
	void (*serve)(struct service *self, unsigned int caller);
	const char *name;
	unsigned long served[CALLERS * 8]; /* 64 bytes for each caller */
	int is_closed;
};

static struct qdo *qdo;
static struct service *current;
static unsigned long served, asked, misses, renewals;
static int stop;
static unsigned int cpus;

static void serve_plain(struct service *self, unsigned int caller)
{
	if (__atomic_load_n(&self->is_closed, __ATOMIC_RELAXED))
		__atomic_add_fetch(&misses, 1, __ATOMIC_RELAXED);
	self->served[caller * 8]++;
}

/* A second version of the service, which does the same in another way. */
static void serve_twice(struct service *self, unsigned int caller)
{
	self->served[caller * 8] += 2;
	sched_yield();
	if (__atomic_load_n(&self->is_closed, __ATOMIC_RELAXED))
		__atomic_add_fetch(&misses, 1, __ATOMIC_RELAXED);
	self->served[caller * 8]--;
}

static struct service *new_service(unsigned long number)
{
	struct service *service = calloc(1, sizeof(*service));

	if (!service)
		exit(2);
	service->serve = number % 2 ? serve_twice : serve_plain;
	service->name = number % 2 ? "twice" : "plain";
	return service;
}

/* Called on each CPU in turn: no caller is in the old service, and what it counted is final. */
static void hand_over(void *argument)
{
	struct service *old = argument;
	unsigned int caller;

	__atomic_add_fetch(&renewals, 1, __ATOMIC_RELAXED);
	if (!old->is_closed) {
		old->is_closed = 1;
		for (caller = 0; caller < CALLERS; caller++)
			__atomic_add_fetch(&served, old->served[caller * 8], __ATOMIC_RELAXED);
	}
}

static void swap(unsigned long number, struct service **olds)
{
	struct service *old;
	struct qdo_set all;

	qdo_set_all(&all);
	old = __atomic_exchange_n(&current, new_service(number), __ATOMIC_ACQ_REL);
	olds[number - 1] = old;
	if (qdo_request(qdo, hand_over, old, NULL, &all))
		exit(2);
}

static void *call(void *argument)
{
	unsigned int caller = (unsigned int)(unsigned long)argument;
	unsigned long calls = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct qdo_operation operation;
		struct service *service;

		qdo_enter(qdo, &operation);
		service = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
		service->serve(service, caller);
		qdo_leave(&operation);
		calls++;
	}
	__atomic_add_fetch(&asked, calls, __ATOMIC_RELAXED);
	return NULL;
}

int main(int count, char **words)
{
	unsigned long swaps = count > 1 ? strtoul(words[1], NULL, 10) : 500, i;
	struct service **olds = calloc(swaps + 1, sizeof(*olds));
	pthread_t threads[CALLERS];

	qdo = qdo_default();
	if (!qdo || !olds)
		return 2;
	cpus = qdo_cpu_count(qdo);
	current = new_service(0);
	for (i = 0; i < CALLERS; i++)
		if (pthread_create(&threads[i], NULL, call, (void *)i))
			return 2;
	for (i = 1; i <= swaps; i++) {
		swap(i, olds);
		if (i % 16 == 0)
			qdo_barrier(qdo);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < CALLERS; i++)
		pthread_join(threads[i], NULL);
	swap(swaps + 1, olds);
	qdo_barrier(qdo);
	printf("%lu swaps under load, %lu calls, %lu counted, %lu in a closed service\n", swaps,
	       asked, served, misses);
	for (i = 0; i <= swaps; i++)
		free(olds[i]);
	free(olds);
	free(current);
	return served != asked || misses || renewals != (swaps + 1) * cpus;
}
