/* SPDX-License-Identifier: MIT */
/*
 * The name of urcu/call-rcu.h in old programs.
 */
#include <urcu/call-rcu.h>
