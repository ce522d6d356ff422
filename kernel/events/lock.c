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
		  lull_ptr(lock_addr, lock),
		  lull_flags32(flags, flags,
			       "SPIN=0x1,READ=0x2,WRITE=0x4,RT=0x8,PERCPU=0x10,MUTEX=0x20"));
LULL_KERNEL_EVENT(lock, contention_end, TP_PROTO(void *lock, int ret), lull_ptr(lock_addr, lock),
		  lull_i32(ret, ret));
