// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals, new threads and names.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <trace/events/signal.h>
#include <trace/events/task.h>
#include <trace/events/cgroup.h>
#include <trace/events/rseq.h>
#include "events/fields.h"
#include "syscall/flags.h"
#include "syscall/names.h"

/* What the kernel's own event shows where a signal has no information, or the kernel sent it. */
static __always_inline int siginfo_errno(const struct kernel_siginfo *info)
{
	return info == SEND_SIG_NOINFO || info == SEND_SIG_PRIV ? 0 : info->si_errno;
}

static __always_inline int siginfo_code(const struct kernel_siginfo *info)
{
	if (info == SEND_SIG_NOINFO)
		return SI_USER;
	return info == SEND_SIG_PRIV ? SI_KERNEL : info->si_code;
}

LULL_KERNEL_EVENT(signal, signal_generate,
		  TP_PROTO(int sig, struct kernel_siginfo *info, struct task_struct *task,
			   int group, int result),
		  lull_enum(sig, sig, CALL_SIGNAL), lull_i32(errno, siginfo_errno(info)),
		  lull_i32(code, siginfo_code(info)), lull_str16(comm, task->comm),
		  lull_i32(pid, task->pid), lull_i32(group, group), lull_i32(result, result));
LULL_KERNEL_EVENT(signal, signal_deliver,
		  TP_PROTO(int sig, struct kernel_siginfo *info, struct k_sigaction *ka),
		  lull_enum(sig, sig, CALL_SIGNAL), lull_i32(errno, siginfo_errno(info)),
		  lull_i32(code, siginfo_code(info)),
		  lull_x64(sa_handler, (unsigned long)ka->sa.sa_handler),
		  lull_flags64(sa_flags, ka->sa.sa_flags, CALL_NAMES(CALL_SIGACTION)));

LULL_KERNEL_EVENT(task, task_newtask, TP_PROTO(struct task_struct *task, unsigned long clone_flags),
		  lull_i32(pid, task->pid), lull_str16(comm, task->comm),
		  lull_flags64(clone_flags, clone_flags, CALL_NAMES(CALL_CLONE)),
		  lull_i16(oom_score_adj, task->signal->oom_score_adj));
LULL_KERNEL_EVENT(task, task_rename, TP_PROTO(struct task_struct *task, const char *comm),
		  lull_i32(pid, task->pid), lull_str16(oldcomm, task->comm),
		  lull_strn(newcomm, comm, TASK_COMM_LEN - 1),
		  lull_i16(oom_score_adj, task->signal->oom_score_adj));

#define CGROUP_ROOT_FIELDS                                                             \
	lull_i32(root, root->hierarchy_id), lull_x16(ss_mask, (u16)root->subsys_mask), \
		lull_str(name, root->name)

LULL_KERNEL_EVENT(cgroup, cgroup_setup_root, TP_PROTO(struct cgroup_root *root),
		  CGROUP_ROOT_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_destroy_root, TP_PROTO(struct cgroup_root *root),
		  CGROUP_ROOT_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_remount, TP_PROTO(struct cgroup_root *root), CGROUP_ROOT_FIELDS);

#define CGROUP_FIELDS                                                           \
	lull_i32(root, cgrp->root->hierarchy_id), lull_i32(level, cgrp->level), \
		lull_u64(id, cgroup_id(cgrp)), lull_str(path, path)

LULL_KERNEL_EVENT(cgroup, cgroup_mkdir, TP_PROTO(struct cgroup *cgrp, const char *path),
		  CGROUP_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_rmdir, TP_PROTO(struct cgroup *cgrp, const char *path),
		  CGROUP_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_release, TP_PROTO(struct cgroup *cgrp, const char *path),
		  CGROUP_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_rename, TP_PROTO(struct cgroup *cgrp, const char *path),
		  CGROUP_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_freeze, TP_PROTO(struct cgroup *cgrp, const char *path),
		  CGROUP_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_unfreeze, TP_PROTO(struct cgroup *cgrp, const char *path),
		  CGROUP_FIELDS);

#define CGROUP_MIGRATE_FIELDS                                                                   \
	lull_i32(dst_root, dst_cgrp->root->hierarchy_id), lull_i32(dst_level, dst_cgrp->level), \
		lull_u64(dst_id, cgroup_id(dst_cgrp)), lull_i32(pid, task->pid),                \
		lull_str(dst_path, path), lull_str16(comm, task->comm)

LULL_KERNEL_EVENT(cgroup, cgroup_attach_task,
		  TP_PROTO(struct cgroup *dst_cgrp, const char *path, struct task_struct *task,
			   bool threadgroup),
		  CGROUP_MIGRATE_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_transfer_tasks,
		  TP_PROTO(struct cgroup *dst_cgrp, const char *path, struct task_struct *task,
			   bool threadgroup),
		  CGROUP_MIGRATE_FIELDS);

#define CGROUP_EVENT_FIELDS                                                     \
	lull_i32(root, cgrp->root->hierarchy_id), lull_i32(level, cgrp->level), \
		lull_u64(id, cgroup_id(cgrp)), lull_str(path, path), lull_i32(val, val)

LULL_KERNEL_EVENT(cgroup, cgroup_notify_populated,
		  TP_PROTO(struct cgroup *cgrp, const char *path, int val), CGROUP_EVENT_FIELDS);
LULL_KERNEL_EVENT(cgroup, cgroup_notify_frozen,
		  TP_PROTO(struct cgroup *cgrp, const char *path, int val), CGROUP_EVENT_FIELDS);

LULL_KERNEL_EVENT(rseq, rseq_update, TP_PROTO(struct task_struct *t),
		  lull_i32(cpu_id, raw_smp_processor_id()) LULL_RSEQ_UPDATE_FIELDS);
LULL_KERNEL_EVENT(rseq, rseq_ip_fixup,
		  TP_PROTO(unsigned long regs_ip, unsigned long start_ip,
			   unsigned long post_commit_offset, unsigned long abort_ip),
		  lull_x64(regs_ip, regs_ip), lull_x64(start_ip, start_ip),
		  lull_u64(post_commit_offset, post_commit_offset), lull_x64(abort_ip, abort_ip));
