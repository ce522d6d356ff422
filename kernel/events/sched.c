// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler's events: which thread runs, which one is made to, and which begin and end.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <trace/events/sched.h>
#include "events/fields.h"

/* The states of a thread that leaves its CPU, by the letters of ps. */
#define LULL_STATE_NAMES "R=0,S=0x1,D=0x2,T=0x4,t=0x8,X=0x10,Z=0x20,P=0x40,I=0x80,preempted=0x100"

/* Why the thread left the CPU, as the kernel's own event has it: 0 while it could go on. */
static __always_inline long state_left(bool preempt, unsigned int prev_state,
				       const struct task_struct *prev)
{
	unsigned int index;

	if (preempt)
		return TASK_REPORT_MAX;
	index = __task_state_index(prev_state, prev->exit_state);
	return index ? 1l << (index - 1) : 0;
}

LULL_KERNEL_EVENT(sched, sched_kthread_stop, TP_PROTO(struct task_struct *t),
		  lull_str16(comm, t->comm), lull_i32(pid, t->pid));
LULL_KERNEL_EVENT(sched, sched_kthread_stop_ret, TP_PROTO(int ret), lull_i32(ret, ret));
LULL_KERNEL_EVENT(sched, sched_kthread_work_queue_work,
		  TP_PROTO(struct kthread_worker *worker, struct kthread_work *work),
		  lull_ptr(work, work), lull_ptr(function, work->func), lull_ptr(worker, worker));
LULL_KERNEL_EVENT(sched, sched_kthread_work_execute_start, TP_PROTO(struct kthread_work *work),
		  lull_ptr(work, work), lull_ptr(function, work->func));
LULL_KERNEL_EVENT(sched, sched_kthread_work_execute_end,
		  TP_PROTO(struct kthread_work *work, kthread_work_func_t function),
		  lull_ptr(work, work), lull_ptr(function, function));

#define SCHED_WAKEUP_FIELDS                                                        \
	lull_str16(comm, p->comm), lull_i32(pid, p->pid), lull_i32(prio, p->prio), \
		lull_i32(target_cpu, (int)task_cpu(p))

LULL_KERNEL_EVENT(sched, sched_waking, TP_PROTO(struct task_struct *p), SCHED_WAKEUP_FIELDS);
LULL_KERNEL_EVENT(sched, sched_wakeup, TP_PROTO(struct task_struct *p), SCHED_WAKEUP_FIELDS);
LULL_KERNEL_EVENT(sched, sched_wakeup_new, TP_PROTO(struct task_struct *p), SCHED_WAKEUP_FIELDS);
LULL_KERNEL_EVENT(sched, sched_switch,
		  TP_PROTO(bool preempt, struct task_struct *prev, struct task_struct *next,
			   unsigned int prev_state),
		  lull_str16(prev_comm, prev->comm), lull_i32(prev_pid, prev->pid),
		  lull_i32(prev_prio, prev->prio),
		  lull_flags64(prev_state, state_left(preempt, prev_state, prev), LULL_STATE_NAMES),
		  lull_str16(next_comm, next->comm), lull_i32(next_pid, next->pid),
		  lull_i32(next_prio, next->prio));
LULL_KERNEL_EVENT(sched, sched_migrate_task, TP_PROTO(struct task_struct *p, int dest_cpu),
		  lull_str16(comm, p->comm), lull_i32(pid, p->pid), lull_i32(prio, p->prio),
		  lull_i32(orig_cpu, (int)task_cpu(p)), lull_i32(dest_cpu, dest_cpu));

#define SCHED_PROCESS_FIELDS \
	lull_str16(comm, p->comm), lull_i32(pid, p->pid), lull_i32(prio, p->prio)

LULL_KERNEL_EVENT(sched, sched_process_free, TP_PROTO(struct task_struct *p), SCHED_PROCESS_FIELDS);
LULL_KERNEL_EVENT(sched, sched_process_exit, TP_PROTO(struct task_struct *p), SCHED_PROCESS_FIELDS);
LULL_KERNEL_EVENT(sched, sched_wait_task, TP_PROTO(struct task_struct *p), SCHED_PROCESS_FIELDS);
LULL_KERNEL_EVENT(sched, sched_process_wait, TP_PROTO(struct pid *pid),
		  lull_str16(comm, current->comm), lull_i32(pid, pid_nr(pid)),
		  lull_i32(prio, current->prio));
LULL_KERNEL_EVENT(sched, sched_process_fork,
		  TP_PROTO(struct task_struct *parent, struct task_struct *child),
		  lull_str16(parent_comm, parent->comm), lull_i32(parent_pid, parent->pid),
		  lull_str16(child_comm, child->comm), lull_i32(child_pid, child->pid));
LULL_KERNEL_EVENT(sched, sched_process_exec,
		  TP_PROTO(struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm),
		  lull_str(filename, bprm->filename), lull_i32(pid, p->pid),
		  lull_i32(old_pid, old_pid));

#ifdef CONFIG_SCHEDSTATS
#define SCHED_STAT_FIELDS \
	lull_str16(comm, tsk->comm), lull_i32(pid, tsk->pid), lull_u64(delay, delay)

LULL_KERNEL_EVENT(sched, sched_stat_wait, TP_PROTO(struct task_struct *tsk, u64 delay),
		  SCHED_STAT_FIELDS);
LULL_KERNEL_EVENT(sched, sched_stat_sleep, TP_PROTO(struct task_struct *tsk, u64 delay),
		  SCHED_STAT_FIELDS);
LULL_KERNEL_EVENT(sched, sched_stat_iowait, TP_PROTO(struct task_struct *tsk, u64 delay),
		  SCHED_STAT_FIELDS);
LULL_KERNEL_EVENT(sched, sched_stat_blocked, TP_PROTO(struct task_struct *tsk, u64 delay),
		  SCHED_STAT_FIELDS);
#endif

LULL_KERNEL_EVENT(sched, sched_stat_runtime, LULL_STAT_RUNTIME, lull_str16(comm, tsk->comm),
		  lull_i32(pid, tsk->pid), lull_u64(runtime, runtime) LULL_STAT_RUNTIME_FIELDS);
static __always_inline int prio_with(const struct task_struct *tsk, const struct task_struct *donor)
{
	return donor ? min(tsk->normal_prio, donor->prio) : tsk->normal_prio;
}

LULL_KERNEL_EVENT(sched, sched_pi_setprio,
		  TP_PROTO(struct task_struct *tsk, struct task_struct *pi_task),
		  lull_str16(comm, tsk->comm), lull_i32(pid, tsk->pid),
		  lull_i32(oldprio, tsk->prio), lull_i32(newprio, prio_with(tsk, pi_task)));
LULL_KERNEL_EVENT(sched, sched_process_hang, TP_PROTO(struct task_struct *tsk),
		  lull_str16(comm, tsk->comm), lull_i32(pid, tsk->pid));
LULL_KERNEL_EVENT(sched, sched_wake_idle_without_ipi, TP_PROTO(int cpu), lull_i32(cpu, cpu));
