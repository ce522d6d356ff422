// SPDX-License-Identifier: MIT
/*
 * A module that makes the kernel's kmem:kfree an event of lttng-modules: LTTng's macros write the
 * probe from lttng_probe_kfree.h, as for each of its own. Built in the folder of LTTng's probes.
 */
#include <linux/module.h>
#include <lttng/tracer.h>
#include <trace/events/kmem.h>
#include <wrapper/tracepoint.h>

#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE lttng_probe_kfree

#include "lttng_probe_kfree.h"

MODULE_DESCRIPTION("LTTng's event kmem_kfree");
MODULE_LICENSE("Dual MIT/GPL");
