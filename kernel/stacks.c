// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call stacks, collected by probes in any context, NMIs included.
 *
 * Their length has to be known before a slot is reserved, so they are collected in memory of the
 * session's first: some room for each CPU, with a level for each context that interrupts another's
 * probe there. Where an event finds no level, or its context cannot tell, its stack is empty.
 *
 * The kernel's stack is walked by the kernel's own unwinder, as perf does it in NMIs. A program's
 * is walked by frame pointers, in memory that is read without faulting. Its registers lie where
 * the kernel put them when it was entered, which an NMI may have interrupted.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#include "compat/user_worker.h"
#include "lull/abi/kernel.h"
#include "stacks.h"

/* Contexts that nest on a CPU: a thread, softirq, interrupt, NMI, machine check; some to spare. */
#define LEVELS 8
/* The innermost functions are lull.ko's; those of a probe are fewer. */
#define OWN_FRAMES_MAX 8
#define FRAME_BYTES (2 * sizeof(unsigned long)) /* a frame's link and its return address */

static_assert(sizeof(unsigned long) == sizeof(uint64_t));

struct stack_room {
	unsigned int used; /* levels */
	uint64_t frames[];
};

static uint32_t level_frames(const struct stack_depths *depths)
{
	return OWN_FRAMES_MAX + depths->kernel_frames + depths->user_frames;
}

int lull_stacks_create(struct stack_depths *depths, uint32_t kernel_frames, uint32_t user_frames)
{
	if (kernel_frames > LULL_KERNEL_FRAMES_MAX || user_frames > LULL_KERNEL_FRAMES_MAX)
		return -EINVAL;
	*depths =
		(struct stack_depths){ .kernel_frames = kernel_frames, .user_frames = user_frames };
	if (!kernel_frames && !user_frames)
		return 0;
	depths->room = __alloc_percpu_gfp(sizeof(struct stack_room) +
						  LEVELS * level_frames(depths) * sizeof(uint64_t),
					  __alignof__(struct stack_room), GFP_KERNEL_ACCOUNT);
	return depths->room ? 0 : -ENOMEM;
}

void lull_stacks_free(struct stack_depths *depths)
{
	free_percpu(depths->room);
}

/* The kernel's frames without those of lull.ko. Return: where they begin. */
static const uint64_t *kernel_walk(uint64_t *to, uint32_t frames, uint32_t *count)
{
	uint32_t all = stack_trace_save((unsigned long *)to, frames + OWN_FRAMES_MAX, 0), own = 0;

	while (own < all && within_module(to[own], THIS_MODULE))
		own++;
	*count = min(all - own, frames);
	return to + own;
}

/* The address that a frame returns to; 0 for what is none. */
static uint64_t user_address(uint64_t address)
{
#ifdef CONFIG_ARM64
	address &= TASK_SIZE_MAX - 1; /* above are the bits of pointer authentication */
#endif
	return address < PAGE_SIZE || (int64_t)address < 0 ? 0 : address;
}

/* Whether the running thread is in a program of this machine's word size, whose registers lie in
 * task_pt_regs(). */
static bool has_user_stack(const struct task_struct *task)
{
	if (in_nmi() || !task->mm || task->flags & (PF_KTHREAD | LULL_PF_WORKER))
		return false;
#ifdef CONFIG_X86_64
	return !test_thread_flag(TIF_ADDR32) && user_mode(task_pt_regs(task));
#else
	return user_mode(task_pt_regs(task)) && !compat_user_mode(task_pt_regs(task));
#endif
}

/* Where the program is, and the addresses that its frames return to. Return: how many. */
static uint32_t user_walk(uint64_t *to, uint32_t frames)
{
	struct pt_regs *regs = task_pt_regs(current);
	uint64_t at, frame[2];
	uint32_t count = 0;

	if (!frames || !has_user_stack(current))
		return 0;
	to[count++] = instruction_pointer(regs);
	/* Bound: frames. A stack grows downwards: an outer frame has the greater address. */
	for (at = frame_pointer(regs); count < frames; at = frame[0]) {
		if (at % sizeof(uint64_t) ||
		    copy_from_user_nofault(frame, (const void __user *)at, FRAME_BYTES))
			break;
		to[count] = user_address(frame[1]);
		if (!to[count])
			break;
		count++;
		if (frame[0] <= at)
			break;
	}
	return count;
}

uint32_t lull_stacks_read(struct stacks *stacks, const struct stack_depths *depths)
{
	struct stack_room *room = raw_cpu_ptr(depths->room);
	unsigned int level = room->used++;
	uint64_t *frames = room->frames + level * level_frames(depths);
	uint32_t bytes = 0;

	barrier(); /* a context that interrupts this one takes the next level */
	*stacks = (struct stacks){ .kernel = frames, .user = frames };
	if (level < LEVELS && depths->kernel_frames)
		stacks->kernel = kernel_walk(frames, depths->kernel_frames, &stacks->kernel_count);
	if (level < LEVELS) {
		frames += OWN_FRAMES_MAX + depths->kernel_frames;
		stacks->user = frames;
		stacks->user_count = user_walk(frames, depths->user_frames);
	}
	if (depths->kernel_frames)
		bytes += sizeof(uint32_t) + stacks->kernel_count * sizeof(uint64_t);
	if (depths->user_frames)
		bytes += sizeof(uint32_t) + stacks->user_count * sizeof(uint64_t);
	return bytes;
}

/* Write one stack: its length, then its frames. Return: where it ends. */
static unsigned char *stack_store(unsigned char *to, const uint64_t *frames, uint32_t count)
{
	__builtin_memcpy(to, &count, sizeof(count));
	to += sizeof(count);
	/* Bound: LULL_KERNEL_FRAMES_MAX. */
	for (; count; count--, to += sizeof(*frames))
		__builtin_memcpy(to, frames++, sizeof(*frames));
	return to;
}

unsigned char *lull_stacks_store(unsigned char *to, const struct stacks *stacks,
				 const struct stack_depths *depths)
{
	if (depths->kernel_frames)
		to = stack_store(to, stacks->kernel, stacks->kernel_count);
	if (depths->user_frames)
		to = stack_store(to, stacks->user, stacks->user_count);
	return to;
}

void lull_stacks_leave(const struct stack_depths *depths)
{
	struct stack_room *room = raw_cpu_ptr(depths->room);

	barrier();
	room->used--;
}
