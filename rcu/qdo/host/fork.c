// SPDX-License-Identifier: MIT
/*
 * QDo over fork(): a child begins without requests and without others' operations.
 *
 * A fork waits until no thread is making a request and no monitor makes a step, so that the child
 * finds whole lists, whose memory it frees. Callbacks that run are not waited for. The forking
 * thread's own operations go on in the child: they are counted again, on the child's CPU. The
 * program's own handlers may still make requests (rcu/grace/host/fork.c). Paper: Q 4.6.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[qdo.close:A]	closed before the look at inside
 *							[qdo.ask:A], [qdo.ask:B] (instance.c)
 */
#include "domains.h"
#include "host.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct lull_lock lull_qdo_default_lock = LULL_LOCK_INITIALIZER;
struct lull_lock lull_qdo_instances_lock = LULL_LOCK_INITIALIZER;
struct qdo *lull_qdo_instances;

static void close_gates(struct qdo *instance)
{
	unsigned int i;
	uint32_t inside;

	/*
	 * [qdo.close:A] full. Pairs with [qdo.ask:A], [qdo.ask:B].
	 * Orders: closed before the look at the threads inside.
	 * Else: the fork finds half a request, or a list in the middle of a change.
	 * Mutant: CLOSE_RELAXED.
	 */
	lull_mem_store32_full(&instance->closed, 1);
	for (i = 0; i < instance->gate_count; i++)
		while ((inside = lull_mem_load32_acquire(&instance->gates[i].inside)))
			lull_futex_wait(&instance->gates[i].inside, inside);
}

static void open_gates(struct qdo *instance)
{
	/* What [qdo.close:A] kept out may come in: this process changed nothing. */
	lull_mem_store32(&instance->closed, 0);
	lull_futex_wake(&instance->closed, INT_MAX);
}

static void before_fork(void)
{
	struct qdo *instance;
	unsigned int i;

	lull_lock_take(&lull_qdo_default_lock);
	lull_lock_take(&lull_qdo_instances_lock);
	lull_qdo_thread.forking = 1;
	for (instance = lull_qdo_instances; instance; instance = instance->next) {
		close_gates(instance);
		for (i = 0; i < instance->monitor_count; i++)
			lull_lock_take(&instance->monitors[i].lock);
		lull_lock_take(&instance->executors.lock);
	}
}

static void after_fork_parent(void)
{
	struct qdo *instance;
	unsigned int i;

	for (instance = lull_qdo_instances; instance; instance = instance->next) {
		lull_lock_release(&instance->executors.lock);
		for (i = 0; i < instance->monitor_count; i++)
			lull_lock_release(&instance->monitors[i].lock);
		open_gates(instance);
	}
	lull_qdo_thread.forking = 0;
	lull_lock_release(&lull_qdo_instances_lock);
	lull_lock_release(&lull_qdo_default_lock);
}

static void free_core(struct qdo_request *request)
{
	struct qdo_request *next;

	for (; request; request = next) {
		next = request->next;
		free((char *)request - offsetof(struct host_request, core));
	}
}

static void forget_requests(struct qdo *instance)
{
	struct qdo_core *core = &instance->core;
	struct host_request *request, *next;
	unsigned int i;

	for (i = 0; i < core->cpu_count; i++) {
		free_core(qdo_submitted_take(core, i));
		free_core(qdo_list_take(&core->cpus[i].multi_token.arrived));
		free_core(qdo_waiting_all(&core->cpus[i]));
		memset(&core->cpus[i].counts, 0, sizeof(core->cpus[i].counts));
	}
	for (request = instance->executors.first; request; request = next) {
		next = request->next;
		free(request);
	}
	for (i = 0; i < instance->gate_count; i++)
		memset(&instance->gates[i], 0, sizeof(instance->gates[i]));
	instance->outstanding = 0;
	instance->completed = 0;
	instance->awaited = 0;
}

/* Those of the parent are not here, but for one that has forked in its callback. */
static void forget_executors(struct qdo *instance)
{
	struct host_executors *pool = &instance->executors;
	struct host_executor *executor, *next;

	for (executor = pool->all; executor; executor = next) {
		next = executor->next;
		if (executor == lull_qdo_thread.executor) {
			executor->orphan = 1;
			continue;
		}
		free(executor->request);
		free(executor);
	}
	lull_qdo_executors_init(pool, pool->max, pool->eager);
}

static void forget_monitors(struct qdo *instance)
{
	unsigned int i;

	for (i = 0; i < instance->monitor_count; i++) {
		struct host_monitor *monitor = &instance->monitors[i];

		lull_qdo_monitor_init(monitor, instance, monitor->cpu);
	}
	instance->started = 0;
	instance->start_lock = (struct lull_lock)LULL_LOCK_INITIALIZER;
	instance->barrier_lock = (struct lull_lock)LULL_LOCK_INITIALIZER;
}

static void after_fork_child(void)
{
	struct qdo_operation *operation;
	struct qdo *instance;

	for (instance = lull_qdo_instances; instance; instance = instance->next) {
		forget_requests(instance);
		forget_executors(instance);
		forget_monitors(instance);
		qdo_core_reset(&instance->core);
		instance->closed = 0;
	}
	/* Bound: the operations of this thread. */
	for (operation = lull_qdo_thread.innermost; operation; operation = operation->previous)
		operation->place = lull_qdo_place(qdo_core_enter(&operation->instance->core));
	lull_qdo_thread.forking = 0;
	lull_qdo_instances_lock = (struct lull_lock)LULL_LOCK_INITIALIZER;
	lull_qdo_default_lock = (struct lull_lock)LULL_LOCK_INITIALIZER;
}

__attribute__((constructor)) static void follow_forks(void)
{
	static const struct rcu_fork_handler handler = { before_fork, after_fork_parent,
							 after_fork_child };

	rcu_fork_follow(RCU_FORK_QDO, &handler);
}
