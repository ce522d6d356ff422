/* SPDX-License-Identifier: MIT */
/*
 * What a worker's thread does: work.c.
 */
#ifndef LULL_CALL_WORK_H
#define LULL_CALL_WORK_H

#include "domain.h"

#pragma GCC visibility push(hidden)

/* Wakes a worker that naps or sleeps. Of several threads that do so one makes the system call. */
void lull_worker_rouse(struct call_rcu_data *worker);
void *lull_worker_main(void *worker);

#pragma GCC visibility pop

#endif
