// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler's events: which thread runs, and which one is made to.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/sched.h>
#include <trace/events/sched.h>
#include "event.h"

/* Why the thread left the CPU, as the kernel's own event has it: 0 while it could go on. */
static long state_left(bool preempt, const struct task_struct *prev, unsigned int prev_state)
{
	unsigned int index;

	if (preempt)
		return TASK_REPORT_MAX;
	index = __task_state_index(prev_state, prev->exit_state);
	return index ? 1l << (index - 1) : 0;
}

static void probe_sched_switch(void *data, bool preempt, struct task_struct *prev,
			       struct task_struct *next, unsigned int prev_state)
{
	lull_event("sched:sched_switch", lull_strn(prev_comm, prev->comm, TASK_COMM_LEN),
		   lull_i32(prev_pid, prev->pid), lull_i32(prev_prio, prev->prio),
		   lull_i64(prev_state, state_left(preempt, prev, prev_state)),
		   lull_strn(next_comm, next->comm, TASK_COMM_LEN), lull_i32(next_pid, next->pid),
		   lull_i32(next_prio, next->prio));
}
LULL_TRACEPOINT_EVENT(sched_switch, "sched:sched_switch", probe_sched_switch);

static void probe_sched_waking(void *data, struct task_struct *task)
{
	lull_event("sched:sched_waking", lull_strn(comm, task->comm, TASK_COMM_LEN),
		   lull_i32(pid, task->pid), lull_i32(prio, task->prio),
		   lull_i32(target_cpu, (int)task_cpu(task)));
}
LULL_TRACEPOINT_EVENT(sched_waking, "sched:sched_waking", probe_sched_waking);
