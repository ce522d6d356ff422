/* SPDX-License-Identifier: MIT */
/*
 * Callbacks after a grace period, and the workers that call them.
 *
 * call_rcu() hands a callback to a worker: the calling thread's, if it has one; else its CPU's,
 * if there is one; else the domain's default worker, which starts with the first callback. A worker
 * takes all its callbacks, waits for one grace period and calls them. Functions that take a
 * domain serve every flavour: &rcu_memb_domain and its sisters.
 *
 * Callbacks that one thread hands to one worker are called in that order. They may read, call
 * call_rcu(), create and free workers, and fork; they may not wait for other callbacks. Signals
 * are blocked in workers.
 * Paper: T 6.4.5 (figure 6.11), 6.5.3 (figures 6.17, 6.18: batch size).
 */
#ifndef LULL_RCU_CALL_H
#define LULL_RCU_CALL_H

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_head - Room in an object for its callback.
 * @next: the library's.
 * @func: the library's.
 */
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

struct call_rcu_data; /* a worker */

/* The worker wakes by its own timer: callers make no system call (for real-time threads). */
#define CALL_RCU_RT 1UL

/**
 * struct call_rcu_tuning - How a worker trades memory for processor time.
 * @batch_min_count: it waits for that many callbacks before it starts a grace period,
 * @delay_max_us: but no longer than this after the first. 0: not at all.
 *
 * A worker that was not tuned begins at once when it is woken. After a batch of fewer than 1000
 * callbacks it rests for a millisecond (a real-time one for ten), so that callers of a steady
 * stream need not wake it each time; larger batches follow each other at once.
 */
struct call_rcu_tuning {
	unsigned long batch_min_count;
	unsigned long delay_max_us;
};

/**
 * rcu_domain_call() - Have a function called after a grace period.
 * @domain: whose readers to wait for.
 * @head: in the object to reclaim; the library's until @func is called.
 * @func: called once, with @head, in a worker's thread.
 *
 * Context: any thread, registered or not, within sections too; not in signal handlers.
 * Progress: wait-free: one exchange, one store. Blocking only when it starts the default worker
 * (the first call) and when the worker is freed at that moment. A worker that sleeps is woken by a
 * system call unless it is a real-time one.
 * Ordering: what the caller wrote before is before the call of @func.
 * Paper: T 6.4.5, figure 6.11.
 */
void rcu_domain_call(struct rcu_domain *domain, struct rcu_head *head,
		     void (*func)(struct rcu_head *head));

/**
 * rcu_domain_barrier() - Wait until all callbacks queued so far have been called.
 * @domain: whose callbacks.
 *
 * On all workers of the domain, whoever queued them; what is queued meanwhile is not waited for.
 * Workers that rest, or let a batch grow, begin at once. Within a section or a callback of the same
 * domain it would wait for itself: the program is stopped with a message.
 *
 * Context: thread, outside sections and callbacks; a QSBR thread is offline meanwhile.
 * Progress: blocking: a grace period and the callbacks.
 * Ordering: what callbacks wrote is before the return.
 * Paper: T 6.4.5.
 */
void rcu_domain_barrier(struct rcu_domain *domain);

/**
 * create_call_rcu_data() - Start a worker.
 * @domain: whose callbacks it gets.
 * @flags: 0 or CALL_RCU_RT.
 * @cpu: where it runs, if that CPU is there; -1: wherever the process's first thread may.
 *
 * It gets callbacks once it is set for a thread or a CPU. Scheduling policy and priority are those
 * of the caller.
 *
 * Context: thread, within sections too. Progress: blocking: starts a thread.
 * Return: the worker; NULL with errno EINVAL (flags, or no such CPU on any machine), ENOMEM, or
 * EAGAIN (no more threads).
 */
struct call_rcu_data *create_call_rcu_data(struct rcu_domain *domain, unsigned long flags, int cpu);

/**
 * call_rcu_data_free() - End a worker.
 * @worker: from create_call_rcu_data(). NULL and the default worker: nothing is done.
 *
 * It finishes its batch; the default worker gets what is left. No CPU has it any more. A thread
 * that has it still, or is in call_rcu() with it, loses nothing: its callbacks go to the default
 * worker. But the pointer must be used no longer than that, as a worker that is created later
 * may be found at the same place.
 *
 * Context: thread, outside sections and the worker's callbacks; a QSBR thread is offline meanwhile.
 * Progress: blocking: a grace period and the callbacks of the batch.
 */
void call_rcu_data_free(struct call_rcu_data *worker);

/**
 * call_rcu_data_tune() - Tell a worker how to choose its batches.
 * @worker: any, the default too.
 * @tuning: copied. All 0: never wait, never rest.
 *
 * What it was waiting for it begins at once.
 *
 * Context: any thread. Progress: wait-free; wakes the worker by a system call.
 * Paper: T 6.5.3, figures 6.17, 6.18.
 */
void call_rcu_data_tune(struct call_rcu_data *worker, const struct call_rcu_tuning *tuning);

/**
 * get_default_call_rcu_data() - The domain's default worker.
 * @domain: the domain.
 *
 * Context: thread, within sections too. Progress: blocking: starts it when it does not run.
 * Return: the worker; NULL with errno EAGAIN when it cannot be started.
 */
struct call_rcu_data *get_default_call_rcu_data(struct rcu_domain *domain);

/**
 * get_call_rcu_data() - The worker that gets the calling thread's callbacks now.
 * @domain: the domain.
 *
 * Context: thread, within sections too. Progress: wait-free, unless it is the default worker.
 * Return: the thread's own, or its CPU's, or what get_default_call_rcu_data() returns.
 */
struct call_rcu_data *get_call_rcu_data(struct rcu_domain *domain);

/**
 * get_thread_call_rcu_data() - The calling thread's own worker.
 * @domain: the domain.
 *
 * Context: thread. Progress: wait-free.
 * Return: what set_thread_call_rcu_data() was given, or NULL.
 */
struct call_rcu_data *get_thread_call_rcu_data(struct rcu_domain *domain);

/**
 * set_thread_call_rcu_data() - Give the calling thread a worker of its own.
 * @domain: the domain.
 * @worker: one of that domain; NULL: none.
 *
 * Several threads may have the same. The one before is not freed.
 *
 * Context: thread. Progress: wait-free.
 */
void set_thread_call_rcu_data(struct rcu_domain *domain, struct call_rcu_data *worker);

/**
 * get_cpu_call_rcu_data() - A CPU's worker.
 * @domain: the domain.
 * @cpu: the CPU's number.
 *
 * Context: thread. Progress: wait-free.
 * Return: the worker; NULL when it has none, or there is no such CPU.
 */
struct call_rcu_data *get_cpu_call_rcu_data(struct rcu_domain *domain, int cpu);

/**
 * set_cpu_call_rcu_data() - Give a CPU a worker: it gets callbacks of threads that run there.
 * @domain: the domain.
 * @cpu: the CPU's number.
 * @worker: one of that domain; NULL: none. The one before is not freed.
 *
 * Context: thread. Progress: blocking, short.
 * Return: 0; -EINVAL: no such CPU; -EEXIST: the CPU has one, set NULL first; -ENOMEM.
 */
int set_cpu_call_rcu_data(struct rcu_domain *domain, int cpu, struct call_rcu_data *worker);

/**
 * create_all_cpu_call_rcu_data() - Start a worker on each CPU that has none.
 * @domain: the domain.
 * @flags: as for create_call_rcu_data().
 *
 * After an error, those that were started stay: free_all_cpu_call_rcu_data() ends them.
 *
 * Context: thread. Progress: blocking: starts threads.
 * Return: 0, or the negative of what create_call_rcu_data() left in errno.
 */
int create_all_cpu_call_rcu_data(struct rcu_domain *domain, unsigned long flags);

/**
 * free_all_cpu_call_rcu_data() - Take the workers of all CPUs away, and end them.
 * @domain: the domain.
 *
 * Context and progress: as call_rcu_data_free(), for each.
 */
void free_all_cpu_call_rcu_data(struct rcu_domain *domain);

/**
 * call_rcu_data_thread() - The thread of a worker, to set its priority or its CPUs.
 * @worker: the worker.
 * @pthread: a pthread_t, which is written.
 *
 * Context: thread. Progress: blocking, short.
 * Return: 0; -ESRCH: it has none, as it was freed, or is not the one that forked this process.
 */
int call_rcu_data_thread(const struct call_rcu_data *worker, void *pthread);

/**
 * call_rcu_before_fork() - Pause the domain's workers for a fork() that follows.
 * @domain: the domain. With bp it is called by fork() itself.
 *
 * They pause between two callbacks, so a callback that waits for the caller is not to run. Until
 * the caller calls call_rcu_after_fork_parent(), workers are neither created nor freed; call_rcu()
 * goes on. A program that forks with several flavours names them in one order everywhere. Calls
 * nest. Deferred calls (defer_rcu()) pause too.
 *
 * Context: thread, callbacks too; a QSBR thread is offline meanwhile.
 * Progress: blocking: the callbacks that run.
 */
void call_rcu_before_fork(struct rcu_domain *domain);

/**
 * call_rcu_after_fork_parent() - Let the workers go on, in the parent.
 * @domain: as for call_rcu_before_fork().
 *
 * Context: the thread that called call_rcu_before_fork(). Progress: wait-free; a system call.
 */
void call_rcu_after_fork_parent(struct rcu_domain *domain);

/**
 * call_rcu_after_fork_child() - Begin again with a default worker, in the child.
 * @domain: as for call_rcu_before_fork().
 *
 * Callbacks that were queued before call_rcu_before_fork() and not called are called in the child
 * too, as are those of the calling thread until the fork; the default worker gets them all, and
 * starts if there are any. No CPU and no thread has a worker; those that the parent created are
 * gone and must not be freed. A callback that forked goes on, in its worker.
 *
 * Context: the only thread of the child. Progress: blocking: may start a thread.
 */
void call_rcu_after_fork_child(struct rcu_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
