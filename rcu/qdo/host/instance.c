// SPDX-License-Identifier: MIT
/*
 * QDo's instances: made, asked, waited for, ended.
 *
 * An instance serves an address space, or a part of one that has operations of its own kind
 * (Q 3.1.2). Requests are counted from being made to the end of their last callback, in one of
 * two phases, for qdo_barrier(). Paper: Q 3.1, 3.2.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[qdo.ask:A]	inside before the look at closed	[qdo.close:A] (fork.c)
 *	[qdo.ask:B]	outside before the look at closed	[qdo.close:A]
 *	[qdo.default:A]	the instance before its address		[qdo.default:B]
 *	[qdo.default:B]	its address before the instance		[qdo.default:A]
 *	[qdo.await:A]	awaited before the look at outstanding	[qdo.finish:A]
 *	[qdo.finish:A]	outstanding before the look at awaited	[qdo.await:A]
 */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "qdo_port.h"

/* A longer period says nothing more. */
#define PERIOD_MAX_US 1000000000u
/* Executors that start without waiting for the pool to be stuck; for each CPU. */
#define EAGER_MIN 4

static struct qdo *default_instance;

/* CPUs that the machine may have: one more than the highest number. */
static unsigned int possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	long count = 0;
	unsigned int number;
	int next;

	while (file && fscanf(file, "%u", &number) == 1) {
		count = (long)number + 1;
		next = fgetc(file);
		if (next != '-' && next != ',')
			break;
	}
	if (file)
		fclose(file);
	if (count <= 0)
		count = sysconf(_SC_NPROCESSORS_CONF);
	if (count <= 0)
		return 1;
	return count > (long)QDO_CPUS_MAX ? QDO_CPUS_MAX : (unsigned int)count;
}

static void *new_memory(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	return memory ? memset(memory, 0, (bytes + 63) & ~(size_t)63) : NULL;
}

static void free_instance(struct qdo *instance)
{
	free(instance->core_memory);
	free(instance->monitors);
	free(instance->gates);
	free(instance);
}

static void configure(struct qdo *instance, const struct qdo_config *config)
{
	struct qdo_core *core = &instance->core;
	uint32_t most = config->executors_max ? config->executors_max : QDO_EXECUTORS_MAX;
	uint32_t eager = lull_qdo_cpus_allowed();

	core->cpu_count = config->cpu_count ? config->cpu_count : possible_cpus();
	core->algorithm = config->algorithm;
	core->submission = config->submission;
	core->own_generation_only = config->timer_only != 0;
	core->prompting = !config->timer_only;
	instance->timer_only = config->timer_only != 0;
	instance->period_us = config->period_us ? config->period_us : QDO_PERIOD_US;
	if (instance->period_us > PERIOD_MAX_US)
		instance->period_us = PERIOD_MAX_US;
	instance->monitor_count = config->timer_only ? core->cpu_count : 1;
	instance->gate_count = core->cpu_count < QDO_GATES_MAX ? core->cpu_count : QDO_GATES_MAX;
	instance->start_lock = (struct lull_lock)LULL_LOCK_INITIALIZER;
	instance->barrier_lock = (struct lull_lock)LULL_LOCK_INITIALIZER;
	if (eager < EAGER_MIN)
		eager = EAGER_MIN;
	lull_qdo_executors_init(&instance->executors, most, eager < most ? eager : most);
}

static int start(struct qdo *instance)
{
	unsigned int i;

	instance->core_memory = new_memory(qdo_core_bytes(instance->core.cpu_count));
	instance->monitors = new_memory(instance->monitor_count * sizeof(*instance->monitors));
	instance->gates = new_memory(instance->gate_count * sizeof(*instance->gates));
	if (!instance->core_memory || !instance->monitors || !instance->gates)
		return -ENOMEM;
	for (i = 0; i < instance->monitor_count; i++)
		lull_qdo_monitor_init(&instance->monitors[i], instance, i);
	return qdo_core_start(&instance->core, instance->core_memory);
}

int qdo_create(const struct qdo_config *config, struct qdo **result)
{
	static const struct qdo_config ordinary;
	struct qdo *instance;
	int error;

	if (!config)
		config = &ordinary;
	if (config->cpu_count > QDO_CPUS_MAX)
		return -EINVAL;
	lull_qdo_port_start();
	instance = new_memory(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	configure(instance, config);
	error = start(instance);
	if (error) {
		free_instance(instance);
		return error;
	}
	lull_lock_take(&lull_qdo_instances_lock);
	instance->next = lull_qdo_instances;
	lull_qdo_instances = instance;
	lull_lock_release(&lull_qdo_instances_lock);
	*result = instance;
	return 0;
}

struct qdo *qdo_default(void)
{
	/*
	 * [qdo.default:B] acquire. Pairs with [qdo.default:A].
	 * Orders: the instance's address before its words.
	 * Else: the caller uses an instance that is not written yet.
	 * Mutant: DEFAULT_READ_RELAXED.
	 */
	struct qdo *instance = lull_mem_load_pointer_acquire(&default_instance);

	if (__builtin_expect(instance != NULL, 1))
		return instance;
	lull_lock_take(&lull_qdo_default_lock);
	instance = default_instance;
	/*
	 * [qdo.default:A] release. Pairs with [qdo.default:B].
	 * Orders: the instance before its address. Else: a request goes into half an instance.
	 * Mutant: DEFAULT_RELAXED.
	 */
	if (!instance && !qdo_create(NULL, &instance))
		lull_mem_store_pointer_release(&default_instance, instance);
	lull_lock_release(&lull_qdo_default_lock);
	return instance;
}

/* Whether the caller is in an operation or a callback of the instance. */
static int is_within(const struct qdo *instance)
{
	const struct host_thread *self = &lull_qdo_thread;
	const struct qdo_operation *operation = self->innermost;

	while (operation && operation->instance != instance)
		operation = operation->previous;
	return operation ||
	       (self->executor && self->executor->instance == instance && !self->executor->orphan);
}

static void leave_gate(struct qdo *instance, struct host_gate *gate)
{
	/*
	 * [qdo.ask:B] full. Pairs with [qdo.close:A].
	 * Orders: outside before the look at closed. Else: the fork sleeps for ever.
	 * Mutant: ASK_B_RELAXED.
	 */
	lull_mem_add32(&gate->inside, -1u);
	if (__builtin_expect(lull_mem_load32(&instance->closed) != 0, 0))
		lull_futex_wake(&gate->inside, INT_MAX);
}

/* Fork closes the gates, but not for its own thread. */
static struct host_gate *enter_gate(struct qdo *instance)
{
	struct host_gate *gate;

	for (;;) {
		gate = &instance->gates[lull_qdo_cpu() % instance->gate_count];
		/*
		 * [qdo.ask:A] full. Pairs with [qdo.close:A].
		 * Orders: inside before the look at closed.
		 * Else: a fork finds half a request, or a list in the middle of a change.
		 * Mutant: ASK_A_RELAXED.
		 */
		lull_mem_add32(&gate->inside, 1);
		if (!lull_mem_load32(&instance->closed) || lull_qdo_thread.forking)
			return gate;
		leave_gate(instance, gate);
		lull_futex_wait(&instance->closed, 1);
	}
}

/* What an instance knows of a set. Return: 0: nothing. */
static int copy_set(const struct qdo *instance, struct qdo_set *to, const struct qdo_set *from)
{
	unsigned int count = instance->core.cpu_count, word = count / QDO_WORD_BITS;

	memcpy(to, from, (count + 7) / 8);
	if (count % QDO_WORD_BITS) {
		to->bits[word] = from->bits[word] & ((1UL << count % QDO_WORD_BITS) - 1);
	}
	return qdo_set_next(to, 0, count) < count;
}

static int new_request(struct qdo *instance, const struct qdo_set *quiescence,
		       const struct qdo_set *execution, struct host_request **result)
{
	static const struct qdo_set every = { { [0 ... QDO_SET_WORDS - 1] = ~0UL } };
	struct host_request *request;
	int is_fine;

	request = calloc(1, offsetof(struct host_request, core) +
				    qdo_core_request_bytes(&instance->core));
	if (!request)
		return -ENOMEM;
	is_fine = copy_set(instance, &request->core.quiescence, quiescence ? quiescence : &every);
	if (execution)
		is_fine &= copy_set(instance, &request->core.execution, execution);
	else
		qdo_set_add(&request->core.execution, qdo_cpu_current(instance));
	if (!is_fine) {
		free(request);
		return -EINVAL;
	}
	*result = request;
	return 0;
}

int qdo_request(struct qdo *instance, void (*callback)(void *argument), void *argument,
		const struct qdo_set *quiescence, const struct qdo_set *execution)
{
	struct host_request *request = NULL;
	struct host_gate *gate;
	int error = 0;

	if (!callback)
		return -EINVAL;
	gate = enter_gate(instance);
	if (lull_mem_load32(&instance->started) != instance->monitor_count)
		error = lull_qdo_monitors_start(instance);
	if (!error)
		error = new_request(instance, quiescence, execution, &request);
	if (!error) {
		rcu_annotate_release(request);
		request->core.callback = callback;
		request->core.argument = argument;
		/* A barrier waits for requests that are before it by the program's own order. */
		request->phase = lull_mem_load32(&instance->phase);
		lull_mem_add64_relaxed(&instance->outstanding, lull_qdo_phase_one(request->phase));
		lull_mem_add64_relaxed(&gate->requests, 1);
		lull_qdo_monitors_requested(instance,
					    qdo_core_submit(&instance->core, &request->core));
	}
	leave_gate(instance, gate);
	return error;
}

/* Its last callback has returned. */
void lull_qdo_request_done(struct qdo *instance, struct host_request *request)
{
	uint64_t one = lull_qdo_phase_one(request->phase), left;

	free(request);
	rcu_annotate_release(&instance->outstanding);
	/*
	 * [qdo.finish:A] full. Pairs with [qdo.await:A].
	 * Orders: outstanding, and the callbacks before it, before the look at awaited.
	 * Else: the last request is done, qdo_barrier() sleeps, and nothing wakes it.
	 * Mutant: FINISH_RELAXED.
	 */
	lull_mem_add64_relaxed(&instance->completed, 1);
	left = lull_mem_add64(&instance->outstanding, -one);
	if ((left & one * UINT32_MAX) == 0 && lull_mem_load32(&instance->awaited) &&
	    lull_mem_exchange32_relaxed(&instance->awaited, 0))
		lull_futex_wake(&instance->awaited, INT_MAX);
}

/* Sleeps until no request of some phases is outstanding. The barrier's lock is held. */
static void drain(struct qdo *instance, uint64_t mask)
{
	for (;;) {
		/*
		 * [qdo.await:A] full. Pairs with [qdo.finish:A].
		 * Orders: awaited before the look at outstanding.
		 * Else: this thread sleeps for ever.
		 * Mutant: AWAIT_RELAXED.
		 */
		lull_mem_store32_full(&instance->awaited, 1);
		/* Acquire: what callbacks did is before the end of the wait. */
		if (!(lull_mem_load64_acquire(&instance->outstanding) & mask))
			break;
		lull_futex_wait(&instance->awaited, 1);
	}
	rcu_annotate_acquire(&instance->outstanding);
	lull_mem_store32(&instance->awaited, 0);
}

int qdo_barrier(struct qdo *instance)
{
	uint32_t phase;
	int i;

	if (is_within(instance))
		return -EDEADLK;
	lull_lock_take(&instance->barrier_lock);
	/* A request is in either phase; while one drains, new ones are in the other. */
	for (i = 0; i < 2; i++) {
		phase = instance->phase;
		lull_mem_store32(&instance->phase, !phase);
		drain(instance, lull_qdo_phase_one(phase) * UINT32_MAX);
	}
	lull_lock_release(&instance->barrier_lock);
	return 0;
}

int qdo_destroy(struct qdo *instance)
{
	struct qdo **link = &lull_qdo_instances;

	if (!instance)
		return 0;
	if (instance == lull_mem_load_pointer(&default_instance))
		return -EINVAL;
	if (is_within(instance))
		return -EDEADLK;
	lull_lock_take(&instance->barrier_lock);
	drain(instance, UINT64_MAX);
	lull_lock_release(&instance->barrier_lock);
	lull_lock_take(&lull_qdo_instances_lock);
	while (*link != instance)
		link = &(*link)->next;
	*link = instance->next;
	lull_lock_release(&lull_qdo_instances_lock);
	lull_qdo_monitors_stop(instance);
	lull_qdo_executors_stop(instance);
	free_instance(instance);
	return 0;
}

unsigned int qdo_cpu_count(const struct qdo *instance)
{
	return instance->core.cpu_count;
}

unsigned int qdo_cpu_current(const struct qdo *instance)
{
	return lull_qdo_cpu() % instance->core.cpu_count;
}

void qdo_statistics_read(struct qdo *instance, struct qdo_statistics *result)
{
	unsigned int i;

	memset(result, 0, sizeof(*result));
	for (i = 0; i < instance->monitor_count; i++) {
		lull_lock_take(&instance->monitors[i].lock);
		result->checks += lull_mem_load64(&instance->monitors[i].checks);
	}
	for (i = 0; i < instance->core.cpu_count; i++) {
		result->steps += instance->core.cpus[i].counts.steps;
		result->communications += instance->core.cpus[i].counts.communications;
	}
	for (i = 0; i < instance->monitor_count; i++)
		lull_lock_release(&instance->monitors[i].lock);
	result->completed = lull_mem_load64(&instance->completed);
	for (i = 0; i < instance->gate_count; i++)
		result->requests += lull_mem_load64(&instance->gates[i].requests);
	if (result->requests < result->completed) /* counted, but not seen yet */
		result->requests = result->completed;
	lull_lock_take(&instance->executors.lock);
	result->executors = instance->executors.count;
	lull_lock_release(&instance->executors.lock);
}
