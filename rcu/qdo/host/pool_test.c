// SPDX-License-Identifier: MIT
/*
 * Which executor gets to know of a request: the choice among idle threads, without the threads.
 *
 * The executors of these pools are only entries in the lists; lull_qdo_executors_put() marks the
 * one that it wakes. Paper: Q 4.9.
 */
#include "../../../check/test.h"
#include "host.h"

#include <stdlib.h>
#include <string.h>

#define EXECUTORS 3
#define NOWHERE (-1)

static struct qdo instance;
static struct host_executor executors[EXECUTORS];
static int called;

static void count(void *argument)
{
	(void)argument;
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

/* A pool whose idle executors are pinned as @pinned says, the one last used first. */
static void begin(const int *pinned, unsigned int idle_count, unsigned int eager)
{
	struct host_executors *pool = &instance.executors;
	unsigned int i;

	memset(executors, 0, sizeof(executors));
	instance = (struct qdo){ .core = { .cpu_count = 4 } };
	lull_qdo_executors_init(pool, eager, eager);
	for (i = idle_count; i--;) {
		executors[i] = (struct host_executor){ .instance = &instance,
						       .pinned = pinned[i],
						       .next_idle = pool->idle };
		pool->idle = &executors[i];
	}
	pool->count = idle_count;
	pool->idle_count = idle_count;
}

static struct host_request *request_of(unsigned int cpu)
{
	struct host_request *request = calloc(1, sizeof(*request));

	if (!request)
		abort();
	qdo_set_add(&request->core.execution, cpu);
	request->core.callback = count;
	return request;
}

/* Which executors a request of @cpu wakes: a bit for each. None is a thread that takes it. */
static unsigned int woken_for(unsigned int cpu)
{
	struct host_request *request = request_of(cpu);
	unsigned int i, woken = 0;

	lull_qdo_executors_put(&instance, &request->core);
	for (i = 0; i < EXECUTORS; i++)
		woken |= executors[i].work << i;
	free(request);
	return woken;
}

static int the_idle_executor_of_the_requests_cpu_is_woken(void)
{
	static const int pinned[] = { 1, 0, 2 };

	begin(pinned, 3, 3);
	CHECK(woken_for(0) == 2);
	CHECK(instance.executors.idle_count == 2 && instance.executors.idle == &executors[0]);
	CHECK(executors[0].next_idle == &executors[2]);
	return 0;
}

static int one_that_is_pinned_nowhere_is_woken_rather_than_moved_from_another_cpu(void)
{
	static const int pinned[] = { 1, NOWHERE, 2 };

	begin(pinned, 3, 4);
	CHECK(woken_for(0) == 2);
	CHECK(instance.executors.count == 3);
	return 0;
}

static int a_full_pool_wakes_the_executor_that_was_used_last(void)
{
	static const int pinned[] = { 1, 3, 2 };

	begin(pinned, 3, 3);
	CHECK(woken_for(0) == 1);
	CHECK(instance.executors.idle == &executors[1] && instance.executors.count == 3);
	return 0;
}

static int requests_of_two_cpus_wake_the_executor_of_each(void)
{
	static const int pinned[] = { 2, 1, 0 };
	struct host_request *first = request_of(0), *second = request_of(1);

	begin(pinned, 3, 3);
	first->core.next = &second->core;
	lull_qdo_executors_put(&instance, &first->core);
	free(second);
	free(first);
	CHECK(executors[1].work && executors[2].work && !executors[0].work);
	return 0;
}

/* The new thread is there, and calls back. */
static int a_pool_with_room_starts_a_thread_rather_than_moves_one(void)
{
	static const int pinned[] = { 1 };
	struct host_executors *pool = &instance.executors;
	struct host_executor **link = &pool->idle;

	begin(pinned, 1, 2);
	lull_qdo_executors_put(&instance, &request_of(0)->core);
	lull_lock_take(&pool->lock);
	/* The rest of the test is the thread's: the entry without one leaves the pool. */
	while (*link && *link != &executors[0])
		link = &(*link)->next_idle;
	if (*link) {
		*link = NULL;
		pool->idle_count--;
	}
	pool->count--;
	lull_lock_release(&pool->lock);
	lull_qdo_executors_stop(&instance);
	CHECK(called == 1 && !executors[0].work);
	return 0;
}

int main(void)
{
	RUN(the_idle_executor_of_the_requests_cpu_is_woken);
	RUN(one_that_is_pinned_nowhere_is_woken_rather_than_moved_from_another_cpu);
	RUN(a_full_pool_wakes_the_executor_that_was_used_last);
	RUN(requests_of_two_cpus_wake_the_executor_of_each);
	RUN(a_pool_with_room_starts_a_thread_rather_than_moves_one);
	return sums();
}
