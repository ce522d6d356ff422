/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call stacks that a session records with each of its events: the kernel's and the program's.
 */
#ifndef LULL_KERNEL_STACKS_H
#define LULL_KERNEL_STACKS_H

#include <linux/types.h>

struct stack_room;

/* How many frames a session records; room NULL for none. */
struct stack_depths {
	uint32_t kernel_frames;
	uint32_t user_frames;
	struct stack_room __percpu *room; /* where probes collect them */
};

/* Those of one event. */
struct stacks {
	const uint64_t *kernel, *user;
	uint32_t kernel_count, user_count;
};

/* lull_stacks_create() - Return: 0; -EINVAL for more than LULL_KERNEL_FRAMES_MAX; -ENOMEM. */
int lull_stacks_create(struct stack_depths *depths, uint32_t kernel_frames, uint32_t user_frames);

/* lull_stacks_free() - Context: no probe can be in the session. */
void lull_stacks_free(struct stack_depths *depths);

/*
 * lull_stacks_read() - collect the stacks of what runs here.
 * @stacks: valid until lull_stacks_leave()
 * Context: in a probe. Progress: bounded by the numbers of frames. Return: their bytes in an event,
 * a multiple of 4.
 */
uint32_t lull_stacks_read(struct stacks *stacks, const struct stack_depths *depths);

/* lull_stacks_store() - write them into an event. Return: where they end. */
unsigned char *lull_stacks_store(unsigned char *to, const struct stacks *stacks,
				 const struct stack_depths *depths);

/* lull_stacks_leave() - the room is free for the next event. */
void lull_stacks_leave(const struct stack_depths *depths);

#endif
