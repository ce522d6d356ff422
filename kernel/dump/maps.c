// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory maps of a process, in the order of their addresses.
 *
 * A step holds the lock of the maps for reading, for as long as it takes to copy one, and keeps the
 * memory no longer than that: the task's own lock keeps it there meanwhile. Inside of that lock
 * nothing may sleep, so the step comes again later where a writer has the lock of the maps.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched/task.h>
#include "dump/record.h"

#define RETRY_MS 1
#define RETRIES_MAX 100

struct found {
	unsigned long begin, until, flags;
	uint64_t offset_bytes, inode;
	uint32_t device;
	const char *path;
};

static void map_copy(struct dump *dump, const struct vm_area_struct *area, struct found *found)
{
	*found = (struct found){
		.begin = area->vm_start,
		.until = area->vm_end,
		.flags = area->vm_flags,
		.path = "",
	};
	if (!area->vm_file)
		return;
	found->offset_bytes = (uint64_t)area->vm_pgoff << PAGE_SHIFT;
	found->inode = file_inode(area->vm_file)->i_ino;
	found->device = file_inode(area->vm_file)->i_sb->s_dev;
	found->path = lull_dump_path(dump, &area->vm_file->f_path);
}

/* The first map that ends behind @address. Return: 0; -ENOENT: there is none; -EAGAIN. */
static int map_next(struct dump *dump, struct task_struct *task, unsigned long address,
		    struct found *found)
{
	struct vm_area_struct *area;
	int error = -ENOENT;

	task_lock(task);
	if (!task->mm || task->flags & PF_KTHREAD)
		goto unlock;
	error = -EAGAIN;
	if (!mmap_read_trylock(task->mm))
		goto unlock;
	area = find_vma(task->mm, address);
	error = area ? 0 : -ENOENT;
	if (area)
		map_copy(dump, area, found);
	mmap_read_unlock(task->mm);
unlock:
	task_unlock(task);
	return error;
}

void lull_dump_maps(struct dump *dump, struct task_struct *task)
{
	struct found found = { 0 };
	int error, retries = RETRIES_MAX;

	/* Bound: the addresses of a process, and RETRIES_MAX. */
	while (lull_dump_goes_on(dump)) {
		error = map_next(dump, task, found.until, &found);
		if (error == -EAGAIN && retries--) {
			msleep(RETRY_MS);
			continue;
		}
		if (error == -EAGAIN)
			dump->counts[DUMP_MAP].skipped++;
		if (error)
			return;
		LULL_DUMP_EVENT(
			&dump->counts[DUMP_MAP], "state:map", lull_i32(pid, task->tgid),
			lull_ptr(begin, (void *)found.begin), lull_ptr(until, (void *)found.until),
			lull_flags64(flags, found.flags,
				     "VM_READ=0x1,VM_WRITE=0x2,VM_EXEC=0x4,VM_SHARED=0x8,"
				     "VM_GROWSDOWN=0x100,VM_PFNMAP=0x400,VM_LOCKED=0x2000,"
				     "VM_IO=0x4000,VM_DONTCOPY=0x20000,VM_DONTEXPAND=0x40000,"
				     "VM_ACCOUNT=0x100000,VM_NORESERVE=0x200000,"
				     "VM_HUGETLB=0x400000"),
			lull_u64(offset_bytes, found.offset_bytes), lull_u32(device, found.device),
			lull_u64(inode, found.inode), lull_str(path, found.path));
	}
}
