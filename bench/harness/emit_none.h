/* SPDX-License-Identifier: MIT */
/* The events of the measured programs, compiled to nothing: the loops' own cost. */
#ifndef LULL_BENCH_EMIT_H
#define LULL_BENCH_EMIT_H

#define SUBJECT_TRACER "none"

static inline void emit_two_words(long value, void *pointer)
{
	__asm__ volatile("" ::"r"(value), "r"(pointer));
}

static inline void emit_one_int(int value)
{
	__asm__ volatile("" ::"r"(value));
}

static inline void emit_alarm(long value, void *pointer)
{
	emit_two_words(value, pointer);
}

static inline void emit_profile(long value, void *pointer)
{
	emit_two_words(value, pointer);
}

static inline void emit_filler(const unsigned char *bytes, unsigned int count)
{
	__asm__ volatile("" ::"r"(bytes), "r"(count));
}

#endif
