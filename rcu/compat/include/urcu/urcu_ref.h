/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/ref.h in old programs.
 */
#include <urcu/ref.h>
