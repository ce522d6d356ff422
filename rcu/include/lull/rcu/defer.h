/* SPDX-License-Identifier: MIT */
/*
 * Deferred calls: a queue for each thread, for objects that have no room for an rcu_head.
 *
 * A thread registers, then rcu_domain_defer() puts function and argument into its own queue: two
 * stores, and one for their number. One thread of the library empties all queues, a grace period
 * at a time; a full queue, of 4096 entries, is emptied by its own thread. Whoever empties queues
 * calls what is in them: a function that was deferred may read and defer more, but neither wait
 * for deferred calls nor register or unregister.
 *
 * fork() is covered with that of callbacks: by itself with bp, else by call_rcu_before_fork() and
 * its sisters. The child calls what its parent's threads had deferred. Paper: T 6.4.5.
 */
#ifndef LULL_RCU_DEFER_H
#define LULL_RCU_DEFER_H

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rcu_domain_defer_register_thread() - Give the calling thread a queue of deferred calls.
 * @domain: whose readers to wait for.
 *
 * Once, before the thread's first defer_rcu(); it must unregister before it ends.
 *
 * Context: thread, outside sections. Progress: blocking; the first starts a thread.
 * Return: 0, -ENOMEM, or -EAGAIN (no more threads).
 */
int rcu_domain_defer_register_thread(struct rcu_domain *domain);

/**
 * rcu_domain_defer_unregister_thread() - Empty the calling thread's queue and free it.
 * @domain: as for rcu_domain_defer_register_thread().
 *
 * Context: thread, outside sections and deferred calls; a QSBR thread is offline meanwhile.
 * Progress: blocking: a grace period and the calls.
 */
void rcu_domain_defer_unregister_thread(struct rcu_domain *domain);

/**
 * rcu_domain_defer() - Have a function called after a grace period, by the thread's own queue.
 * @domain: whose readers to wait for.
 * @func: called once, with @argument, in this thread or another.
 * @argument: passed on.
 *
 * Calls that one thread defers are made in that order.
 *
 * Context: a thread that registered, outside sections; not in signal handlers. A QSBR thread may
 * pass a quiescent state here.
 * Progress: wait-free; blocking, for a grace period and the calls, when the queue is full.
 * Ordering: what the caller wrote before is before the call of @func.
 */
void rcu_domain_defer(struct rcu_domain *domain, void (*func)(void *argument), void *argument);

/**
 * rcu_domain_defer_barrier() - Wait until all calls that any thread deferred so far were made.
 * @domain: whose deferred calls.
 *
 * Context: thread, registered or not, outside sections and deferred calls; a QSBR thread is offline
 * meanwhile.
 * Progress: blocking: a grace period and the calls.
 */
void rcu_domain_defer_barrier(struct rcu_domain *domain);

/**
 * rcu_domain_defer_barrier_thread() - Wait until all calls that this thread deferred were made.
 * @domain: whose deferred calls.
 *
 * Context and progress: as rcu_domain_defer_barrier().
 */
void rcu_domain_defer_barrier_thread(struct rcu_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
