// SPDX-License-Identifier: GPL-2.0-only
/*
 * Context of the running thread, read in any context, NMIs included.
 *
 * Only a thread itself changes its credentials, its namespaces and its control group's set, or it
 * does so while it does not run; and what it leaves is freed after it has gone on. So whoever
 * interrupts the thread on its CPU finds them there, with preemption off. A name can be changed by
 * other threads: it is bytes of the old and of the new one then. Design: docs/design/70-filter.md.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>
#include "compat/mount_namespace.h"
#include "context.h"

static uint64_t cgroup_of(const struct task_struct *task)
{
#ifdef CONFIG_CGROUPS
	return rcu_dereference_raw(task->cgroups)->dfl_cgrp->kn->id;
#else
	return 0;
#endif
}

/* The number of one of the namespaces that lie in task->nsproxy, which a thread that ends lacks. */
static uint32_t namespace_of(const struct task_struct *task, enum lull_context which)
{
	const struct nsproxy *proxy = READ_ONCE(task->nsproxy);

	if (!proxy)
		return 0;
	switch (which) {
	case LULL_CONTEXT_NET_NS:
		return proxy->net_ns->ns.inum;
	case LULL_CONTEXT_MNT_NS:
		return lull_mount_namespace(proxy->mnt_ns)->inum;
	case LULL_CONTEXT_UTS_NS:
		return proxy->uts_ns->ns.inum;
	case LULL_CONTEXT_IPC_NS:
		return proxy->ipc_ns->ns.inum;
	default:
		return proxy->cgroup_ns->ns.inum;
	}
}

static uint32_t pid_namespace_of(const struct task_struct *task)
{
	const struct pid *pid = READ_ONCE(task->thread_pid);

	return pid ? pid->numbers[pid->level].ns->ns.inum : 0;
}

/* A name, which another thread may be changing. */
static struct lull_filter_value name_of(const struct task_struct *task)
{
	struct lull_filter_value name = { .text = task->comm };

	while (name.number < TASK_COMM_LEN - 1 && READ_ONCE(task->comm[name.number]))
		name.number++;
	return name;
}

static uint64_t number_of(const struct task_struct *task, enum lull_context which)
{
	const struct cred *cred = rcu_dereference_raw(task->cred);

	switch (which) {
	case LULL_CONTEXT_PID:
		return (uint64_t)task->tgid;
	case LULL_CONTEXT_TID:
		return (uint64_t)task->pid;
	case LULL_CONTEXT_PRIO:
		return (uint64_t)task->prio;
	case LULL_CONTEXT_CPU:
		return raw_smp_processor_id();
	case LULL_CONTEXT_UID:
		return cred->euid.val;
	case LULL_CONTEXT_GID:
		return cred->egid.val;
	case LULL_CONTEXT_CGROUP:
		return cgroup_of(task);
	case LULL_CONTEXT_PID_NS:
		return pid_namespace_of(task);
	case LULL_CONTEXT_USER_NS:
		return cred->user_ns->ns.inum;
	default:
		return namespace_of(task, which);
	}
}

void lull_context_read(struct lull_filter_value *values, uint32_t wanted)
{
	/* Bound: LULL_CONTEXTS bits. */
	for (; wanted; wanted &= wanted - 1) {
		enum lull_context which = (enum lull_context)__builtin_ctz(wanted);

		values[which] = which == LULL_CONTEXT_COMM ?
					name_of(current) :
					(struct lull_filter_value){
						.number = number_of(current, which),
					};
	}
}

static uint32_t bytes_of(enum lull_context which)
{
	switch (which) {
	case LULL_CONTEXT_COMM:
		return TASK_COMM_LEN;
	case LULL_CONTEXT_CGROUP:
		return sizeof(uint64_t);
	default:
		return sizeof(uint32_t);
	}
}

uint32_t lull_context_bytes(uint32_t wanted)
{
	uint32_t bytes = 0;

	for (; wanted; wanted &= wanted - 1)
		bytes += bytes_of((enum lull_context)__builtin_ctz(wanted));
	return bytes;
}

unsigned char *lull_context_store(unsigned char *to, uint32_t wanted)
{
	const struct task_struct *task = current;

	/* Bound: LULL_CONTEXTS bits. */
	for (; wanted; wanted &= wanted - 1) {
		enum lull_context which = (enum lull_context)__builtin_ctz(wanted);
		uint64_t number;

		if (which == LULL_CONTEXT_COMM) {
			__builtin_memcpy(to, task->comm, TASK_COMM_LEN);
			to += TASK_COMM_LEN;
			continue;
		}
		number = number_of(task, which);
		if (which == LULL_CONTEXT_CGROUP) {
			__builtin_memcpy(to, &number, sizeof(number));
			to += sizeof(number);
		} else {
			*(uint32_t *)to = (uint32_t)number;
			to += sizeof(uint32_t);
		}
	}
	return to;
}
