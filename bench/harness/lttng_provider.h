/* SPDX-License-Identifier: MIT */
/*
 * LTTng-UST's provider of the bench events: the same payloads as emit_lull.h. LTTng wants
 * this file to be included several times, hence the unusual guard.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(LULL_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LULL_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(bench, words_class,
	LTTNG_UST_TP_ARGS(long, value, void *, pointer),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(long, value, value)
		lttng_ust_field_integer_hex(unsigned long, pointer, (unsigned long)pointer)
	)
)

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, words_class, bench, two_words,
	LTTNG_UST_TP_ARGS(long, value, void *, pointer))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, words_class, bench, alarm,
	LTTNG_UST_TP_ARGS(long, value, void *, pointer))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, words_class, bench, profile,
	LTTNG_UST_TP_ARGS(long, value, void *, pointer))

LTTNG_UST_TRACEPOINT_EVENT(bench, one_int,
	LTTNG_UST_TP_ARGS(int, value),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, value, value)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(bench, filler,
	LTTNG_UST_TP_ARGS(const unsigned char *, bytes, unsigned int, count),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_sequence(unsigned char, bytes, bytes, unsigned int, count)
	)
)
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
