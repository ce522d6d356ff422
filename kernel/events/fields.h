/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of kernel/events share: an event that is one line with its tracepoint, and the
 * kinds of fields that only the kernel has.
 *
 *	LULL_KERNEL_EVENT(sched, sched_waking, TP_PROTO(struct task_struct *p),
 *			  lull_str16(comm, p->comm), lull_i32(pid, p->pid));
 *
 * Names and fields are those that the kernel's tracefs shows, so that what an engineer knows of
 * them holds. A value is computed as the kernel's own TP_fast_assign() computes it, unless that
 * calls functions which a probe may not call. Paper: T 8.2 (tracepoints), O 4.2.
 */
#ifndef LULL_KERNEL_FIELDS_H
#define LULL_KERNEL_FIELDS_H

#include <asm/word-at-a-time.h>
#include "compat/tracepoints.h"
#include "event.h"

#ifndef __LITTLE_ENDIAN
#error "lull_str16() moves strings in words, lowest byte first"
#endif

/**
 * LULL_KERNEL_EVENT() - The event of one of the kernel's tracepoints.
 * @group: as below tracefs' events
 * @tracepoint: its name; the header that declares it has to be included
 * @parameters: the tracepoint's, as TP_PROTO(...)
 * @...: the fields, which may use the parameters
 */
#define LULL_KERNEL_EVENT(group, tracepoint, parameters, ...)        \
	static void probe_##tracepoint(void *lull_data_, parameters) \
	{                                                            \
		lull_event(#group ":" #tracepoint, __VA_ARGS__);     \
	}                                                            \
	LULL_TRACEPOINT_EVENT(tracepoint, #group ":" #tracepoint, probe_##tracepoint)

/* The same, for fields that need variables: their declarations come first. */
#define LULL_KERNEL_EVENT_WITH(group, tracepoint, parameters, declarations, ...) \
	static void probe_##tracepoint(void *lull_data_, parameters)             \
	{                                                                        \
		declarations;                                                    \
		lull_event(#group ":" #tracepoint, __VA_ARGS__);                 \
	}                                                                        \
	LULL_TRACEPOINT_EVENT(tracepoint, #group ":" #tracepoint, probe_##tracepoint)

/* The kind COPIED: a short string that is in registers. */
#define LULL_CHECK_LULL_COPIED(copied)
#define LULL_VARIABLE_LULL_COPIED(variable, ...) struct lull_copied variable;
#define LULL_VALUE_LULL_COPIED(variable, copied) variable = copied
#define LULL_BYTES_LULL_COPIED(variable, ...) variable.bytes
#define LULL_STORE_LULL_COPIED(variable, ...) lull_at_ = lull_copied_store(lull_at_, variable);
/* Of a copy in memory, so that the variable itself may stay in registers. */
#define LULL_INPUT_LULL_COPIED(variable, ...)                 \
	variable.bytes - 1, (uintptr_t) & (const uint64_t[3]) \
	{                                                     \
		variable.low, variable.high, 0                \
	}

/*
 * A string in an array of 16 bytes, such as a thread's name or a network device's. If it changes
 * meanwhile, the event has bytes of the old and of the new one; without a NUL it is cut to 15.
 */
#define lull_str16(field, text)                                          \
	(LULL_COPIED, "strn " #field, field##_lull_, sizeof(text) == 16, \
	 "lull_str16(" #field "): needs an array of 16 characters", lull_copied_read(text))

/* The same, of a value that is a struct lull_copied already. */
#define lull_copied(field, copied)                                        \
	(LULL_COPIED, "strn " #field, field##_lull_, sizeof(copied) >= 0, \
	 "lull_copied(" #field "): needs a struct lull_copied", copied)

struct lull_copied {
	uint64_t low, high;
	uint32_t bytes; /* with the NUL: 1 to 16 */
};

static __always_inline struct lull_copied lull_copied_read(const char *text)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	struct lull_copied copied;
	unsigned long zeros;

	__builtin_memcpy(&copied.low, text, 8);
	__builtin_memcpy(&copied.high, text + 8, 8);
	copied.high &= ~0ull >> 8;
	if (has_zero(copied.low, &zeros, &constants)) {
		zeros = prep_zero_mask(copied.low, zeros, &constants);
		copied.bytes = find_zero(create_zero_mask(zeros)) + 1;
	} else {
		has_zero(copied.high, &zeros, &constants);
		zeros = prep_zero_mask(copied.high, zeros, &constants);
		copied.bytes = find_zero(create_zero_mask(zeros)) + 9;
	}
	return copied;
}

/* Stores overlap, so that there is no loop and nothing is written behind the string. */
static __always_inline unsigned char *lull_copied_store(unsigned char *to,
							struct lull_copied copied)
{
	uint32_t bytes = copied.bytes;
	uint64_t tail;

	if (bytes > 8) {
		tail = bytes == 16 ?
			       copied.high :
			       copied.low >> 8 * (bytes - 8) | copied.high << 8 * (16 - bytes);
		__builtin_memcpy(to, &copied.low, 8);
		__builtin_memcpy(to + bytes - 8, &tail, 8);
	} else if (bytes >= 4) {
		tail = copied.low >> 8 * (bytes - 4);
		__builtin_memcpy(to, &copied.low, 4);
		__builtin_memcpy(to + bytes - 4, &tail, 4);
	} else {
		to[0] = (unsigned char)copied.low;
		to[bytes / 2] = (unsigned char)(copied.low >> 8 * (bytes / 2));
		to[bytes - 1] = 0;
	}
	return to + bytes;
}

#endif
