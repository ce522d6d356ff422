// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors of a process, in their order, with the names of their files.
 *
 * A step copies what is told of one descriptor under the lock of the table. It takes no reference
 * to the file: a program that closed a file and then executes, unmounts or removes something would
 * find it in use.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/sched/task.h>
#include "dump/record.h"
#include "dump/socket.h"
#include "syscall/flags.h"

struct found {
	unsigned int fd;
	bool is_there; /* or only about to be */
	bool closes_on_exec;
	uint32_t flags, device;
	uint16_t mode;
	uint64_t inode;
	const char *path;
	struct lull_dump_socket socket;
};

static void file_copy(struct dump *dump, struct file *file, struct found *found)
{
	const struct inode *inode = file_inode(file);

	found->is_there = true;
	found->flags = file->f_flags;
	found->device = inode->i_sb->s_dev;
	found->mode = inode->i_mode;
	found->inode = inode->i_ino;
	found->path = lull_dump_path(dump, &file->f_path);
	lull_dump_socket_copy(file, &found->socket);
}

/* The first descriptor from @found->fd on. Return: false where there is none. */
static bool file_next(struct dump *dump, struct task_struct *task, struct found *found)
{
	bool is_found = false;
	struct files_struct *files;
	struct fdtable *table;
	struct file *file;

	found->is_there = false;
	task_lock(task);
	files = task->files;
	if (!files)
		goto unlock;
	spin_lock(&files->file_lock);
	table = files_fdtable(files);
	found->fd = find_next_bit(table->open_fds, table->max_fds, found->fd);
	is_found = found->fd < table->max_fds;
	file = is_found ? rcu_dereference_check_fdtable(files, table->fd[found->fd]) : NULL;
	if (file) {
		found->closes_on_exec = test_bit(found->fd, table->close_on_exec);
		file_copy(dump, file, found);
	}
	spin_unlock(&files->file_lock);
unlock:
	task_unlock(task);
	return is_found;
}

static void file_record(struct dump *dump, const struct task_struct *task,
			const struct found *found)
{
	LULL_DUMP_EVENT(&dump->counts[DUMP_FILE], "state:file", lull_i32(tid, task->pid),
			lull_i32(pid, task->tgid), lull_i32(fd, (int)found->fd),
			lull_flags32(flags, found->flags, CALL_NAMES(CALL_OPEN)),
			lull_bool(closes_on_exec, found->closes_on_exec),
			lull_x16(mode, found->mode), lull_u32(device, found->device),
			lull_u64(inode, found->inode), lull_str(path, found->path));
}

void lull_dump_files(struct dump *dump, struct task_struct *task)
{
	struct found found = { 0 };

	/* Bound: the size of the table of descriptors. */
	for (; lull_dump_goes_on(dump) && file_next(dump, task, &found); found.fd++)
		if (found.is_there) {
			file_record(dump, task, &found);
			if (found.socket.is_there)
				lull_dump_socket_record(dump, task, found.fd, &found.socket);
		}
}
