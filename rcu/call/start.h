/* SPDX-License-Identifier: MIT */
/*
 * How a worker gets its thread, and what becomes of its callbacks without one: start.c.
 */
#ifndef LULL_CALL_START_H
#define LULL_CALL_START_H

#include "work.h"

#pragma GCC visibility push(hidden)

/* Starts the default worker unless it runs. Return: 0 or a negative errno. */
int lull_worker_need(struct call_domain *calls);

/* The calls below are made with the domain's lock held. */
int lull_worker_need_locked(struct call_domain *calls);
int lull_worker_start_locked(struct call_domain *calls, struct call_rcu_data *worker);
/* A worker whose thread has ended becomes a spare. */
void lull_worker_retire_locked(struct call_domain *calls, struct call_rcu_data *worker);
/* Moves the callbacks of a worker without a thread to the default worker, in their order. */
void lull_worker_hand_over_locked(struct call_domain *calls, struct call_rcu_data *worker);

#pragma GCC visibility pop

#endif
