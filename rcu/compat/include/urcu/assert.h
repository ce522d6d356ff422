/* SPDX-License-Identifier: MIT */
/*
 * Checks at run time: urcu_posix_assert() is assert(), and urcu_assert_debug() is checked in
 * programs compiled with DEBUG_RCU. A condition that is not checked still counts as used.
 */
#ifndef LULL_URCU_ASSERT_H
#define LULL_URCU_ASSERT_H

#include <assert.h>

#include <urcu/config.h>

#define URCU_UNCHECKED_(condition) ((void)sizeof((void)(condition), 0))

#ifdef NDEBUG
#define urcu_posix_assert(condition) URCU_UNCHECKED_(condition)
#else
#define urcu_posix_assert(condition) assert(condition)
#endif

#ifdef LULL_RCU_DEBUG
#define urcu_assert_debug(condition) urcu_posix_assert(condition)
#else
#define urcu_assert_debug(condition) URCU_UNCHECKED_(condition)
#endif

#endif
