/* SPDX-License-Identifier: MIT */
/* The events of the measured programs, as LTTng-UST tracepoints. */
#ifndef LULL_BENCH_EMIT_H
#define LULL_BENCH_EMIT_H

#include "lttng_provider.h"

#define SUBJECT_TRACER "lttng"

static inline void emit_two_words(long value, void *pointer)
{
	lttng_ust_tracepoint(bench, two_words, value, pointer);
}

static inline void emit_one_int(int value)
{
	lttng_ust_tracepoint(bench, one_int, value);
}

static inline void emit_alarm(long value, void *pointer)
{
	lttng_ust_tracepoint(bench, alarm, value, pointer);
}

static inline void emit_profile(long value, void *pointer)
{
	lttng_ust_tracepoint(bench, profile, value, pointer);
}

static inline void emit_filler(const unsigned char *bytes, unsigned int count)
{
	lttng_ust_tracepoint(bench, filler, bytes, count);
}

#endif
