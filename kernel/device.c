// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/lull: an open file is a session, once it has a plan; its memory can be mapped.
 *
 * Every argument is hostile: it is copied once, and the copy is checked. The structures may be
 * shorter or longer than this kernel's: abi/kernel.h says what then holds. Paper: B 3.1.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "catalogue.h"
#include "device.h"
#include "left_file.h"
#include "filtering.h"
#include "lull_port.h"
#include "recorded.h"
#include "reserved.h"
#include "ring_file.h"
#include "session.h"
#include "structure.h"

static long device_plan(struct file *file, void __user *argument)
{
	struct lull_kernel_plan plan;
	struct session *session;
	char *patterns;
	long bytes = lull_structure_copy(&plan, sizeof(plan), argument);

	if (bytes < 0)
		return bytes;
	if (plan.flags & ~LULL_KERNEL_PLAN_RESERVED || !plan.patterns_bytes ||
	    plan.patterns_bytes > LULL_KERNEL_PATTERNS_MAX)
		return -EINVAL;
	if (READ_ONCE(file->private_data))
		return -EEXIST;
	patterns = lull_text_copy(plan.patterns, plan.patterns_bytes);
	if (IS_ERR(patterns))
		return PTR_ERR(patterns);
	session = lull_session_create(&plan, patterns);
	if (IS_ERR(session))
		return PTR_ERR(session);
	plan.bytes = bytes;
	if (lull_structure_answer(argument, &plan, sizeof(plan), bytes)) {
		lull_session_put(session);
		return -EFAULT;
	}
	/* Threads that share the descriptor may plan at once: one of them does. */
	if (cmpxchg(&file->private_data, NULL, session)) {
		lull_session_put(session);
		return -EEXIST;
	}
	return 0;
}

static long device_enable(struct session *session, void __user *argument)
{
	struct lull_kernel_enable enable;
	long bytes = lull_structure_copy(&enable, sizeof(enable), argument);
	bool was_enabled;

	if (bytes < 0)
		return bytes;
	if (enable.flags)
		return -EINVAL;
	enable = (struct lull_kernel_enable){ .bytes = bytes };
	was_enabled = READ_ONCE(session->is_enabled);
	lull_recorded_settle(session);
	lull_catalogue_enable(session, &enable);
	if (!was_enabled)
		lull_dump_begin(&session->dump);
	return lull_structure_answer(argument, &enable, sizeof(enable), bytes);
}

static long device_filter(struct session *session, void __user *argument)
{
	struct lull_kernel_filter filter;
	struct lull_filtering *filtering;
	long bytes = lull_structure_copy(&filter, sizeof(filter), argument);
	int error;

	if (bytes < 0)
		return bytes;
	if (filter.flags || filter.unused)
		return -EINVAL;
	filtering = lull_filtering_create(filter.event_hash, filter.program, filter.program_bytes);
	if (IS_ERR(filtering))
		return PTR_ERR(filtering);
	error = lull_catalogue_filter(session, filtering);
	if (error)
		kvfree(filtering);
	return error;
}

static long device_rules(struct session *session, void __user *argument)
{
	struct lull_kernel_rules rules;
	char *patterns;
	long bytes = lull_structure_copy(&rules, sizeof(rules), argument);

	if (bytes < 0)
		return bytes;
	if (rules.flags || rules.unused || !rules.patterns_bytes ||
	    rules.patterns_bytes > LULL_KERNEL_PATTERNS_MAX)
		return -EINVAL;
	patterns = lull_text_copy(rules.patterns, rules.patterns_bytes);
	if (IS_ERR(patterns))
		return PTR_ERR(patterns);
	return lull_session_change(session, patterns, rules.patterns_bytes);
}

static long device_context(struct session *session, void __user *argument)
{
	struct lull_kernel_context asked;
	long bytes = lull_structure_copy(&asked, sizeof(asked), argument);

	return bytes < 0 ? bytes : lull_recorded_decide(session, &asked);
}

static long device_ring(struct session *session, void __user *argument)
{
	struct lull_kernel_ring ring;
	long bytes = lull_structure_copy(&ring, sizeof(ring), argument);

	if (bytes < 0)
		return bytes;
	if (ring.flags || ring.unused)
		return -EINVAL;
	return lull_ring_file_create(session, ring.cpu);
}

static long device_reserved(void __user *argument)
{
	struct lull_kernel_reserved reserved;
	long bytes = lull_structure_copy(&reserved, sizeof(reserved), argument);

	if (bytes < 0)
		return bytes;
	if (reserved.flags)
		return -EINVAL;
	lull_reserved_answer(&reserved);
	reserved.bytes = bytes;
	return lull_structure_answer(argument, &reserved, sizeof(reserved), bytes);
}

static long device_source(struct session *session, void __user *argument)
{
	struct lull_kernel_source source;
	long bytes = lull_structure_copy(&source, sizeof(source), argument);

	return bytes < 0 ? bytes : lull_source_add(session, &source);
}

static long device_missed(struct session *session, void __user *argument)
{
	struct lull_kernel_missed missed;
	long bytes = lull_structure_copy(&missed, sizeof(missed), argument);

	if (bytes < 0)
		return bytes;
	if (missed.flags || missed.unused || lull_source_missed(session, &missed))
		return -EINVAL;
	return lull_structure_answer(argument, &missed, sizeof(missed), bytes);
}

static long device_call(struct file *file, unsigned int call, unsigned long argument)
{
	struct session *session = READ_ONCE(file->private_data);

	switch (call) {
	case LULL_KERNEL_VERSION:
		return LULL_KERNEL_INTERFACE;
	case LULL_KERNEL_PLAN:
		return device_plan(file, (void __user *)argument);
	case LULL_KERNEL_BARRIER:
		lull_barrier_heavy();
		return 0;
	case LULL_KERNEL_RESERVED:
		return device_reserved((void __user *)argument);
	case LULL_KERNEL_LEFT:
		return lull_left_file_create();
	case LULL_KERNEL_ENABLE:
		return session ? device_enable(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_FILTER:
		return session ? device_filter(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_RULES:
		return session ? device_rules(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_CONTEXT:
		return session ? device_context(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_RING:
		return session ? device_ring(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_SOURCE:
		return session ? device_source(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_MISSED:
		return session ? device_missed(session, (void __user *)argument) : -ENODEV;
	case LULL_KERNEL_DISABLE:
		if (!session)
			return -ENODEV;
		lull_dump_stop(&session->dump);
		lull_catalogue_disable(session);
		return 0;
	case LULL_KERNEL_DUMP:
		return session ? lull_dump_begin(&session->dump) : -ENODEV;
	}
	return -ENOTTY;
}

static vm_fault_t memory_fault(struct vm_fault *fault)
{
	struct session *session = fault->vma->vm_private_data;

	return lull_memory_fault(&session->memory, fault, fault->pgoff);
}

static const struct vm_operations_struct memory_operations = { .fault = memory_fault };

/* The mapping keeps the file, and with it the session. */
static int device_map(struct file *file, struct vm_area_struct *area)
{
	struct session *session = READ_ONCE(file->private_data);
	int error;

	if (!session)
		return -ENODEV;
	error = lull_memory_area(&session->memory, area, session->memory.layout.memory_bytes, 0);
	if (error)
		return error;
	area->vm_private_data = session;
	area->vm_ops = &memory_operations;
	return 0;
}

static int device_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL; /* where a miscellaneous device has itself */
	return nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct session *session = file->private_data;

	if (session)
		lull_session_put(session);
	return 0;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_call,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = device_map,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lull",
	.mode = 0660,
	.fops = &device_operations,
};

int __init lull_device_register(void)
{
	return misc_register(&device);
}

void lull_device_unregister(void)
{
	misc_deregister(&device);
}
