/* SPDX-License-Identifier: MIT */
/*
 * Callbacks after a grace period: their place in objects, and the kinds of workers. The flavours'
 * headers declare the functions.
 */
#ifndef LULL_URCU_CALL_RCU_H
#define LULL_URCU_CALL_RCU_H

#include <pthread.h>
#include <stdlib.h>

#include <urcu/wfcqueue.h>

#include "lull/rcu/call.h"

/* The worker wakes by a timer: callers make no system call. */
#define URCU_CALL_RCU_RT (1U << 0)

#endif
