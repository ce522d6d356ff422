/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/defer.h in old programs.
 */
#include <urcu/defer.h>
