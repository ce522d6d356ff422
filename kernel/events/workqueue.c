// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that threads of the kernel do for others.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/workqueue.h>
#include <trace/events/workqueue.h>
#include "events/fields.h"

/* The queue's name and its pool's CPU are in structures that only the kernel's own file knows. */
LULL_KERNEL_EVENT(workqueue, workqueue_queue_work,
		  TP_PROTO(int req_cpu, struct pool_workqueue *pwq, struct work_struct *work),
		  lull_ptr(work, work), lull_ptr(function, work->func), lull_i32(req_cpu, req_cpu));
LULL_KERNEL_EVENT(workqueue, workqueue_activate_work, TP_PROTO(struct work_struct *work),
		  lull_ptr(work, work) LULL_ACTIVATE_WORK_FIELDS);
LULL_KERNEL_EVENT(workqueue, workqueue_execute_start, TP_PROTO(struct work_struct *work),
		  lull_ptr(work, work), lull_ptr(function, work->func));
LULL_KERNEL_EVENT(workqueue, workqueue_execute_end,
		  TP_PROTO(struct work_struct *work, work_func_t function), lull_ptr(work, work),
		  lull_ptr(function, function));
