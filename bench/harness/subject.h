/* SPDX-License-Identifier: MIT */
/*
 * The measured program. It is compiled once per tracer from the same source: only the header
 * that SUBJECT_EMIT names differs. It reads commands from standard input and answers each
 * with one line, so that the harness can alternate two tracers between short samples.
 */
#ifndef LULL_BENCH_SUBJECT_H
#define LULL_BENCH_SUBJECT_H

#include <stdint.h>
#include <stdio.h>

#include "timing.h"

#define SUBJECT_THREADS_MAX 64
#define SUBJECT_SAMPLES_MAX 65536

/* Keep the compiler from merging or dropping iterations. */
#define SUBJECT_OPAQUE(variable) __asm__ volatile("" : "+r"(variable))

typedef void (*subject_loop)(uint64_t count);

/*
 * Find the loop of that name, NULL when there is none. Names: empty, cycles, clock, two_words,
 * one_int, points, text (ours only), sites, no_sites (the last two: eight in each iteration).
 */
subject_loop subject_loop_find(const char *name);

/* Each prints one answer line and returns 0, or -1 with a message on standard error. */
int subject_threads(subject_loop loop, unsigned int thread_count, uint64_t count);
int subject_handoff(unsigned int emitting_mask, unsigned int events_per_turn, uint64_t turn_count);
int subject_signals(uint64_t event_count, unsigned int alarm_us, unsigned int profile_us);
int subject_paced(subject_loop loop, unsigned int thread_count, uint64_t rate, double seconds);
int subject_worst(unsigned int sample_count, unsigned int filler_bytes, int evict);
int subject_place(void);
int subject_lines(unsigned int event_count, unsigned int filler_bytes);
int subject_busy(unsigned int thread_count);
int subject_mark(unsigned int number);

/* Order statistics of samples, which it sorts: " p50=.. p99=.. p999=.. max=.." in ns. */
void subject_print_quantiles(const char *prefix, uint64_t *samples, unsigned int count,
			     double cycles_per_ns);

#endif
