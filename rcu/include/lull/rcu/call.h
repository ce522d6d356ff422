/* SPDX-License-Identifier: MIT */
/*
 * Callbacks after a grace period, and the workers that call them.
 *
 * call_rcu() hands a callback to a worker: to the calling thread's own worker, if it has one; else
 * to the worker of its CPU, if there is one; else to the domain's default worker, which starts with
 * the first callback. A worker takes all its callbacks, waits for one grace period and calls them.
 * The functions here serve every flavour and take its domain: &rcu_memb_domain or another.
 *
 * Callbacks that one thread hands to one worker are called in that order. A callback may read, call
 * call_rcu(), create and free workers, and fork; it may not wait for other callbacks, nor end its
 * thread, for the callbacks behind it would never be called. Signals are blocked in workers, but
 * those that a callback's own faults raise.
 * Paper: T 6.4.5 (figure 6.11), 6.5.3 (figures 6.17, 6.18: batch size).
 */
#ifndef LULL_RCU_CALL_H
#define LULL_RCU_CALL_H

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_head - Room in an object for its callback; its members belong to the library.
 * @next: the link to the callback that was queued next.
 * @func: the function to call.
 */
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

struct call_rcu_data; /* a worker */

/*
 * A real-time worker looks for callbacks every ten milliseconds by its own timer, so that threads
 * which call call_rcu() never make a system call to wake it.
 */
#define CALL_RCU_RT 1UL

/**
 * struct call_rcu_tuning - How a worker trades memory for processor time.
 * @batch_min_count: how many callbacks the worker waits for before it starts a grace period.
 * @delay_max_us: how long at most it waits for them, in microseconds. 0: it does not wait.
 *
 * A worker that was not tuned starts a grace period as soon as it finds a callback. After a batch
 * of fewer than 2000 callbacks, which came soon after the batch before, it rests for two
 * milliseconds, so that callers in a steady stream need not wake it each time; larger batches
 * follow each other at once. A worker that was tuned does not rest.
 */
struct call_rcu_tuning {
	unsigned long batch_min_count;
	unsigned long delay_max_us;
};

/**
 * rcu_domain_call() - Have a function called after a grace period.
 * @domain: the domain whose readers to wait for.
 * @head: room in the object to reclaim; it belongs to the library until @func is called.
 * @func: the function, which is called once, with @head, in a worker's thread.
 *
 * Context: any thread, registered or not, within sections too; not in signal handlers.
 * Progress: wait-free: one exchange and one store. It blocks only when it starts the default worker
 * (in the first call) and when the worker is being freed at that moment. A worker that sleeps is
 * woken by a system call.
 * Ordering: what the caller wrote before is before the call of @func.
 * Paper: T 6.4.5, figure 6.11.
 */
void rcu_domain_call(struct rcu_domain *domain, struct rcu_head *head,
		     void (*func)(struct rcu_head *head));

/**
 * rcu_domain_barrier() - Wait until all callbacks queued so far have been called.
 * @domain: the domain whose callbacks to wait for.
 *
 * It waits for the callbacks that any thread has queued in any worker of the domain, and not for
 * those that are queued meanwhile. Workers that rest, or let a batch grow, begin at once. Within a
 * section or a callback of the same domain the call would wait for itself: then a message says so,
 * and the program is aborted.
 *
 * Context: thread, outside sections and callbacks; a QSBR thread is offline meanwhile.
 * Progress: blocking: a grace period and the callbacks.
 * Ordering: what callbacks wrote is before the return.
 * Paper: T 6.4.5.
 */
void rcu_domain_barrier(struct rcu_domain *domain);

/**
 * create_call_rcu_data() - Start a worker.
 * @domain: the domain whose callbacks the worker gets.
 * @flags: 0 or CALL_RCU_RT.
 * @cpu: the number of the CPU on which the worker runs, if that CPU is on line; -1: the worker runs
 *	on any CPU on which the process's first thread may run.
 *
 * The worker gets callbacks once set_thread_call_rcu_data() or set_cpu_call_rcu_data() has given it
 * to a thread or a CPU. It runs with the caller's scheduling policy and priority.
 *
 * Context: thread, within sections too. Progress: blocking: starts a thread.
 * Return: the worker; NULL with errno EINVAL (unknown flags, or a CPU number above any that Linux
 * knows), ENOMEM, or EAGAIN (the thread cannot be started).
 */
struct call_rcu_data *create_call_rcu_data(struct rcu_domain *domain, unsigned long flags, int cpu);

/**
 * call_rcu_data_free() - End a worker.
 * @worker: what create_call_rcu_data() returned. For NULL and for the default worker the call does
 *	nothing.
 *
 * The worker finishes its batch; the default worker gets the callbacks that are left. The worker is
 * taken away from all CPUs. A thread that still has it as its own, or is in call_rcu() with it at
 * this moment, loses nothing: its callbacks go to the default worker. But the thread must be given
 * another worker, or none, before the next create_call_rcu_data(), which may return the same
 * address for a new worker.
 *
 * Context: thread, outside sections and the worker's callbacks; a QSBR thread is offline meanwhile.
 * Progress: blocking: a grace period and the callbacks of the batch.
 */
void call_rcu_data_free(struct call_rcu_data *worker);

/**
 * call_rcu_data_tune() - Tell a worker how to choose its batches.
 * @worker: any worker, the default one too.
 * @tuning: the numbers, which are copied. With all 0 the worker neither waits nor rests.
 *
 * A worker that lets a batch grow at this moment goes on by the new numbers.
 *
 * Context: any thread. Progress: wait-free; wakes the worker by a system call.
 * Paper: T 6.5.3, figures 6.17, 6.18.
 */
void call_rcu_data_tune(struct call_rcu_data *worker, const struct call_rcu_tuning *tuning);

/**
 * get_default_call_rcu_data() - The domain's default worker.
 * @domain: the domain.
 *
 * Context: thread, within sections too. Progress: blocking: takes the domain's lock, and starts the
 * worker when it does not run.
 * Return: the worker; NULL with errno EAGAIN when its thread cannot be started.
 */
struct call_rcu_data *get_default_call_rcu_data(struct rcu_domain *domain);

/**
 * get_call_rcu_data() - The worker that gets the calling thread's callbacks now.
 * @domain: the domain.
 *
 * Context: thread, within sections too. Progress: wait-free; where the default worker is returned,
 * as get_default_call_rcu_data().
 * Return: the thread's own worker; else its CPU's; else what get_default_call_rcu_data() returns.
 */
struct call_rcu_data *get_call_rcu_data(struct rcu_domain *domain);

/**
 * get_thread_call_rcu_data() - The calling thread's own worker.
 * @domain: the domain.
 *
 * Context: thread. Progress: wait-free.
 * Return: the worker that set_thread_call_rcu_data() was given last, or NULL.
 */
struct call_rcu_data *get_thread_call_rcu_data(struct rcu_domain *domain);

/**
 * set_thread_call_rcu_data() - Give the calling thread a worker of its own.
 * @domain: the domain.
 * @worker: a worker of that domain; NULL: the thread has no worker of its own any more.
 *
 * Several threads may have the same worker. The thread's worker before this call is not freed.
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
 * Return: the worker; NULL when the CPU has none, or there is no such CPU.
 */
struct call_rcu_data *get_cpu_call_rcu_data(struct rcu_domain *domain, int cpu);

/**
 * set_cpu_call_rcu_data() - Give a CPU a worker, which gets callbacks of threads that run there.
 * @domain: the domain.
 * @cpu: the CPU's number.
 * @worker: a worker of that domain; NULL: the CPU has no worker any more. The CPU's worker before
 *	this call is not freed.
 *
 * Context: thread. Progress: blocking, for as long as another such call changes the workers.
 * Return: 0; -EINVAL: there is no such CPU; -EEXIST: the CPU has a worker, set NULL first; -ENOMEM.
 */
int set_cpu_call_rcu_data(struct rcu_domain *domain, int cpu, struct call_rcu_data *worker);

/**
 * create_all_cpu_call_rcu_data() - Start a worker on each CPU that has none.
 * @domain: the domain.
 * @flags: as for create_call_rcu_data().
 *
 * After an error, the workers that were started stay: free_all_cpu_call_rcu_data() ends them.
 *
 * Context: thread. Progress: blocking: starts threads.
 * Return: 0, or the negative of what create_call_rcu_data() left in errno.
 */
int create_all_cpu_call_rcu_data(struct rcu_domain *domain, unsigned long flags);

/**
 * free_all_cpu_call_rcu_data() - Take the workers of all CPUs away, and end them.
 * @domain: the domain.
 *
 * Context: as call_rcu_data_free(). Progress: blocking, as that function for each worker.
 */
void free_all_cpu_call_rcu_data(struct rcu_domain *domain);

/**
 * call_rcu_data_thread() - The thread of a worker, to set its priority or its CPUs.
 * @worker: the worker.
 * @pthread: the address of a pthread_t, where the thread's name is stored.
 *
 * Context: thread. Progress: blocking, for as long as a worker starts or ends.
 * Return: 0; -ESRCH: the worker has no thread, because it has not started, was freed, or stayed
 * behind in the parent of this process.
 */
int call_rcu_data_thread(const struct call_rcu_data *worker, void *pthread);

/**
 * call_rcu_before_fork() - Pause the domain's workers for a fork() that follows.
 * @domain: the domain. For the domain of bp, fork() itself makes this call.
 *
 * A callback that runs goes on, and is not waited for: it may wait for the caller. No worker begins
 * another one, and workers are neither created nor freed, until the caller calls
 * call_rcu_after_fork_parent(); call_rcu() goes on. One thread at a time is between the two calls,
 * whatever its domain. Calls nest. The same holds for deferred calls (defer_rcu()).
 *
 * Context: thread, callbacks and sections too; a QSBR thread is offline while it waits.
 * Progress: blocking: other threads that fork.
 */
void call_rcu_before_fork(struct rcu_domain *domain);

/**
 * call_rcu_after_fork_parent() - Let the workers go on, in the parent.
 * @domain: as for call_rcu_before_fork().
 *
 * Context: the thread that called call_rcu_before_fork(). Progress: wait-free; wakes the workers by
 * a system call.
 */
void call_rcu_after_fork_parent(struct rcu_domain *domain);

/**
 * call_rcu_after_fork_child() - Begin again with a default worker, in the child.
 * @domain: as for call_rcu_before_fork().
 *
 * Callbacks that were queued before call_rcu_before_fork() and not called then are called in the
 * child too, as are those that the calling thread queued between that call and the fork. The
 * default worker gets them all, and starts if there are any. No CPU and no thread has a worker of
 * its own in the child; the workers that the parent created are gone and must not be freed. A
 * callback that forked goes on, in its worker; one that a worker ran meanwhile is not in the child:
 * it is not called again, and what it had begun stays as it was.
 *
 * Context: the only thread of the child. Progress: blocking: may start a thread.
 */
void call_rcu_after_fork_child(struct rcu_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
