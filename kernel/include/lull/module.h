/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lull_event() in a module of the kernel's that is not lull.ko: what such a module includes.
 *
 *	#include <lull/module.h>
 *	lull_event("storage:request", lull_u64(sector, sector), lull_u32(bytes, bytes));
 *
 * It is the line that programs have (trace.h), with the same fields but floating point, and with
 * the same notes. The module refers to no symbol of lull.ko: it is built with headers alone, and
 * runs with lull.ko or without it. A disabled event is a no-op, which the kernel's own static key
 * turns into a jump: the kernel exports no other way to change its text.
 *
 * Each event is announced as a tracepoint with a name that no tracepoint has, because the kernel
 * tells tracers which tracepoints come and go with a module. lull.ko finds the event around it.
 *
 * An event may stand wherever RCU watches: threads, interrupts, NMIs, but not the innermost part of
 * the idle loop. Paper: T 8.1 (markers), 8.3 (static jumps); docs/design/60-kernel.md.
 */
#ifndef LULL_MODULE_H
#define LULL_MODULE_H

#pragma GCC system_header

#include <linux/jump_label.h>
#include <linux/preempt.h>
#include <linux/tracepoint.h>
#include "lull/inputs.h"

#ifndef CONFIG_HAVE_ARCH_PREL32_RELOCATIONS
#error "lull/module.h announces events by relative addresses, as x86-64 and arm64 have them"
#endif

/* What a probe of another module calls in lull.ko, with preemption off. It only grows. */
struct lull_module_interface {
	struct lull_probe_interface probe;
	/* Begin in this context. Return: sessions, or 0 where the event is refused and counted. */
	uint32_t (*enter)(struct lull_slot *slot, uint32_t sessions);
	void (*leave)(struct lull_slot *slot);
	/* Which sessions record an occurrence with these values (lull/inputs.h)? */
	uint32_t (*filter)(const struct lull_probe_record *record, uint32_t mask,
			   const uint64_t *values);
};

/* The name changes with the structure, so that lull.ko passes by events of other versions. */
#define LULL_POINT_NAME "lull_event/2"

/* An event of a module; one for all copies that the compiler made of the line. */
struct lull_point {
	struct tracepoint tracepoint; /* never registered with */
	struct static_key_false key; /* true while any session has the event */
	struct lull_probe_record record;
	const char *note; /* of type LULL_NOTE_PROBE */
	struct lull_point *next; /* lull.ko's: another one with the same description */
};

/*
 * Both notes of programs are one here, because the kernel knows where the no-op is. The compiler
 * may copy the assembly; the first copy stands for all.
 */
#define LULL_SITE_ENTER(level_value, text) \
	LULL_POINT(level_value, text, LULL_PASTE(lull_note_, __COUNTER__))
#define LULL_POINT(level_value, text, note_name)                                             \
	extern const char note_name[];                                                       \
	static struct lull_point lull_point_ __section(                                      \
		".data.lull") = { .tracepoint = { .name = LULL_POINT_NAME },                 \
				  .key = STATIC_KEY_FALSE_INIT,                              \
				  .note = note_name };                                       \
	struct lull_probe_record *const lull_record_ = &lull_point_.record;                  \
	if (!static_branch_unlikely(&lull_point_.key))                                       \
		break;                                                                       \
	LULL_ASM __volatile__(LULL_POINT_NOTE(LULL_STRING(note_name), text)                  \
			      :                                                              \
			      : [level] "i"(level_value), [record] "i"(&lull_point_.record), \
				[point] "i"(&lull_point_.tracepoint))
#define LULL_POINT_NOTE(note_name, text)                                                    \
	"\t.ifndef " note_name "\n"                                                         \
	"\t.pushsection .note.lull, \"a?\", @note\n"                                        \
	"\t.balign 4\n" note_name ":\n"                                                     \
	"\t.popsection\n" LULL_SITE_NOTE("2", "\t.long %c[record] - .\n",                   \
					 text) "\t.pushsection __tracepoints_ptrs, \"a\"\n" \
					       "\t.balign 4\n"                              \
					       "\t.long %c[point] - .\n"                    \
					       "\t.popsection\n"                            \
					       "\t.endif\n"

#define LULL_PROBE_ENTER(probe) lull_point_enter(&(probe)->slot, (probe)->record)
#define LULL_PROBE_LEAVE(probe) lull_point_leave(&(probe)->slot, (probe)->record)
#define LULL_PROBE_FILTER(probe) LULL_POINT_INTERFACE((probe)->record)->filter
#define LULL_PROBE_RESERVE(probe, session, id, payload_bytes) \
	(probe)->record->interface->reserve(&(probe)->slot, session, id, payload_bytes)
#define LULL_PROBE_COMMIT(probe) (probe)->record->interface->commit(&(probe)->slot)
#include "lull/trace.h"

#define LULL_POINT_INTERFACE(record) ((const struct lull_module_interface *)(record)->interface)

/*
 * lull.ko may be unloaded when no session has the event: so its code is called only with preemption
 * off, after the mask was read. lull.ko clears masks, and waits until no CPU is in such a section.
 */
static __always_inline uint32_t lull_point_enter(struct lull_slot *slot,
						 const struct lull_probe_record *record)
{
	uint32_t sessions;

	preempt_disable_notrace();
	/* [site.probe:A], as in lull/trace.h: the mask before the interface and the identifiers,
	 * else the probe calls through an interface that is not set yet */
	sessions = LULL_MASK_READ(record, __ATOMIC_ACQUIRE);
	if (sessions)
		sessions = LULL_POINT_INTERFACE(record)->enter(slot, sessions);
	if (!sessions)
		preempt_enable_notrace();
	return sessions;
}

static __always_inline void lull_point_leave(struct lull_slot *slot,
					     const struct lull_probe_record *record)
{
	LULL_POINT_INTERFACE(record)->leave(slot);
	preempt_enable_notrace();
}

#endif
