/* SPDX-License-Identifier: MIT */
/*
 * QDo: call a function once every CPU of a set has passed a quiescent point.
 *
 * Programs mark short operations: qdo_enter() begins one, qdo_leave() ends it. A request has a
 * callback and two sets of CPUs. The callback runs when all operations have ended that had begun,
 * before the request was made, on the CPUs of its quiescence set. It runs on each CPU of its
 * execution set, one after the other. Threads need not register, and the requester does not wait.
 * Paper: Q 3.1-3.4 (figure 3.2: the interface). Guide: docs/guide/qdo.md.
 */
#ifndef LULL_QDO_H
#define LULL_QDO_H

#include <stdint.h>
#include "lull/rcu/annotate.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QDO_CPUS_MAX 1024u
#define QDO_WORD_BITS (8u * (unsigned int)sizeof(unsigned long))
#define QDO_SET_WORDS (QDO_CPUS_MAX / (8u * sizeof(unsigned long)))

/** struct qdo_set - A set of CPUs, one bit for each. Paper: Q figure 3.2 (VPSet). */
struct qdo_set {
	unsigned long bits[QDO_CPUS_MAX / (8u * sizeof(unsigned long))];
};

/** enum qdo_algorithm - How CPUs learn of each other's quiescence. Paper: Q 3.3.2, table 3.1. */
enum qdo_algorithm {
	QDO_SNAPSHOT, /* each request compares the generations of its CPUs: the fastest */
	QDO_TOKEN, /* one token goes round all CPUs */
	QDO_MULTI_TOKEN, /* each request goes round the CPUs of its quiescence set */
	QDO_TREE /* a binary tree counts rounds of all CPUs */
};

/** enum qdo_submission - How a request gets into its CPU's list. Paper: Q 4.8. */
enum qdo_submission {
	QDO_SUBMIT_LOCK_FREE, /* by compare-and-swap */
	QDO_SUBMIT_RESTARTABLE, /* by a step that a preemption restarts: Q's disabled scheduler */
	QDO_SUBMIT_LOCK /* under the list's lock */
};

/**
 * struct qdo_config - The choices for an instance; all zero is the default.
 * @algorithm: how CPUs learn of each other's quiescence.
 * @submission: how a request gets into its CPU's list.
 * @period_us: how often at least the monitor looks at operations that requests wait for, in
 *	microseconds; 0: 10000; at most 1000000000. The monitor begins with a 64th of the period
 *	and doubles it while nothing changes.
 * @timer_only: not 0: the instance works as the thesis measured it. Each CPU has a monitor thread
 *	of its own, pinned to it, which looks every @period_us, and when a request is made on its
 *	CPU, and which moves no other CPU's generation.
 * @executors_max: how many callbacks run at once, at most; 0: 256. With 1 they run one after the
 *	other, in the order in which their requests became quiescent.
 * @cpu_count: how many CPUs the instance knows, at most QDO_CPUS_MAX; 0: all that the machine may
 *	have. A thread on a CPU of a higher number counts as on that number modulo @cpu_count.
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
 * struct qdo_operation - Room for an operation; its members belong to the library.
 * @previous: the operation that the same thread began before.
 * @instance: the instance of this operation.
 * @place: the CPU where the operation began, and the parity of its generation.
 */
struct qdo_operation {
	struct qdo_operation *previous;
	struct qdo *instance;
	uint32_t place;
};

/**
 * struct qdo_statistics - What an instance has done since it was made, or since the fork in a
 * child.
 * @requests: how many requests were made.
 * @completed: how many requests are done: their callback has run on all CPUs of its execution set.
 * @steps: how many steps monitors have made for CPUs.
 * @checks: how often a timer made a monitor look.
 * @communications: how many words steps have read from, or written to, another CPU's part (Q table
 *	3.1).
 * @executors: how many threads for callbacks there are now, idle ones included.
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
 * @config: the choices, which are copied; NULL for the default.
 * @result: where to put the instance's address.
 *
 * An instance starts its threads with its first request.
 *
 * Context: thread. Progress: blocking: allocates.
 * Return: 0; -EINVAL: an unknown algorithm or submission, or more than QDO_CPUS_MAX CPUs; -ENOMEM.
 * Paper: Q 3.1.2.
 */
int qdo_create(const struct qdo_config *config, struct qdo **result);

/**
 * qdo_destroy() - End an instance.
 * @instance: what qdo_create() returned; for NULL the call does nothing.
 *
 * The call waits until all requests are done, those that their callbacks make too; then it ends the
 * instance's threads. No thread but callbacks may enter, leave or request meanwhile.
 *
 * Context: thread, outside the instance's operations and callbacks.
 * Progress: blocking: as long as the longest operation and the callbacks.
 * Return: 0; -EDEADLK: the caller is within an operation or a callback of the instance and would
 * wait for itself; -EINVAL: this is the instance of qdo_default(). After an error nothing has
 * changed.
 */
int qdo_destroy(struct qdo *instance);

/**
 * qdo_default() - The instance of the address space.
 *
 * The first call makes the instance, with the default choices. It lives as long as the process.
 *
 * Context: thread. Progress: blocking in the first call; then wait-free.
 * Return: the instance; NULL when there is no memory for it.
 * Paper: Q 3.1.2.
 */
struct qdo *qdo_default(void);

/**
 * qdo_enter() - Begin an operation.
 * @instance: the instance.
 * @operation: room for the operation, on the caller's stack, until qdo_leave().
 *
 * An object stays valid until qdo_leave() if a request that reclaims it is made from now on.
 * Operations nest and overlap, also those of several instances; each counts by itself. They should
 * be short, because callbacks wait for them.
 *
 * Context: any, signal handlers and callbacks too. A thread must not end within an operation, nor
 * longjmp() out of it. A handler that interrupts qdo_enter() or qdo_leave() must not call fork().
 * Progress: wait-free.
 * Ordering: every request made later waits for the accesses within the operation.
 * Paper: Q 2.2.2.
 */
void qdo_enter(struct qdo *instance, struct qdo_operation *operation);

/**
 * qdo_leave() - End an operation.
 * @operation: the operation, as this thread passed it to qdo_enter(), on this CPU or another.
 *
 * A call for an operation that this thread has not begun, and a callback that ends within an
 * operation, are reported, and the program is aborted.
 *
 * Context: as qdo_enter().
 * Progress: wait-free; O(1) when the operation is the one that this thread began last, else in
 * proportion to the operations that it began later.
 * Ordering: accesses within the operation are before the callback of any request that waits for it.
 * Paper: Q 2.2.2.
 */
void qdo_leave(struct qdo_operation *operation);

/**
 * qdo_request() - Have a function called once all earlier operations have ended.
 * @instance: the instance.
 * @callback: the function, which a thread of the library calls on each CPU of @execution.
 * @argument: what the callback gets.
 * @quiescence: the CPUs whose operations to wait for, those that began there. NULL: all CPUs.
 * @execution: the CPUs on which to call, lowest number first, one after the other. NULL: the CPU
 *	where the caller runs.
 *
 * CPUs that the instance does not know are ignored. The sets are copied. In place of a CPU that is
 * off line, or that the process was not allowed to use when it started, the callback runs on any
 * CPU that it may use.
 *
 * The requests of one CPU that become quiescent together start in the order in which they were
 * made, but do not wait for each other's end. A callback may block, make requests, enter
 * operations, and end its thread by pthread_exit() or cancellation. It delays no other callback as
 * long as fewer than executors_max callbacks block; and where it ends its thread, it is still
 * called on the further CPUs of its set. It must not throw.
 *
 * Context: thread; in operations and callbacks too; not in signal handlers (it allocates).
 * Progress: does not wait for operations; waits while another thread forks. The first request of an
 * instance starts its monitor's thread.
 * Ordering: what the caller did before is before the callback.
 * Return: 0; -EINVAL: no callback, or a set without any CPU of the instance; -ENOMEM; -EAGAIN: the
 * monitor's thread cannot be started. After an error the callback will not be called.
 * Paper: Q 3.2, figures 3.2 and 3.3, 4.9.
 */
int qdo_request(struct qdo *instance, void (*callback)(void *argument), void *argument,
		const struct qdo_set *quiescence, const struct qdo_set *execution);

/**
 * qdo_barrier() - Wait until every request made so far has been done.
 * @instance: the instance.
 *
 * A request is done when the last call of its callback has returned, or has ended its thread. The
 * call does not wait for requests that are made meanwhile, by callbacks or by other threads.
 *
 * Context: thread, outside the instance's operations and callbacks. Not in a signal handler.
 * Progress: blocking: as long as the longest operation and the callbacks.
 * Ordering: those callbacks are before the return.
 * Return: 0; -EDEADLK: the caller is within an operation or a callback of the instance.
 */
int qdo_barrier(struct qdo *instance);

/**
 * qdo_cpu_count() - How many CPUs an instance knows.
 * @instance: the instance.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Return: the count; CPUs are numbered from 0 to one less than it.
 */
unsigned int qdo_cpu_count(const struct qdo *instance);

/**
 * qdo_cpu_current() - The CPU where the caller runs, as the instance numbers it.
 * @instance: the instance.
 *
 * Context: any, signal handlers too. Progress: wait-free.
 * Return: the CPU's number; the caller may have left that CPU by now.
 */
unsigned int qdo_cpu_current(const struct qdo *instance);

/**
 * qdo_statistics_read() - What an instance has done.
 * @instance: the instance.
 * @result: where to put the numbers.
 *
 * Context: thread, callbacks too; not in a signal handler.
 * Progress: blocking, for one pass of each monitor over its CPUs.
 */
void qdo_statistics_read(struct qdo *instance, struct qdo_statistics *result);

/**
 * qdo_set_zero() - Take all CPUs out of a set.
 * @set: the set.
 */
static inline void qdo_set_zero(struct qdo_set *set)
{
	unsigned int i;

	for (i = 0; i < QDO_SET_WORDS; i++)
		set->bits[i] = 0;
}

/**
 * qdo_set_all() - Put every CPU into a set; an instance takes those that it knows.
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
 * @cpu: the CPU's number, below QDO_CPUS_MAX.
 */
static inline void qdo_set_add(struct qdo_set *set, unsigned int cpu)
{
	set->bits[cpu / QDO_WORD_BITS] |= 1UL << cpu % QDO_WORD_BITS;
}

/**
 * qdo_set_remove() - Take a CPU out of a set.
 * @set: the set.
 * @cpu: the CPU's number, below QDO_CPUS_MAX.
 */
static inline void qdo_set_remove(struct qdo_set *set, unsigned int cpu)
{
	set->bits[cpu / QDO_WORD_BITS] &= ~(1UL << cpu % QDO_WORD_BITS);
}

/**
 * qdo_set_has() - Whether a CPU is in a set.
 * @set: the set.
 * @cpu: the CPU's number, below QDO_CPUS_MAX.
 *
 * Return: not 0 if the CPU is in the set.
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

/* ThreadSanitizer is told what an operation did before callbacks that wait for its end. */
#ifdef LULL_RCU_ANNOTATED_CALLS
static inline void qdo_annotated_leave(struct qdo_operation *operation)
{
	rcu_annotate_release(operation->instance);
	qdo_leave(operation);
}

#define qdo_leave qdo_annotated_leave
#endif

#ifdef __cplusplus
}
#endif

#endif
