/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/uatomic.h in old programs.
 */
#include <urcu/uatomic.h>
