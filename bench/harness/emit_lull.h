/* SPDX-License-Identifier: MIT */
/* The events of the measured programs, as lull_event() lines: nothing else is needed. */
#ifndef LULL_BENCH_EMIT_H
#define LULL_BENCH_EMIT_H

#include <lull/trace.h>

#define SUBJECT_TRACER "lull"

static inline void emit_two_words(long value, void *pointer)
{
	lull_event("bench:two_words", lull_i64(value, value), lull_ptr(pointer, pointer));
}

static inline void emit_one_int(int value)
{
	lull_event("bench:one_int", lull_i32(value, value));
}

#define SUBJECT_HAS_TEXT
static inline void emit_text(const char *text)
{
	lull_event("bench:text", lull_str(text, text));
}

static inline void emit_alarm(long value, void *pointer)
{
	lull_event("bench:alarm", lull_i64(value, value), lull_ptr(pointer, pointer));
}

static inline void emit_profile(long value, void *pointer)
{
	lull_event("bench:profile", lull_i64(value, value), lull_ptr(pointer, pointer));
}

static inline void emit_filler(const unsigned char *bytes, unsigned int count)
{
	lull_event("bench:filler", lull_bytes(bytes, bytes, count));
}

#endif
