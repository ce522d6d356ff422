/* SPDX-License-Identifier: MIT */
/*
 * A flavour as a table of functions, for code that is told at run time which one to use.
 */
#ifndef LULL_URCU_FLAVOR_H
#define LULL_URCU_FLAVOR_H

#include <urcu/urcu-poll.h>

#include "lull/rcu/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rcu_head;

/**
 * struct rcu_flavor_struct - liburcu's table, and what ours needs.
 * @domain: the flavour's, for structures that take one.
 */
struct rcu_flavor_struct {
	void (*read_lock)(void);
	void (*read_unlock)(void);
	int (*read_ongoing)(void);
	void (*read_quiescent_state)(void);
	void (*update_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void (*update_synchronize_rcu)(void);
	void (*update_defer_rcu)(void (*fct)(void *p), void *p);

	void (*thread_offline)(void);
	void (*thread_online)(void);
	void (*register_thread)(void);
	void (*unregister_thread)(void);

	void (*barrier)(void);
	struct rcu_domain *domain;
};

#ifdef __cplusplus
}
#endif

#endif
