// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads and processes, in the order of their numbers.
 *
 * A step finds the thread with the least number from a given one on, in a section of RCU that ends
 * with it, and keeps the thread's task_struct, nothing else: no reference to a file or to memory,
 * which would keep these in use after the program gave them up.
 *
 * A thread that begins meanwhile is told by task:task_newtask. Its files were told before only if
 * those of its parent were, so it is visited, too: numbers are given in ascending order, and where
 * they start again at the least, a second walk visits those that began since the dump did.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/idr.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>
#include "dump/record.h"

/* What a thread has of its own, and not in common with the first thread of its process. */
struct own {
	bool is_leader, credentials, files;
};

/* Numbers of the namespaces of a thread, as /proc shows them; 0: it has none any more. */
struct namespaces {
	uint32_t pid, user, net, uts, ipc, cgroup;
	pid_t tid; /* in its own namespace */
};

/*
 * The thread with the least number from @number on, if a task has that number.
 * Return: false where no number is left.
 */
static bool task_next(int *number, struct task_struct **task)
{
	struct pid *pid;

	*task = NULL;
	rcu_read_lock();
	pid = idr_get_next(&init_pid_ns.idr, number);
	if (pid)
		*task = pid_task(pid, PIDTYPE_PID);
	if (*task)
		get_task_struct(*task);
	rcu_read_unlock();
	return pid != NULL;
}

static struct own own_of(const struct task_struct *task)
{
	const struct task_struct *leader;
	struct own own;

	rcu_read_lock();
	leader = READ_ONCE(task->group_leader);
	own.is_leader = task == leader;
	own.credentials = own.is_leader || rcu_access_pointer(task->real_cred) !=
						   rcu_access_pointer(leader->real_cred);
	own.files = own.is_leader || READ_ONCE(task->files) != READ_ONCE(leader->files);
	rcu_read_unlock();
	return own;
}

/*
 * The state as ps shows it, but X for each thread that ends: sched:sched_process_exit comes before
 * the thread's state changes, and may have come before this dump began.
 */
static char state_of(struct task_struct *task)
{
	if (READ_ONCE(task->flags) & PF_EXITING && !task->exit_state)
		return 'X';
	return task_state_to_char(task);
}

static void thread_record(struct dump *dump, struct task_struct *task)
{
	pid_t ppid = task_ppid_nr(task);
	char state[2] = { state_of(task) }, name[TASK_COMM_LEN];

	/* task:task_rename comes before the name changes, with this lock held. */
	task_lock(task);
	memcpy(name, task->comm, sizeof(name));
	task_unlock(task);

	LULL_DUMP_EVENT(&dump->counts[DUMP_THREAD], "state:thread", lull_i32(tid, task->pid),
			lull_i32(pid, task->tgid), lull_i32(ppid, ppid),
			lull_strn(name, name, TASK_COMM_LEN - 1), lull_strn(state, state, 1),
			lull_u64(start_ns, task->start_boottime), lull_i32(prio, task->prio),
			lull_i32(cpu, (int)task_cpu(task)),
			lull_bool(is_kernel, task->flags & PF_KTHREAD));
}

static void credentials_record(struct dump *dump, struct task_struct *task)
{
	const struct cred *cred = get_task_cred(task);
	uint64_t effective, permitted;

	memcpy(&effective, &cred->cap_effective, sizeof(effective));
	memcpy(&permitted, &cred->cap_permitted, sizeof(permitted));
	LULL_DUMP_EVENT(
		&dump->counts[DUMP_CREDENTIALS], "state:credentials", lull_i32(tid, task->pid),
		lull_i32(pid, task->tgid), lull_u32(uid, __kuid_val(cred->uid)),
		lull_u32(euid, __kuid_val(cred->euid)), lull_u32(suid, __kuid_val(cred->suid)),
		lull_u32(fsuid, __kuid_val(cred->fsuid)), lull_u32(gid, __kgid_val(cred->gid)),
		lull_u32(egid, __kgid_val(cred->egid)), lull_u32(sgid, __kgid_val(cred->sgid)),
		lull_u32(fsgid, __kgid_val(cred->fsgid)),
		lull_x64(capabilities_effective, effective),
		lull_x64(capabilities_permitted, permitted));
	put_cred(cred);
}

static struct namespaces namespaces_of(struct task_struct *task)
{
	struct namespaces found = { 0 };
	struct pid_namespace *pids;

	rcu_read_lock();
	pids = task_active_pid_ns(task);
	if (pids) {
		found.pid = pids->ns.inum;
		found.tid = task_pid_nr_ns(task, pids);
	}
	found.user = __task_cred(task)->user_ns->ns.inum;
	rcu_read_unlock();
	task_lock(task);
	if (task->nsproxy) {
		found.net = task->nsproxy->net_ns->ns.inum;
		found.uts = task->nsproxy->uts_ns->ns.inum;
		found.ipc = task->nsproxy->ipc_ns->ns.inum;
		found.cgroup = task->nsproxy->cgroup_ns->ns.inum;
	}
	task_unlock(task);
	return found;
}

/* The path of the program, in the dump's text. */
static const char *program_of(struct dump *dump, struct task_struct *task)
{
	const char *path = "";
	struct file *file;

	task_lock(task);
	rcu_read_lock();
	file = task->mm && !(task->flags & PF_KTHREAD) ? rcu_dereference(task->mm->exe_file) : NULL;
	if (file)
		path = lull_dump_path(dump, &file->f_path);
	rcu_read_unlock();
	task_unlock(task);
	return path;
}

static void process_record(struct dump *dump, struct task_struct *task)
{
	struct namespaces namespaces = namespaces_of(task);
	pid_t group = task_pgrp_nr_ns(task, &init_pid_ns);
	pid_t session = task_session_nr_ns(task, &init_pid_ns);
	const char *program = program_of(dump, task);

	LULL_DUMP_EVENT(
		&dump->counts[DUMP_PROCESS], "state:process", lull_i32(pid, task->tgid),
		lull_i32(group, group), lull_i32(session, session),
		lull_i32(pid_in_namespace, namespaces.tid), lull_u32(pid_namespace, namespaces.pid),
		lull_u32(user_namespace, namespaces.user), lull_u32(net_namespace, namespaces.net),
		lull_u32(uts_namespace, namespaces.uts), lull_u32(ipc_namespace, namespaces.ipc),
		lull_u32(cgroup_namespace, namespaces.cgroup), lull_str(program, program));
}

/* In the hierarchy of version 2. */
static void cgroup_record(struct dump *dump, struct task_struct *task)
{
	struct cgroup *group;
	uint64_t id;

	rcu_read_lock();
	group = task_dfl_cgroup(task);
	id = cgroup_id(group);
	if (cgroup_path(group, dump->text, PATH_MAX) < 0)
		dump->text[0] = 0;
	rcu_read_unlock();
	LULL_DUMP_EVENT(&dump->counts[DUMP_CGROUP], "state:cgroup", lull_i32(pid, task->tgid),
			lull_u64(id, id), lull_str(path, dump->text));
}

static void task_record(struct dump *dump, struct task_struct *task)
{
	struct own own = own_of(task);

	thread_record(dump, task);
	if (own.is_leader) {
		process_record(dump, task);
		if (dump->has_commands)
			lull_dump_command(dump, task);
		cgroup_record(dump, task);
	}
	if (own.credentials)
		credentials_record(dump, task);
	if (own.files)
		lull_dump_files(dump, task);
	if (own.is_leader && dump->has_maps)
		lull_dump_maps(dump, task);
}

/* Threads that began at a time or later. Bound: the highest number that a thread can have. */
static void walk(struct dump *dump, uint64_t from_ns)
{
	struct task_struct *task;
	int number;

	for (number = 1; lull_dump_goes_on(dump) && task_next(&number, &task); number++) {
		if (!task)
			continue;
		if (task->start_boottime >= from_ns)
			task_record(dump, task);
		put_task_struct(task);
	}
}

void lull_dump_tasks(struct dump *dump)
{
	uint64_t begin_ns = ktime_get_boottime_ns();

	dump->has_maps = lull_dump_wants(dump, "state:map");
	dump->has_commands = lull_dump_wants(dump, "state:command");
	walk(dump, 0);
	walk(dump, begin_ns);
}
