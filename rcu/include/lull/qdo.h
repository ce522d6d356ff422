/* SPDX-License-Identifier: MIT */
/*
 * QDo: call a function once every CPU of a set has passed a quiescent point.
 *
 * Programs mark short operations (enter, leave). A request's callback runs when all operations have
 * ended that had begun, on the CPUs of its quiescence set, before the request was made; it runs on
 * each CPU of its execution set, one after the other. No reader registers, nobody waits.
 * Paper: Q 3.1-3.4 (figure 3.2: the interface). Guide: docs/guide/qdo.md.
 */
#ifndef LULL_QDO_H
#define LULL_QDO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QDO_CPUS_MAX 1024u
#define QDO_WORD_BITS (8u * (unsigned int)sizeof(unsigned long))
#define QDO_SET_WORDS (QDO_CPUS_MAX / (8u * sizeof(unsigned long)))

/** struct qdo_set - Some CPUs. Paper: Q figure 3.2 (VPSet). */
struct qdo_set {
	unsigned long bits[QDO_CPUS_MAX / (8u * sizeof(unsigned long))];
};

/** enum qdo_algorithm - How CPUs tell each other. Paper: Q 3.3.2, table 3.1. */
enum qdo_algorithm {
	QDO_SNAPSHOT, /* each request compares generations of its CPUs: fastest, subsets */
	QDO_TOKEN, /* one token goes round */
	QDO_MULTI_TOKEN, /* each request goes round its own CPUs */
	QDO_TREE /* a binary tree counts batches */
};

/** enum qdo_submission - How a request gets into its CPU's list. Paper: Q 4.8. */
enum qdo_submission {
	QDO_SUBMIT_LOCK_FREE, /* compare and swap; in signal handlers too */
	QDO_SUBMIT_RESTARTABLE, /* a step that a preemption restarts, Q's disabled scheduler */
	QDO_SUBMIT_LOCK
};

/**
 * struct qdo_config - What an instance is like. All zero is the default.
 * @algorithm: how CPUs tell each other.
 * @submission: how a request gets into its CPU's list.
 * @period_us: how often at least the monitor looks at operations that requests wait for;
 *	0: 10000. It begins with a 64th of that and doubles it while nothing changes.
 * @timer_only: not 0: as the thesis measured it. Each CPU has a monitor thread of its own, pinned
 *	to it, which looks every @period_us and at no other time, except when a request is made
 *	there, and moves no other CPU's generation.
 * @executors_max: callbacks that run at once, at most; 0: 256. 1: one after the other, in the
 *	order in which requests became quiescent.
 * @cpu_count: CPUs the instance knows, at most QDO_CPUS_MAX; 0: all that the machine may have.
 *	A thread on a CPU of a higher number counts as on that number modulo @cpu_count.
 *
 * Paper: Q tables 5.2, 5.8, 5.10 (the choices that were measured).
 */
struct qdo_config {
	enum qdo_algorithm algorithm;
	enum qdo_submission submission;
	unsigned int period_us;
	int timer_only;
	unsigned int executors_max;
	unsigned int cpu_count;
};

/** struct qdo - An instance: its operations, requests, monitors and executors. */
struct qdo;

/**
 * struct qdo_operation - Room for an operation; its members are the library's.
 * @previous: the operation around it, in the same thread.
 * @instance: whose it is.
 * @place: the CPU where it began, and the parity of its generation.
 */
struct qdo_operation {
	struct qdo_operation *previous;
	struct qdo *instance;
	uint32_t place;
};

/**
 * struct qdo_statistics - What an instance has done since it was made, or forked.
 * @requests: requests made.
 * @completed: requests whose callbacks have all run.
 * @steps: passes of a CPU's monitor.
 * @checks: times that a timer was what made a monitor look.
 * @communications: words that monitors read from, or wrote to, another CPU's part (Q table 3.1).
 * @executors: threads that run callbacks now.
 */
struct qdo_statistics {
	uint64_t requests;
	uint64_t completed;
	uint64_t steps;
	uint64_t checks;
	uint64_t communications;
	uint64_t executors;
};

/**
 * qdo_create() - Make an instance.
 * @config: what it is like, or NULL for the default.
 * @result: where to put it.
 *
 * Threads start with the first request, none before.
 *
 * Context: thread. Progress: blocking (memory).
 * Return: 0; -EINVAL: an unknown algorithm or technique, or too many CPUs; -ENOMEM.
 * Paper: Q 3.1.2.
 */
int qdo_create(const struct qdo_config *config, struct qdo **result);

/**
 * qdo_destroy() - End an instance.
 * @instance: from qdo_create(); NULL is nothing.
 *
 * Waits until all requests are done, those of their callbacks too, then ends its threads. Nobody
 * may enter, leave or request meanwhile, but callbacks.
 *
 * Context: thread, outside the instance's operations and callbacks.
 * Progress: blocking: as long as the longest operation and the callbacks.
 * Return: 0; -EDEADLK: within an operation or a callback of the instance, which would wait for
 * itself; -EINVAL: the instance of qdo_default(). Then nothing has changed.
 */
int qdo_destroy(struct qdo *instance);

/**
 * qdo_default() - The instance of the address space.
 *
 * Made on first use, with the default configuration; lives as long as the process.
 *
 * Context: thread. Progress: blocking on first use.
 * Return: the instance, or NULL: no memory.
 * Paper: Q 3.1.2.
 */
struct qdo *qdo_default(void);

/**
 * qdo_enter() - Begin an operation.
 * @instance: the instance.
 * @operation: room for it, on the caller's stack, until qdo_leave().
 *
 * What requests remove from now on stays valid until qdo_leave(). Operations nest and overlap,
 * also of several instances; each counts by itself. They should be short: callbacks wait for them.
 *
 * Context: any, signal handlers and callbacks too. No thread may end, nor longjmp() out, within.
 * A handler that interrupts qdo_enter() or qdo_leave() must not call fork().
 * Progress: wait-free.
 * Ordering: accesses within the operation are after its beginning, for every request made later.
 * Paper: Q 2.2.2.
 */
void qdo_enter(struct qdo *instance, struct qdo_operation *operation);

/**
 * qdo_leave() - End an operation.
 * @operation: as it was passed to qdo_enter(), in this thread. Another CPU is fine.
 *
 * Context: as qdo_enter(). An operation that this thread has not begun, and a callback that ends
 * within one, are reported, and the program is aborted.
 * Progress: wait-free; usually the innermost operation ends first, and then it is O(1).
 * Ordering: accesses within the operation are before the callback of any request that waits for it.
 * Paper: Q 2.2.2.
 */
void qdo_leave(struct qdo_operation *operation);

/**
 * qdo_request() - Have a function called once all earlier operations have ended.
 * @instance: the instance.
 * @callback: called with @argument, by a thread of the library, on each CPU of @execution.
 * @argument: passed on.
 * @quiescence: CPUs whose operations to wait for: those that began there. NULL: all.
 * @execution: CPUs to call on, lowest number first, one after the other. NULL: the caller's.
 *
 * CPUs that the instance does not know are ignored. The sets are copied. A CPU that is off line, or
 * that the process may not use since it started, is replaced by any that it may use.
 *
 * The requests of one CPU that become quiescent together start in the order in which they were
 * made, but do not wait for each other's end. A callback may block, make requests, enter
 * operations, and end its thread by pthread_exit() or cancellation: it delays no other callback as
 * long as fewer than executors_max block, and none of its own calls on further CPUs is lost. It
 * must not throw.
 *
 * Context: thread; in operations and callbacks too; not in signal handlers (it allocates).
 * Progress: does not wait for operations. The first one starts a thread.
 * Ordering: what the caller did before is before the callback.
 * Return: 0; -EINVAL: no callback, or a set without any CPU of the instance; -ENOMEM; -EAGAIN: the
 * monitor's thread cannot be started. Unless it is 0 nothing will be called.
 * Paper: Q 3.2, figures 3.2 and 3.3, 4.9.
 */
int qdo_request(struct qdo *instance, void (*callback)(void *argument), void *argument,
		const struct qdo_set *quiescence, const struct qdo_set *execution);

/**
 * qdo_barrier() - Wait until every request made so far has been done.
 * @instance: the instance.
 *
 * That is until its last callback has returned, or ended its thread. Requests made meanwhile,
 * by callbacks too, are not waited for.
 *
 * Context: thread, outside the instance's operations and callbacks. Not in a signal handler.
 * Progress: blocking.
 * Ordering: those callbacks are before what follows.
 * Return: 0; -EDEADLK: within an operation or a callback of the instance.
 */
int qdo_barrier(struct qdo *instance);

/**
 * qdo_cpu_count() - CPUs that an instance knows: 0 to that number - 1.
 * @instance: the instance.
 *
 * Context: any. Progress: wait-free. Return: the number.
 */
unsigned int qdo_cpu_count(const struct qdo *instance);

/**
 * qdo_cpu_current() - The CPU where the caller runs, as the instance numbers it.
 * @instance: the instance.
 *
 * Context: any. Progress: wait-free. Return: a number, perhaps no longer true.
 */
unsigned int qdo_cpu_current(const struct qdo *instance);

/**
 * qdo_statistics_read() - What an instance has done.
 * @instance: the instance.
 * @result: where to put it.
 *
 * Context: thread, callbacks too; not in a signal handler. Progress: blocking, for a step of each
 * monitor.
 */
void qdo_statistics_read(struct qdo *instance, struct qdo_statistics *result);

/**
 * qdo_set_zero() - No CPU.
 * @set: the set.
 */
static inline void qdo_set_zero(struct qdo_set *set)
{
	unsigned int i;

	for (i = 0; i < QDO_SET_WORDS; i++)
		set->bits[i] = 0;
}

/**
 * qdo_set_all() - Every CPU; an instance takes those that it knows.
 * @set: the set.
 */
static inline void qdo_set_all(struct qdo_set *set)
{
	unsigned int i;

	for (i = 0; i < QDO_SET_WORDS; i++)
		set->bits[i] = ~0UL;
}

/**
 * qdo_set_add() - Put a CPU into a set.
 * @set: the set.
 * @cpu: its number, below QDO_CPUS_MAX.
 */
static inline void qdo_set_add(struct qdo_set *set, unsigned int cpu)
{
	set->bits[cpu / QDO_WORD_BITS] |= 1UL << cpu % QDO_WORD_BITS;
}

/**
 * qdo_set_remove() - Take a CPU out of a set.
 * @set: the set.
 * @cpu: its number, below QDO_CPUS_MAX.
 */
static inline void qdo_set_remove(struct qdo_set *set, unsigned int cpu)
{
	set->bits[cpu / QDO_WORD_BITS] &= ~(1UL << cpu % QDO_WORD_BITS);
}

/**
 * qdo_set_has() - Whether a CPU is in a set.
 * @set: the set.
 * @cpu: its number, below QDO_CPUS_MAX.
 *
 * Return: not 0 if it is.
 */
static inline int qdo_set_has(const struct qdo_set *set, unsigned int cpu)
{
	return (set->bits[cpu / QDO_WORD_BITS] >> cpu % QDO_WORD_BITS & 1) != 0;
}

/**
 * qdo_set_add_this() - Put the CPU where the caller runs into a set.
 * @set: the set.
 * @instance: the instance that will get the set.
 */
static inline void qdo_set_add_this(struct qdo_set *set, const struct qdo *instance)
{
	qdo_set_add(set, qdo_cpu_current(instance));
}

#ifdef __cplusplus
}
#endif

#endif
