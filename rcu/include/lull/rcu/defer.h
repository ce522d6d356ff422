/* SPDX-License-Identifier: MIT */
/*
 * Deferred calls: a queue for each thread, for objects that have no room for an rcu_head.
 *
 * A thread registers. Then rcu_domain_defer() puts a function and its argument into that thread's
 * queue: two stores, and a third for the number of entries. For each domain one thread of the
 * library empties all queues, and waits for one grace period each time; a thread whose queue is
 * full, with 4096 entries, empties that queue itself. The thread that empties a queue makes the
 * calls: a function that was deferred may read and defer more, but neither wait for deferred calls
 * nor register or unregister.
 *
 * Deferred calls survive a fork() as callbacks do: with bp by themselves, with other flavours by
 * call_rcu_before_fork() and its sisters. The child makes the calls that threads of its parent had
 * deferred and none had begun. Paper: T 6.4.5.
 */
#ifndef LULL_RCU_DEFER_H
#define LULL_RCU_DEFER_H

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rcu_domain_defer_register_thread() - Give the calling thread a queue of deferred calls.
 * @domain: the domain whose readers its calls wait for.
 *
 * A thread makes this call once, before its first defer_rcu(), and unregisters before it ends.
 *
 * Context: thread, outside sections. Progress: blocking; the first call starts a thread.
 * Return: 0, -ENOMEM, or -EAGAIN (the library's thread cannot be started).
 */
int rcu_domain_defer_register_thread(struct rcu_domain *domain);

/**
 * rcu_domain_defer_unregister_thread() - Empty the calling thread's queue and free it.
 * @domain: as for rcu_domain_defer_register_thread().
 *
 * Context: thread, outside sections and deferred calls; a QSBR thread is offline meanwhile.
 * Progress: blocking: a grace period and the calls, as often as calls defer further ones.
 */
void rcu_domain_defer_unregister_thread(struct rcu_domain *domain);

/**
 * rcu_domain_defer() - Have a function called after a grace period, by the thread's own queue.
 * @domain: the domain whose readers to wait for.
 * @func: the function, which is called once, with @argument, in this thread or another.
 * @argument: what the function gets.
 *
 * Calls that one thread defers are made in that order.
 *
 * Context: a thread that registered, outside sections; not in signal handlers. A QSBR thread may
 * pass a quiescent state here.
 * Progress: wait-free, with a system call when the library's thread sleeps; blocking, for a grace
 * period and the calls, when the queue is full.
 * Ordering: what the caller wrote before is before the call of @func.
 */
void rcu_domain_defer(struct rcu_domain *domain, void (*func)(void *argument), void *argument);

/**
 * rcu_domain_defer_barrier() - Wait until all calls that any thread deferred so far were made.
 * @domain: the domain of the deferred calls.
 *
 * Context: thread, registered or not, outside sections and deferred calls; a QSBR thread is offline
 * meanwhile.
 * Progress: blocking: a grace period and the calls.
 */
void rcu_domain_defer_barrier(struct rcu_domain *domain);

/**
 * rcu_domain_defer_barrier_thread() - Wait until all calls that this thread deferred were made.
 * @domain: the domain of the deferred calls.
 *
 * Context: as rcu_domain_defer_barrier(). Progress: blocking: a grace period and the calls; a
 * thread that is not registered has no calls, and returns at once.
 */
void rcu_domain_defer_barrier_thread(struct rcu_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
