/* SPDX-License-Identifier: MIT */
/* What a sandbox takes away in the middle of a run, or before it (rcu/test/behaviour). */
#ifndef LULL_RCU_TORTURE_DENY_H
#define LULL_RCU_TORTURE_DENY_H

#include <sys/syscall.h> /* the numbers */

int system_call_deny(int call); /* all threads; not 0: it cannot be done here */

#endif
