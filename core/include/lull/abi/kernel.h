/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The calls of /dev/lull, by which a recorder makes and controls a session of the kernel's events.
 *
 * Whoever opens the device and makes LULL_KERNEL_PLAN has a session, and can map its memory: it is
 * laid out as session.h says, from its control block on. The kernel writes the control block for
 * its readers, and believes nothing that it finds in that memory. The session ends when the last
 * descriptor and the last mapping of it are gone.
 *
 * Each structure begins with its own size, and may grow at its end: bytes that one side does not
 * have are zeros for the other. A flag, or a byte behind a structure's end, that the kernel does
 * not know is refused. Every call returns -1 and sets errno when it fails.
 *
 * Paper: B 3.1 (ioctl), 3.4 (control); docs/design/60-kernel.md.
 */
#ifndef LULL_ABI_KERNEL_H
#define LULL_ABI_KERNEL_H

#include <stdint.h>
#include "session.h"

#define LULL_KERNEL_DEVICE "/dev/lull"
#define LULL_KERNEL_INTERFACE 1 /* what LULL_KERNEL_VERSION returns */
#define LULL_KERNEL_SPARES_MAX (1u + LULL_SUBBUF_SPARES)
#define LULL_KERNEL_PATTERNS_MAX (1u << 20) /* bytes, with the NUL */
#define LULL_KERNEL_PLAN_RESERVED 1u /* a plan's flag: in the memory that was reserved at boot */

/* The calls: the number, what the argument points to. */
#define LULL_KERNEL_VERSION 0xf500u /* nothing. Returns LULL_KERNEL_INTERFACE */
#define LULL_KERNEL_PLAN 0xf501u /* struct lull_kernel_plan */
#define LULL_KERNEL_ENABLE 0xf502u /* struct lull_kernel_enable */
#define LULL_KERNEL_DISABLE 0xf503u /* nothing */
#define LULL_KERNEL_BARRIER 0xf504u /* nothing */
#define LULL_KERNEL_RING 0xf505u /* struct lull_kernel_ring. Returns a descriptor of the ring */
#define LULL_KERNEL_RESERVED 0xf506u /* struct lull_kernel_reserved */
#define LULL_KERNEL_LEFT 0xf507u /* nothing. Returns a descriptor of the session that was left */
#define LULL_KERNEL_DUMP 0xf508u /* nothing */
#define LULL_KERNEL_SOURCE 0xf509u /* struct lull_kernel_source. Returns the source's number */
#define LULL_KERNEL_MISSED 0xf50au /* struct lull_kernel_missed */
#define LULL_KERNEL_FILTER 0xf50bu /* struct lull_kernel_filter */
#define LULL_KERNEL_CONTEXT 0xf50cu /* struct lull_kernel_context */
#define LULL_KERNEL_RULES 0xf50du /* struct lull_kernel_rules */
/* The call of a left session's descriptor. */
#define LULL_KERNEL_FORGET 0xf520u /* nothing */
/* The calls of a ring's descriptor. */
#define LULL_KERNEL_GET 0xf510u /* struct lull_kernel_subbuf */
#define LULL_KERNEL_PUT 0xf511u /* nothing */
#define LULL_KERNEL_SWITCH 0xf512u /* nothing */

/*
 * A session's plan, and what it became. EEXIST: this descriptor has a session already; EBUSY: there
 * are LULL_SESSIONS_MAX sessions; EINVAL: a size, a mode, a pattern or a flag is not valid; E2BIG:
 * the structure is longer than the kernel's and not zero there; ENOMEM: not enough memory.
 *
 * LULL_KERNEL_PLAN_RESERVED: the session lies in the memory that was reserved at boot, one behind
 * the other, and what is in it can be read after a crash of the machine, by LULL_KERNEL_LEFT.
 * ENXIO: no memory is reserved; EADDRINUSE: another session is there; ENOTEMPTY: a session that was
 * left is there; ENOSPC: the ring of a running CPU does not fit. splice() of its rings is refused
 * (EOPNOTSUPP).
 */
struct lull_kernel_plan {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0, or LULL_KERNEL_PLAN_RESERVED */
	uint8_t uuid[16]; /* of the trace */
	uint32_t mode; /* enum lull_mode */
	uint32_t stream_id; /* of the CTF streams that the rings become */
	uint64_t subbuf_size_bytes;
	uint32_t subbuf_count;
	/*
	 * Physical sub-buffers with memory beyond subbuf_count, from 1: the first belongs to the
	 * reader, in flight-recorder mode; the others can replace sub-buffers that it takes. All
	 * physical sub-buffers behind them share one page.
	 */
	uint32_t spare_count;
	uint64_t patterns; /* address of text as in session.h, NUL-terminated */
	uint32_t patterns_bytes; /* with the NUL */
	uint32_t clock_kind; /* the kernel's answer: enum lull_clock_kind */
	uint64_t memory_bytes; /* the kernel's answer: how much can be mapped */
};

/* What LULL_KERNEL_ENABLE did, all of it the kernel's answer but bytes and flags. */
struct lull_kernel_enable {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint32_t event_count; /* events that the kernel module has */
	uint32_t matched_count; /* those that the patterns match */
	uint32_t enabled_count; /* those that are recorded now */
	uint32_t absent_count; /* matched, but this kernel has no tracepoint for them now */
	uint32_t failed_count; /* matched, but the kernel refused the probe, or a filter is wrong */
	uint32_t undescribed_count; /* matched, but the event table or the arena is full */
	uint32_t unused_filter_count; /* filters that no event has got until now */
	uint32_t unused; /* 0 */
};

/*
 * A filter of the events that have one description: those of this module, those of other modules,
 * also of one that comes later, and sources. Of these, only those occurrences are recorded that the
 * program takes; one that it does not take is not lost, and counted nowhere. Filters are given
 * first. Return: 0. EINVAL: there is no program of this size; EEXIST: these events have a filter in
 * this session, which stays; EBUSY: the session has events, by LULL_KERNEL_SOURCE or
 * LULL_KERNEL_ENABLE, and no LULL_KERNEL_RULES came since; ENOSPC: it has as many filters as it can
 * have events.
 *
 * Whether a program is one that is right for an event is found out when the event is: where it is
 * not, LULL_KERNEL_SOURCE answers EINVAL, and LULL_KERNEL_ENABLE counts the event as failed.
 */
struct lull_kernel_filter {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint64_t event_hash; /* FNV-1a of the events' description */
	uint64_t program; /* address of a program (filter.h) */
	uint32_t program_bytes;
	uint32_t unused; /* 0 */
};

/*
 * Other patterns in place of those of the plan, and no filters: a session that runs changes what it
 * records in three steps. LULL_KERNEL_RULES ends the events that the new patterns do not match, and
 * frees the filters; LULL_KERNEL_FILTER gives new ones; LULL_KERNEL_ENABLE begins the events that
 * are new, and has the filters in force. What both patterns match is recorded all the time, under
 * the same identifier, and unfiltered between the first step and the last. The session's memory
 * tells the plan's patterns as before. Return: 0. EINVAL: a pattern is not valid; EBUSY: the
 * session has sources, which keep their filters; ENOMEM.
 */
struct lull_kernel_rules {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint64_t patterns; /* address of text as in session.h, NUL-terminated */
	uint32_t patterns_bytes; /* with the NUL */
	uint32_t unused; /* 0 */
};

/*
 * Context that the session records with each of its events, before the event's own fields. It is
 * described under LULL_EVENT_CONTEXT, in the order in which it lies there: contexts by number,
 * counters by number, the kernel's call stack, the program's. A stack begins with the innermost
 * function's address; where the CPU's context cannot tell it, it is empty.
 *
 * Return: 0. EINVAL: nothing is asked for, or something that there is not; EEXIST: the session has
 * been told already; EBUSY: it has been enabled, or others use the processor's counters; EPERM:
 * counters need CAP_PERFMON; EOPNOTSUPP: no CPU has one of them; ENOSPC: the arena is full; ENOMEM.
 */
#define LULL_KERNEL_FRAMES_MAX 128
struct lull_kernel_context {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint32_t contexts; /* 1 << LULL_CONTEXT_... (context.h) for each */
	uint32_t kernel_frames; /* of the kernel's stack, at most; 0: it is not recorded */
	uint32_t user_frames; /* of the program's, by its frame pointers; likewise */
	uint32_t counters; /* 1 << LULL_COUNTER_... (context.h) for each */
};

/*
 * LULL_KERNEL_DISABLE ends what LULL_KERNEL_ENABLE began: when it returns, no probe writes to the
 * session's memory any more, and every event is committed.
 *
 * LULL_KERNEL_ENABLE begins a dump of the state, where that enables events of a dump (state:*), and
 * LULL_KERNEL_DISABLE ends one that runs. LULL_KERNEL_DUMP begins another one. ENOENT: no event of
 * a dump is enabled; EBUSY: a dump runs.
 *
 * LULL_KERNEL_BARRIER runs a memory barrier on every CPU: what any probe stored before it is seen
 * by the caller after it (B 4.4). A reader of the mapping calls it where core/ring asks for a heavy
 * barrier.
 */

/*
 * A ring's descriptor reads one CPU's ring; there is one at a time (EBUSY), and who has it reads
 * the ring by no other way. EINVAL: there is no such ring.
 *
 * poll() says POLLIN where a sub-buffer is closed, POLLPRI too where the writers are in the last
 * one that they have, and POLLHUP where the session is disabled and nothing is left. mmap() gives
 * the ring's sub-buffers, to be read. splice() gives the pages of the sub-buffer that is got, from
 * its begin on and each once, to a pipe; they are not copied.
 */
struct lull_kernel_ring {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint32_t cpu;
	uint32_t unused; /* 0 */
};

/*
 * LULL_KERNEL_GET gets the oldest sub-buffer, if it is full. EAGAIN: it is not; EBUSY: one is got
 * already.
 *
 * LULL_KERNEL_PUT gives it back. EINVAL: none is got; EBUSY: a pipe, a socket or another holder
 * still refers to a page of it; the caller tries again.
 *
 * LULL_KERNEL_SWITCH closes the ring's open sub-buffer if it has events, so that it can be got.
 */
struct lull_kernel_subbuf {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint64_t offset_bytes; /* the kernel's answer: where it is in the mapping of the ring */
	uint64_t subbuf_bytes; /* the kernel's answer: its size */
};

/*
 * What is in the memory that was reserved at boot. The calls are of the device; who makes them
 * needs no session.
 */
enum lull_kernel_reserved_state {
	LULL_RESERVED_NONE, /* no memory is reserved */
	LULL_RESERVED_FREE,
	LULL_RESERVED_USED, /* a session is recorded there, or what was left is being read */
	LULL_RESERVED_LEFT /* a session is there that the machine's last crash or reset ended */
};

struct lull_kernel_reserved {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint32_t state; /* the kernel's answer: enum lull_kernel_reserved_state */
	uint32_t given_count; /* of a left session: physical sub-buffers that each ring has */
	uint64_t reserved_bytes; /* the kernel's answer: size of the reserved memory */
	uint64_t memory_bytes; /* of a left session: as that of its plan */
	uint64_t begun_cycles; /* of a left session: its clock when it was made */
	uint64_t begun_ns; /* of a left session: nanoseconds since the epoch then */
};

/*
 * The descriptor of a left session reads its memory, by pread() at the offsets of the mapping that
 * it had; ENXIO: there is no memory at this offset. It is one at a time (EADDRINUSE), for root and
 * for the user who recorded (EPERM). ENOENT: no session was left.
 *
 * LULL_KERNEL_FORGET frees the memory for other sessions, once the descriptor is closed.
 */

/*
 * A source is an event of the session's own, at any place that the kernel can watch.
 * LULL_KERNEL_SOURCE makes it, for who has CAP_SYS_ADMIN in the first user namespace, on kernels
 * that are not locked down. It is recorded from LULL_KERNEL_ENABLE on, whatever the patterns are,
 * until LULL_KERNEL_DISABLE or the session's end, which removes it.
 *
 * A tracepoint of a module that is not there is no error: it is watched whenever the module is.
 *
 * EPERM: not for this caller; EINVAL: a field, a text, a size or the event's filter is not valid;
 * ENOENT: the kernel, or the module, has no such tracepoint or symbol; ENOSPC: the session has
 * LULL_SOURCES_MAX sources, or no room for another event; other errors are those of the kernel's
 * kprobes, uprobes and breakpoints.
 */
#define LULL_SOURCES_MAX 256
#define LULL_SOURCE_FIELDS_MAX 16
#define LULL_SOURCE_STEPS_MAX 4
#define LULL_SOURCE_ARGUMENTS_MAX 12 /* of a tracepoint */
#define LULL_SOURCE_TARGET_MAX 4096 /* bytes, with the NUL */
#define LULL_SOURCE_STRINGS_BYTES 256 /* of one event: its strings share them, NULs too */

enum lull_source_kind {
	LULL_SOURCE_TRACEPOINT = 1, /* target: name of a tracepoint; of a module's, MODULE:NAME */
	LULL_SOURCE_FUNCTION, /* kprobe; target: symbol; offset: bytes behind it */
	LULL_SOURCE_RETURN, /* kretprobe; target: symbol of a function; length: see below */
	LULL_SOURCE_ACCESS, /* breakpoint; offset: kernel address; length, access: see below */
	LULL_SOURCE_PROGRAM, /* uprobe; target: path of a file; offset: bytes in it */
	LULL_SOURCE_PROGRAM_RETURN /* uretprobe; the same, at a function's begin */
};

enum lull_source_access {
	LULL_ACCESS_WRITE = 1,
	LULL_ACCESS_READ_WRITE = 3,
	LULL_ACCESS_EXECUTE = 4
};

struct lull_kernel_source {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint32_t kind; /* enum lull_source_kind */
	uint32_t field_count;
	uint64_t fields; /* address of struct lull_source_field[field_count] */
	uint64_t target; /* address of text, NUL-terminated; empty for a breakpoint */
	/*
	 * Address of text as in site.h, NUL-terminated. It has a line for each field, whose type is
	 * an integer, bool, ptr, enum or str, and says how many bytes the field has.
	 */
	uint64_t description;
	uint32_t target_bytes; /* with the NUL */
	uint32_t description_bytes; /* with the NUL */
	uint64_t offset;
	/*
	 * LULL_SOURCE_ACCESS: 1, 2, 4 or 8 bytes. LULL_SOURCE_RETURN: how many calls may be under
	 * way at once before their returns are missed; 0 for the kernel's own choice. Else 0.
	 */
	uint32_t length;
	uint32_t access; /* LULL_SOURCE_ACCESS: enum lull_source_access. Else 0 */
};

enum lull_field_from {
	LULL_FROM_ARGUMENT = 1, /* index: of a tracepoint's, or of a function's in a register */
	LULL_FROM_REGISTER, /* index: offset in struct pt_regs; not of a tracepoint */
	LULL_FROM_RESULT, /* of LULL_SOURCE_RETURN and LULL_SOURCE_PROGRAM_RETURN */
	LULL_FROM_CONSTANT,
	LULL_FROM_UNREAD /* bit i: memory that field i leads to could not be read */
};

/*
 * One value: where it begins, and the steps from there, each of which adds to the value and reads
 * what is at that address: 8 bytes, at the last step the field's type. A string has one step at
 * least. What cannot be read without faulting is 0, or "(unreadable)"; a string at an address in
 * the first page is "(null)".
 */
struct lull_source_field {
	uint8_t from; /* enum lull_field_from */
	uint8_t step_count;
	uint8_t is_user; /* the last step reads memory of the program that runs */
	uint8_t unused; /* 0 */
	uint32_t index; /* 0 where from does not use it */
	uint64_t constant; /* 0 where from is not LULL_FROM_CONSTANT */
	int32_t steps[LULL_SOURCE_STEPS_MAX]; /* 0 behind the last one */
};

/*
 * How often a source's place was reached and no probe could run: kprobes inside of one another, or
 * more calls under way than LULL_SOURCE_RETURN can follow. EINVAL: there is no such source.
 */
struct lull_kernel_missed {
	uint32_t bytes; /* of this structure */
	uint32_t flags; /* 0 */
	uint32_t number; /* what LULL_KERNEL_SOURCE returned */
	uint32_t unused; /* 0 */
	uint64_t missed_count; /* the kernel's answer */
};

#endif
