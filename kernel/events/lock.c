// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that wait for locks of the kernel's.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/sched.h>
#include <trace/events/lock.h>
#include "events/fields.h"

LULL_KERNEL_EVENT(lock, contention_begin, TP_PROTO(void *lock, unsigned int flags),
		  lull_ptr(lock_addr, lock), lull_x32(flags, flags));
LULL_KERNEL_EVENT(lock, contention_end, TP_PROTO(void *lock, int ret), lull_ptr(lock_addr, lock),
		  lull_i32(ret, ret));
