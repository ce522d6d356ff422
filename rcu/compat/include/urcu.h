/* SPDX-License-Identifier: MIT */
/*
 * The flavour that urcu/urcu.h chooses, under the short names: rcu_read_lock() and its sisters.
 */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif
#include <urcu/urcu.h>
