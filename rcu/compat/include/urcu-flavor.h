/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/flavor.h in old programs.
 */
#include <urcu/flavor.h>
