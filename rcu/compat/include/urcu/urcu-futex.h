/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/futex.h in old programs.
 */
#include <urcu/futex.h>
