/* SPDX-License-Identifier: MIT */
/* The one file in which LTTng-UST's macros generate the probes of lttng_provider.h. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
