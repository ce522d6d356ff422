/* SPDX-License-Identifier: MIT */
/*
 * LTTng's description of its event kmem_kfree, as its own probe of that group has it. LTTng builds
 * that probe only where the whole source of the kernel is, because of other events in it.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kmem

#if !defined(LULL_BENCH_LTTNG_PROBE_KFREE_H) || defined(TRACE_HEADER_MULTI_READ)
#define LULL_BENCH_LTTNG_PROBE_KFREE_H

#include <lttng/tracepoint-event.h>

LTTNG_TRACEPOINT_EVENT_MAP(kfree, kmem_kfree, TP_PROTO(unsigned long call_site, const void *ptr),
			   TP_ARGS(call_site, ptr),
			   TP_FIELDS(ctf_integer_hex(unsigned long, call_site, call_site)
					     ctf_integer_hex(const void *, ptr, ptr)))

#endif

#include <lttng/define_trace.h>
