/* SPDX-License-Identifier: MIT */
/*
 * What a program does before it has workers, so that they survive a fork: fork.c.
 */
#ifndef LULL_CALL_FORK_H
#define LULL_CALL_FORK_H

#include "start.h"

#pragma GCC visibility push(hidden)

/*
 * Has the C library pause workers around fork(), for the flavour that looks after itself. Not
 * before that is used: so it comes behind the registry's own handlers, and workers pause before the
 * registry is locked.
 */
void lull_call_follow_forks(const struct call_domain *calls);
/* The same, and lull_worker_need(). */
int lull_call_need(struct call_domain *calls);

#pragma GCC visibility pop

#endif
