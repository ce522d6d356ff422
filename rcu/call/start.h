/* SPDX-License-Identifier: MIT */
/*
 * How a worker gets its thread, and what becomes of it without one: start.c.
 */
#ifndef LULL_CALL_START_H
#define LULL_CALL_START_H

#include "work.h"

#pragma GCC visibility push(hidden)

/* Starts the default worker unless it runs. Return: 0 or a negative errno. */
int lull_worker_need(struct call_domain *calls);

/* Those that follow, under the domain's lock. */
int lull_worker_need_locked(struct call_domain *calls);
int lull_worker_start_locked(struct call_domain *calls, struct call_rcu_data *worker);
/* A worker whose thread has ended becomes a spare. */
void lull_worker_retire_locked(struct call_domain *calls, struct call_rcu_data *worker);
/* Moves what is left in a worker without a thread to the default worker, in its order. */
void lull_worker_hand_over_locked(struct call_domain *calls, struct call_rcu_data *worker);

#pragma GCC visibility pop

#endif
