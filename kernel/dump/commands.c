// SPDX-License-Identifier: GPL-2.0-only
/*
 * Command lines of processes: the arguments that their programs were started with.
 *
 * They lie in the program's memory, where the program may change them. A step reads them there
 * without faulting, as the probes of system calls do: what is not in memory is told as unreadable,
 * and nobody waits, neither for a disk nor for a lock of the process's. The memory is kept for as
 * long as that takes, as it is for readers of /proc.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "arguments.h"
#include "dump/record.h"

#define COMMAND_BYTES 1024

struct found {
	uint32_t bytes;
	bool is_there, is_read, is_cut;
};

/* Copy the arguments, each with its NUL, to @to. */
static struct found command_copy(struct task_struct *task, char *to)
{
	struct mm_struct *memory = get_task_mm(task); /* none of the kernel's threads has any */
	struct found found = { 0 };
	unsigned long begin, until;

	if (!memory)
		return found;
	spin_lock(&memory->arg_lock);
	begin = memory->arg_start;
	until = memory->arg_end;
	spin_unlock(&memory->arg_lock);
	found.is_there = until > begin;
	if (found.is_there) {
		found.is_cut = until - begin > COMMAND_BYTES;
		found.bytes = (uint32_t)min_t(unsigned long, until - begin, COMMAND_BYTES);
		kthread_use_mm(memory);
		found.is_read = !copy_from_user_nofault(to, (void __user *)begin, found.bytes);
		kthread_unuse_mm(memory);
	}
	mmput(memory);
	return found;
}

void lull_dump_command(struct dump *dump, struct task_struct *task)
{
	/* The text grows to twice its size at most, so it never reaches what it is made of. */
	const char *from = dump->text + PATH_MAX - COMMAND_BYTES;
	const struct found found = command_copy(task, dump->text + PATH_MAX - COMMAND_BYTES);
	const char *until = from + found.bytes;
	char *to = dump->text;

	BUILD_BUG_ON(3 * COMMAND_BYTES >= PATH_MAX);
	if (!found.is_there)
		return;
	while (found.is_read && from < until) {
		size_t bytes = strnlen(from, (size_t)(until - from));

		to = lull_argument_append(to, from, (uint32_t)bytes);
		from += bytes + 1;
		if (from < until)
			*to++ = ' ';
	}
	*to = 0;
	LULL_DUMP_EVENT(&dump->counts[DUMP_COMMAND], "state:command", lull_i32(pid, task->tgid),
			lull_str(text, found.is_read ? dump->text : "(unreadable)"),
			lull_bool(is_cut, found.is_cut));
}
