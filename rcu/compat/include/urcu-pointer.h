/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/pointer.h in old programs.
 */
#include <urcu/pointer.h>
