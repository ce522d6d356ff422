/* SPDX-License-Identifier: MIT */
/*
 * urcu_assert(): checked in programs compiled with DEBUG_RCU.
 */
#ifndef LULL_URCU_DEBUG_H
#define LULL_URCU_DEBUG_H

#include <assert.h>

#include <urcu/config.h>

#ifdef LULL_RCU_DEBUG
#define urcu_assert(condition) assert(condition)
#else
#define urcu_assert(condition) ((void)0)
#endif
#define urcu_assert_debug(condition) urcu_assert(condition)
#define urcu_posix_assert(condition) assert(condition)

#endif
