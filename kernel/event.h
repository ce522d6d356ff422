/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a file of kernel/events includes: lull_event() in kernel code, and how a probe is tied to a
 * tracepoint of the kernel's.
 *
 *	#include <trace/events/sched.h>
 *	#include "event.h"
 *
 *	static void probe_sched_waking(void *data, struct task_struct *task)
 *	{
 *		lull_event("sched:sched_waking", lull_i32(pid, task->pid));
 *	}
 *	LULL_TRACEPOINT_EVENT(sched_waking, "sched:sched_waking", probe_sched_waking);
 *
 * A probe runs in any context, NMIs included. What it calls, in the fields of the event too, must
 * not sleep, fault, take a lock or be traced.
 * The kernel has no floating point: lull_f32() and lull_f64() have no place here.
 *
 * Paper: T 8.2 (tracepoints: the probe's type is checked); O 4.2 (instrumentation).
 */
#ifndef LULL_KERNEL_EVENT_H
#define LULL_KERNEL_EVENT_H

#include <linux/compiler.h>
#include <linux/tracepoint.h>
#include "filtering.h"
#include "probe.h"

/* The tracepoint's static key keeps the probe away while nobody wants the event: no patching. */
#define LULL_SITE_LOAD
#define LULL_PROBE_ENTER(probe) lull_probe_enter(&(probe)->slot, (probe)->record)
#define LULL_PROBE_LEAVE(probe) lull_probe_leave(&(probe)->slot)
#define LULL_PROBE_FILTER(probe) lull_probe_filter
#define LULL_PROBE_RESERVE(probe, session, id, payload_bytes) \
	lull_slot_reserve(&(probe)->slot, session, id, payload_bytes)
#define LULL_PROBE_COMMIT(probe) lull_slot_commit(&(probe)->slot)
#include "lull/trace.h"

/* An event is recorded by this probe while the probe is registered with this tracepoint. */
struct lull_binding {
	const char *event; /* its name, as in lull_event() */
	const char *tracepoint;
	void *probe;
};

/**
 * LULL_TRACEPOINT_EVENT() - Tie an event to a tracepoint.
 * @tracepoint: its name without the group, a bare identifier; <trace/events/...> has to be
 * included, for the compiler to check the probe's parameters
 * @event: the name that lull_event() has in the probe, a string literal
 * @probe: the function to register; its data is NULL
 *
 * Enabling the event registers the probe, once for all sessions and all events that have the same
 * tracepoint and the same probe. An event that stands in several probes, or in probes of several
 * tracepoints, has a line for each.
 */
#define LULL_TRACEPOINT_EVENT(tracepoint, event, probe) \
	LULL_TRACEPOINT_BINDING(tracepoint, event, probe, __UNIQUE_ID(lull_binding_))
#define LULL_TRACEPOINT_BINDING(tracepoint, event, probe, name)                \
	static void __maybe_unused LULL_PASTE(name, _check)(void)              \
	{                                                                      \
		check_trace_callback_type_##tracepoint(probe);                 \
	}                                                                      \
	static const struct lull_binding name = { event, #tracepoint, probe }; \
	static const struct lull_binding *const LULL_PASTE(name, _at)          \
		__used __section(".lull_bindings") = &name

#endif
