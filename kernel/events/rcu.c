// SPDX-License-Identifier: GPL-2.0-only
/*
 * RCU's work on a CPU, and its warnings. The kernel has RCU's other events only where it is built
 * with CONFIG_RCU_TRACE.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <trace/events/rcu.h>
#include "events/fields.h"

LULL_KERNEL_EVENT(rcu, rcu_utilization, TP_PROTO(const char *s), lull_str(s, s));
LULL_KERNEL_EVENT(rcu, rcu_stall_warning, TP_PROTO(const char *rcuname, const char *msg),
		  lull_str(rcuname, rcuname), lull_str(msg, msg));
