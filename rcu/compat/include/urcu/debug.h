/* SPDX-License-Identifier: MIT */
/*
 * The old name of the checks of urcu/assert.h.
 */
#ifndef LULL_URCU_DEBUG_H
#define LULL_URCU_DEBUG_H

#include <urcu/assert.h>

#define urcu_assert(condition) urcu_assert_debug(condition)

#endif
