/* SPDX-License-Identifier: MIT */
/*
 * Deferred calls: the flavours' headers define liburcu's functions.
 */
#ifndef LULL_URCU_DEFER_H
#define LULL_URCU_DEFER_H

#include <pthread.h>
#include <stdlib.h>

#include "lull/rcu/defer.h"

#endif
