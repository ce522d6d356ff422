/* SPDX-License-Identifier: MIT */
/*
 * Events for a tracer that runs them instruction by instruction (lines.py): a breakpoint before
 * and after each, with the time in a register at the first, so that the tracer can go on with it.
 * Without that tracer a breakpoint ends the program.
 */
#include <string.h>
#include <sys/rseq.h>
#include <unistd.h>

#include "subject.h"
#include SUBJECT_EMIT

#define WARM_UP_COUNT 2000

static unsigned char filler[4096];

#if defined(__x86_64__)
#define BREAKPOINT(cycles) __asm__ volatile("int3" ::"a"(cycles) : "memory")
#else
#define BREAKPOINT(cycles) ((void)(cycles), __builtin_trap())
#endif

int subject_place(void)
{
	uintptr_t area = __rseq_size ? (uintptr_t)__builtin_thread_pointer() + __rseq_offset : 0;

	printf("pid=%d sequence_area=%llu\n", getpid(), (unsigned long long)area);
	return 0;
}

int subject_lines(unsigned int event_count, unsigned int filler_bytes)
{
	/* So that the events' stack begins at the same place in a line each time. */
	_Alignas(64) unsigned char frame[64];

	__asm__ volatile("" ::"r"(frame) : "memory");
	if (filler_bytes > sizeof(filler))
		return -1;
	for (unsigned int i = 0; i < WARM_UP_COUNT + event_count; i++) {
		int is_stepped = i >= WARM_UP_COUNT;

		/* Its time is that of the stepped event too, as far as a header can tell. */
		emit_two_words(i, filler);
		if (filler_bytes)
			emit_filler(filler, filler_bytes);
		if (is_stepped)
			BREAKPOINT(timing_cycles_ordered());
		emit_two_words(i, filler);
		if (is_stepped)
			BREAKPOINT(0);
	}
	BREAKPOINT(0);
	printf("events=%u\n", event_count);
	return 0;
}
