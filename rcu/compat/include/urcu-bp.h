/* SPDX-License-Identifier: MIT */
/*
 * The bp flavour under the short names.
 */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif
#include <urcu/urcu-bp.h>
