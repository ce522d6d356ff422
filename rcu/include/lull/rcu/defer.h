/* SPDX-License-Identifier: MIT */
/*
 * Deferred calls: a queue for each thread, for objects that have no room for an rcu_head.
 *
 * A thread registers, then rcu_domain_defer() puts function and argument into its own queue: two
 * stores. One thread of the library empties all queues, a grace period at a time; a full queue is
 * emptied by its own thread. Paper: T 6.4.5.
 */
#ifndef LULL_RCU_DEFER_H
#define LULL_RCU_DEFER_H

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

int rcu_domain_defer_register_thread(struct rcu_domain *domain);
void rcu_domain_defer_unregister_thread(struct rcu_domain *domain);
void rcu_domain_defer(struct rcu_domain *domain, void (*func)(void *argument), void *argument);
void rcu_domain_defer_barrier(struct rcu_domain *domain);
void rcu_domain_defer_barrier_thread(struct rcu_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
