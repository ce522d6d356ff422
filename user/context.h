/* SPDX-License-Identifier: MIT */
/*
 * What a session records with each event, in front of the event's fields.
 *
 * What to record stands in front of a session's rings, in private memory that is not freed while a
 * probe may use it. So a probe that has found rings has what belongs to them. Flow: attach.c puts
 * it there, probe.c asks context.c for the bytes and then reserves room. Design:
 * docs/design/71-context.md.
 */
#ifndef LIBLULL_CONTEXT_H
#define LIBLULL_CONTEXT_H

#include "liblull.h"

/* Of one session. Its size keeps the rings behind it on their boundary. */
struct context_plan {
	uint32_t contexts; /* as struct lull_session_control has them */
	uint32_t user_frames;
	uint32_t copy_bytes;
} __attribute__((aligned(128)));

/* Whether it takes the frame of the probe. */
static inline int lull_context_has_frame(const struct context_plan *plan)
{
	return plan->user_frames || plan->copy_bytes;
}

static inline int lull_context_is_any(const struct context_plan *plan)
{
	return plan->contexts || lull_context_has_frame(plan);
}

static inline const struct context_plan *lull_context_of(const struct lull_ring *rings)
{
	return (const struct context_plan *)rings - 1;
}

/* At most: a name, numbers, CPU time, the stack's length, its frames. */
#define CONTEXT_BYTES_MAX (16u + 8u * (LULL_CONTEXTS + 1) + 4u + 8u * LULL_SESSION_FRAMES_MAX)

/* The frame of a function that a probe called. */
struct context_frame {
	uintptr_t at;
	uintptr_t next; /* what the caller had for a frame pointer */
	uintptr_t called; /* where the caller goes on */
	uintptr_t stack; /* what the caller has for a stack pointer then */
};

/* A part of this thread's stack that is recorded as it is. */
struct context_copy {
	uint64_t registers[LULL_SESSION_COPY_REGISTERS];
	const uint64_t *words;
	uint32_t word_count;
	uint32_t bytes; /* that it takes in an event, its length included */
};

/*
 * lull_context_begin() - find out what is one for the whole process: its control group and
 * namespaces, where @plan has them. They are found out again in a forked child only.
 * Context: async-signal-safe; makes system calls. Progress: wait-free.
 */
void lull_context_begin(const struct context_plan *plan);

/*
 * lull_context_write() - what is known of this thread now.
 * @to: room for CONTEXT_BYTES_MAX, on a boundary of 4.
 * @frame: where the call stack begins; NULL: that is not known.
 * Context: any, async-signal-safe. A system call where @plan has CPU time or priority, and one
 * where this thread's stack is deeper than it was found to be before. Progress: wait-free.
 * Return: how many bytes, a multiple of 4.
 */
uint32_t lull_context_write(const struct context_plan *plan, unsigned char *to,
			    const struct context_frame *frame);

/*
 * lull_context_copy_find() - what of this thread's stack @plan records, for frames that are found
 * when the trace is read: by tables, where a program has no frame pointers.
 * @frame: as above, and its callers still run.
 * Context: as above; a system call where this thread's stack is deeper than it was found to be.
 * Return: 0 where @plan records nothing of it.
 */
int lull_context_copy_find(struct context_copy *copy, const struct context_plan *plan,
			   const struct context_frame *frame);

/*
 * lull_context_copy_write() - copy->bytes bytes of it.
 * @to: on a boundary of 4.
 * Context: as above. Progress: wait-free, a step for each word.
 */
void lull_context_copy_write(const struct context_copy *copy, unsigned char *to);

#endif
