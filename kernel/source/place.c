// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a source can be: how each kind is registered with the kernel and left again, and the
 * function that the kernel calls there. Paper: O 4.2 (instrumentation).
 * Tracepoints are in tracepoint.c.
 */
#include <linux/hw_breakpoint.h>
#include <linux/namei.h>
#include <linux/perf_event.h>
#include <linux/tracepoint.h>
#include "compat/uprobes.h"
#include "event.h"
#include "source/source.h"

static int function_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	lull_source_hit(container_of(kprobe, struct source, kprobe), &(struct hit){ .regs = regs });
	return 0;
}
NOKPROBE_SYMBOL(function_hit);

static int return_hit(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *of = get_kretprobe(instance);

	if (of)
		lull_source_hit(container_of(of, struct source, kretprobe),
				&(struct hit){ .regs = regs });
	return 0;
}
NOKPROBE_SYMBOL(return_hit);

static void access_hit(struct perf_event *event, struct perf_sample_data *unused,
		       struct pt_regs *regs)
{
	lull_source_hit(event->overflow_handler_context, &(struct hit){ .regs = regs });
}

static int program_hit(struct uprobe_consumer *consumer, struct pt_regs *regs)
{
	lull_source_hit(container_of(consumer, struct source, program.consumer),
			&(struct hit){ .regs = regs });
	return 0;
}

static int program_return_hit(struct uprobe_consumer *consumer, unsigned long function,
			      struct pt_regs *regs)
{
	return program_hit(consumer, regs);
}

/* What tests/module reads, to know which code the kernel calls: as .lull_bindings has probes. */
static const void *const hits[] = { function_hit, return_hit, access_hit, program_hit,
				    program_return_hit };
static const void *const *const hits_at __used __section(".lull_interfaces") = hits;

static int access_watch(struct source *source)
{
	const struct lull_kernel_source *asked = &source->asked;
	struct perf_event_attr attribute;
	struct perf_event *__percpu *breakpoint;

	if (!(asked->offset >> 63)) /* a program's */
		return -EINVAL;
	hw_breakpoint_init(&attribute);
	attribute.bp_addr = asked->offset;
	attribute.bp_len = asked->length;
	attribute.bp_type = asked->access == LULL_ACCESS_EXECUTE    ? HW_BREAKPOINT_X :
			    asked->access == LULL_ACCESS_READ_WRITE ? HW_BREAKPOINT_RW :
								      HW_BREAKPOINT_W;
	breakpoint = register_wide_hw_breakpoint(&attribute, access_hit, source);
	if (IS_ERR((void __force *)breakpoint))
		return PTR_ERR((void __force *)breakpoint);
	source->breakpoint = breakpoint;
	return 0;
}

static int program_watch(struct source *source)
{
	struct path path;
	int error = kern_path(source->target, LOOKUP_FOLLOW, &path);

	if (error)
		return error;
	source->program.inode = igrab(d_real_inode(path.dentry));
	path_put(&path);
	if (!source->program.inode)
		return -ENOENT;
	if (source->asked.kind == LULL_SOURCE_PROGRAM)
		source->program.consumer.handler = program_hit;
	else
		source->program.consumer.ret_handler = program_return_hit;
	error = -EINVAL;
	if (S_ISREG(source->program.inode->i_mode))
		error = lull_uprobe_register(source->program.inode, source->asked.offset,
					     &source->program.consumer, &source->program.uprobe);
	if (error)
		iput(source->program.inode);
	return error;
}

int lull_place_watch(struct source *source)
{
	const struct lull_kernel_source *asked = &source->asked;

	switch (asked->kind) {
	case LULL_SOURCE_TRACEPOINT:
		return lull_tracepoint_watch(source);
	case LULL_SOURCE_FUNCTION:
		source->kprobe = (struct kprobe){ .symbol_name = source->target,
						  .offset = asked->offset,
						  .pre_handler = function_hit };
		return register_kprobe(&source->kprobe);
	case LULL_SOURCE_RETURN:
		source->kretprobe = (struct kretprobe){ .kp.symbol_name = source->target,
							.handler = return_hit,
							.maxactive = asked->length };
		return register_kretprobe(&source->kretprobe);
	case LULL_SOURCE_ACCESS:
		return access_watch(source);
	case LULL_SOURCE_PROGRAM:
	case LULL_SOURCE_PROGRAM_RETURN:
		return program_watch(source);
	}
	return -EINVAL;
}

void lull_place_leave(struct source *source)
{
	switch (source->asked.kind) {
	case LULL_SOURCE_TRACEPOINT:
		lull_tracepoint_leave(source);
		break;
	case LULL_SOURCE_FUNCTION:
		unregister_kprobe(&source->kprobe);
		break;
	case LULL_SOURCE_RETURN:
		unregister_kretprobe(&source->kretprobe);
		break;
	case LULL_SOURCE_ACCESS:
		unregister_wide_hw_breakpoint(source->breakpoint);
		break;
	case LULL_SOURCE_PROGRAM:
	case LULL_SOURCE_PROGRAM_RETURN:
		lull_uprobe_unregister(source->program.inode, source->asked.offset,
				       &source->program.consumer, source->program.uprobe);
		iput(source->program.inode);
		break;
	}
}

void lull_places_settle(void)
{
	tracepoint_synchronize_unregister();
}

uint64_t lull_place_missed(const struct source *source)
{
	switch (source->asked.kind) {
	case LULL_SOURCE_FUNCTION:
		return source->kprobe.nmissed;
	case LULL_SOURCE_RETURN:
		return source->kretprobe.kp.nmissed + (unsigned int)source->kretprobe.nmissed;
	}
	return 0;
}
