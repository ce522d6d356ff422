// SPDX-License-Identifier: MIT
/*
 * Executors: threads that run callbacks, so that one which blocks delays no other.
 *
 * Requests that are quiescent stand in one queue. An executor takes one and calls it on each CPU
 * of its set, in order (Q 4.9.2), pinned to that CPU. The pool grows while requests wait: at
 * once up to a few threads, then whenever none was taken for a millisecond. An executor that finds
 * nothing for some seconds ends; so does one whose callback ends its thread, and what is left of
 * its request goes back to the queue. Paper: Q 4.9 (there a message to the CPU starts a thread).
 */
#define _GNU_SOURCE
#include "domains.h"
#include "host.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long an executor waits for work before it ends. */
#define IDLE_NS 5000000000ull
/* How far into the queue an executor looks for a request of its own CPU, */
#define LOOK_MAX 16
/* and how often a request may be passed over. */
#define PASSED_OVER_MAX 64

void lull_qdo_executors_init(struct host_executors *pool, uint32_t max, uint32_t eager)
{
	*pool = (struct host_executors){
		.lock = LULL_LOCK_INITIALIZER,
		.max = max,
		.eager = eager,
		.until = &pool->first,
	};
}

static struct host_request *host_request(struct qdo_request *request)
{
	return (struct host_request *)(void *)((char *)request -
					       offsetof(struct host_request, core));
}

static void complain(int error)
{
	static uint32_t complained;
	char reason[128];

	if (lull_mem_exchange32_relaxed(&complained, 1))
		return;
	fprintf(stderr,
		"lull-qdo: a thread for callbacks cannot be started: %s. They are kept, and it "
		"is tried again.\n",
		strerror_r(-error, reason, sizeof(reason)));
}

static void *executor_main(void *argument);

/* Return: not 0 if there is one executor more. */
static int start_locked(struct qdo *instance)
{
	struct host_executors *pool = &instance->executors;
	struct host_executor *executor = calloc(1, sizeof(*executor));
	struct lull_thread thread;
	int error = -1;

	if (executor) {
		executor->instance = instance;
		executor->pinned = -1;
		/* RCU reaches its readers by that signal, and a callback may read. */
		error = lull_thread_start(&thread, executor_main, executor, RCU_BARRIER_SIGNAL);
	}
	if (error) {
		complain(executor ? error : -ENOMEM);
		free(executor);
		return 0;
	}
	lull_thread_detach(&thread);
	/* It takes the lock first of all. */
	executor->next = pool->all;
	if (pool->all)
		pool->all->previous = executor;
	pool->all = executor;
	pool->count++;
	return 1;
}

static void rouse_idle_locked(struct host_executors *pool, struct host_executor **link)
{
	struct host_executor *executor = *link;

	*link = executor->next_idle;
	pool->idle_count--;
	lull_mem_store32(&executor->work, 1); /* read under the lock, too */
	lull_futex_wake(&executor->work, 1);
}

/* Where an idle executor stands that is pinned to @cpu, or NULL. Bound: LOOK_MAX. */
static struct host_executor **find_idle_locked(struct host_executors *pool, int cpu)
{
	struct host_executor **link = &pool->idle;
	int i;

	for (i = 0; *link && i < LOOK_MAX; i++, link = &(*link)->next_idle)
		if ((*link)->pinned == cpu)
			return link;
	return NULL;
}

/*
 * One executor more looks at the queue, for a request of @cpu: one that is pinned there, for its
 * move from another CPU costs more than its wake; or one that is pinned nowhere; or, up to eager
 * threads, a new one; or any. Return: 0: none can, or the pool has @most threads.
 */
static int rouse_locked(struct qdo *instance, uint32_t most, uint32_t cpu)
{
	struct host_executors *pool = &instance->executors;
	struct host_executor **link = find_idle_locked(pool, (int)cpu);

	if (!link)
		link = find_idle_locked(pool, -1);
	if (!link && pool->count < (pool->idle ? pool->eager : most) && start_locked(instance))
		return 1;
	if (!link && pool->idle)
		link = &pool->idle;
	if (!link)
		return 0;
	rouse_idle_locked(pool, link);
	return 1;
}

/* One at least, more while fewer than eager are awake. Return: 0: not even one. */
static int rouse_some_locked(struct qdo *instance, const struct host_request *first)
{
	struct host_executors *pool = &instance->executors;
	const struct host_request *request;

	for (request = first; request; request = request->next) {
		if (request != first && pool->count - pool->idle_count >= pool->eager)
			return 1;
		if (!rouse_locked(instance, pool->eager, request->cpu))
			return request != first;
	}
	return 1;
}

static void append_locked(struct host_executors *pool, struct host_request *request)
{
	request->next = NULL;
	*pool->until = request;
	pool->until = &request->next;
	lull_mem_store32(&pool->queued, pool->queued + 1);
}

void lull_qdo_executors_put(struct qdo *instance, struct qdo_request *first)
{
	struct host_executors *pool = &instance->executors;
	struct host_request *request, **link;
	int is_roused;

	lull_lock_take(&pool->lock);
	if (!pool->first) {
		pool->taken_before = pool->taken;
		pool->tended_ns = lull_qdo_now_ns();
	}
	link = pool->until;
	while (first) {
		request = host_request(first);
		first = first->next;
		request->cpu = qdo_set_next(&request->core.execution, 0, instance->core.cpu_count);
		append_locked(pool, request);
	}
	is_roused = rouse_some_locked(instance, *link);
	lull_lock_release(&pool->lock);
	/*
	 * The callbacks that run may wait for these. The first monitor sees to that, and may be
	 * asleep where this is another one.
	 */
	if (!is_roused)
		lull_qdo_monitors_tend(instance);
}

int lull_qdo_executors_tend(struct qdo *instance)
{
	struct host_executors *pool = &instance->executors;
	uint32_t wanted = 0;
	uint64_t now_ns;
	int again;

	if (!lull_mem_load32(&pool->queued))
		return 0;
	lull_lock_take(&pool->lock);
	now_ns = lull_qdo_now_ns();
	if (pool->first && now_ns - pool->tended_ns >= QDO_TEND_NS) {
		/* As many again as there are: a pool of n is n callbacks that block. */
		if (pool->taken == pool->taken_before)
			wanted = pool->count ? pool->count : 1;
		if (wanted > pool->queued)
			wanted = pool->queued;
		pool->taken_before = pool->taken;
		pool->tended_ns = now_ns;
	}
	while (wanted && rouse_locked(instance, pool->max, pool->first->cpu))
		wanted--;
	again = pool->first && (pool->idle || pool->count < pool->max);
	lull_lock_release(&pool->lock);
	return again;
}

static struct host_request *remove_locked(struct host_executors *pool, struct host_request **link)
{
	struct host_request *request = *link;

	*link = request->next;
	if (pool->until == &request->next)
		pool->until = link;
	lull_mem_store32(&pool->queued, pool->queued - 1);
	pool->taken++;
	return request;
}

static int is_origin_before(const struct host_request *from, const struct host_request *until)
{
	for (; from != until; from = from->next)
		if (from->core.origin == until->core.origin)
			return 1;
	return 0;
}

/*
 * The oldest request; or one of the CPU where the executor is, which need not move then, unless
 * an older one was made on the same CPU, or has been passed over too often. Bound: LOOK_MAX.
 */
static struct host_request *take_locked(struct host_executors *pool, int cpu)
{
	struct host_request **link = &pool->first, *oldest = pool->first;
	int i;

	for (i = 0; *link && i < LOOK_MAX && cpu >= 0; i++, link = &(*link)->next) {
		if ((*link)->cpu != (uint32_t)cpu || is_origin_before(oldest, *link))
			continue;
		if (*link == oldest || oldest->passed_over++ < PASSED_OVER_MAX)
			return remove_locked(pool, link);
		break;
	}
	return oldest ? remove_locked(pool, &pool->first) : NULL;
}

/* Return: 0 if it waited in vain. The lock is released meanwhile. */
static int idle_locked(struct host_executors *pool, struct host_executor *self)
{
	struct host_executor **link;

	lull_mem_store32(&self->work, 0);
	self->next_idle = pool->idle;
	pool->idle = self;
	pool->idle_count++;
	lull_lock_release(&pool->lock);
	lull_qdo_wait(&self->work, 0, IDLE_NS);
	lull_lock_take(&pool->lock);
	if (lull_mem_load32(&self->work))
		return 1;
	for (link = &pool->idle; *link != self; link = &(*link)->next_idle)
		;
	*link = self->next_idle;
	pool->idle_count--;
	return 0;
}

/* The next request to call, or NULL: end. The one before is done. */
static struct host_request *next_request(struct qdo *instance, struct host_executor *self)
{
	struct host_executors *pool = &instance->executors;
	struct host_request *request;

	lull_lock_take(&pool->lock);
	if (self->request)
		lull_qdo_request_done(instance, self->request);
	while (!(request = take_locked(pool, self->pinned))) {
		self->request = NULL;
		if (pool->stop || (!idle_locked(pool, self) && !pool->first))
			break;
	}
	self->request = request;
	if (pool->first && pool->idle && pool->count - pool->idle_count < pool->eager)
		rouse_locked(instance, pool->eager, pool->first->cpu);
	lull_lock_release(&pool->lock);
	return request;
}

/* Goes to the next CPU of the execution set. Return: 0: there was none. */
static int go_on(const struct qdo *instance, struct host_request *request)
{
	request->cpu =
		qdo_set_next(&request->core.execution, request->cpu + 1, instance->core.cpu_count);
	return request->cpu < instance->core.cpu_count;
}

static void move(struct host_executor *self, unsigned int cpu)
{
	if (self->pinned == (int)cpu && lull_qdo_cpu() == cpu)
		return;
	self->pinned = lull_qdo_thread_pin(cpu) ? -1 : (int)cpu;
}

/* Calls back, on one CPU after the other. Bound: the execution set. */
static void call(struct host_executor *self, struct host_request *request)
{
	rcu_annotate_acquire(request); /* as qdo_request() released it, */
	rcu_annotate_acquire(self->instance); /* and qdo_leave() the instance */
	do {
		move(self, request->cpu);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		request->core.callback(request->core.argument);
		lull_qdo_thread_check();
		/* A thread that was cancelled in a callback ends here, not in the next one. */
		pthread_testcancel();
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (self->orphan)
			pthread_exit(NULL);
	} while (go_on(self->instance, request));
}

/* The thread ends: by itself, or because its callback ended it. */
static void end(void *argument)
{
	struct host_executor *self = argument;
	struct qdo *instance = self->instance;
	struct host_executors *pool = &instance->executors;
	struct host_request *request;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	lull_qdo_thread_check();
	lull_qdo_thread.executor = NULL;
	if (self->orphan) {
		free(self->request);
		free(self);
		return;
	}
	lull_lock_take(&pool->lock);
	request = self->request;
	if (request && go_on(instance, request)) {
		request->next = pool->first;
		pool->first = request;
		if (!request->next)
			pool->until = &request->next;
		lull_mem_store32(&pool->queued, pool->queued + 1);
	} else if (request) {
		lull_qdo_request_done(instance, request);
	}
	if (self->next)
		self->next->previous = self->previous;
	if (self->previous)
		self->previous->next = self->next;
	else
		pool->all = self->next;
	pool->count--;
	free(self);
	if (pool->first && !rouse_locked(instance, pool->max, pool->first->cpu))
		lull_qdo_monitors_tend(instance);
	if (!pool->count)
		lull_futex_wake(&pool->count, 1);
	lull_lock_release(&pool->lock);
}

static void *executor_main(void *argument)
{
	struct host_executor *self = argument;
	struct host_request *request;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	lull_thread_begin("qdo-call", -1);
	lull_qdo_thread.executor = self;
	pthread_cleanup_push(end, self);
	while ((request = next_request(self->instance, self)) != NULL)
		call(self, request);
	pthread_cleanup_pop(1);
	return NULL;
}

void lull_qdo_executors_stop(struct qdo *instance)
{
	struct host_executors *pool = &instance->executors;
	uint32_t count;

	lull_lock_take(&pool->lock);
	pool->stop = 1;
	while (pool->idle)
		rouse_idle_locked(pool, &pool->idle);
	/* The last one wakes us with the lock held, and releases it before the memory goes. */
	while ((count = pool->count) != 0) {
		lull_lock_release(&pool->lock);
		lull_qdo_wait(&pool->count, count, QDO_TEND_NS);
		lull_lock_take(&pool->lock);
	}
	lull_lock_release(&pool->lock);
}
