/* SPDX-License-Identifier: MIT */
/*
 * Clocks, CPU pinning and cache eviction for the measured programs.
 *
 * Every loop is timed twice: in CPU time of the thread, which other programs on a shared
 * machine disturb little, and in wall-clock time. The tables show the first and keep both.
 */
#ifndef LULL_BENCH_TIMING_H
#define LULL_BENCH_TIMING_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct timing {
	uint64_t cpu_ns;
	uint64_t wall_ns;
};

static inline uint64_t timing_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline void timing_begin(struct timing *timing)
{
	timing->wall_ns = timing_read_ns(CLOCK_MONOTONIC);
	timing->cpu_ns = timing_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void timing_end(struct timing *timing)
{
	timing->cpu_ns = timing_read_ns(CLOCK_THREAD_CPUTIME_ID) - timing->cpu_ns;
	timing->wall_ns = timing_read_ns(CLOCK_MONOTONIC) - timing->wall_ns;
}

/* The cycle counter, unordered, as a tracer's probe reads it: the floor of every table. */
static inline uint64_t timing_cycles(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t cycles;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(cycles));
	return cycles;
#else
#error "no cycle counter known for this architecture"
#endif
}

/* The cycle counter, not before earlier instructions are done and not after later ones. */
static inline uint64_t timing_cycles_ordered(void)
{
	uint64_t cycles;

#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
	cycles = timing_cycles();
	__asm__ volatile("lfence" ::: "memory");
#else
	__asm__ volatile("isb" ::: "memory");
	cycles = timing_cycles();
	__asm__ volatile("isb" ::: "memory");
#endif
	return cycles;
}

/* Evict one line of data or code from every cache. */
static inline void timing_evict_line(const void *address)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" ::"r"(address) : "memory");
#else
	__asm__ volatile("dc civac, %0\n\tic ivau, %0" ::"r"(address) : "memory");
#endif
}

static inline void timing_evict_wait(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" ::: "memory");
#else
	__asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

/* Counter ticks in a second, measured over 20 ms. */
static inline double timing_cycles_per_ns(void)
{
	uint64_t begin_ns = timing_read_ns(CLOCK_MONOTONIC);
	uint64_t begin = timing_cycles_ordered();
	uint64_t until_ns, until;

	do {
		until_ns = timing_read_ns(CLOCK_MONOTONIC);
	} while (until_ns - begin_ns < 20000000);
	until = timing_cycles_ordered();
	return (double)(until - begin) / (double)(until_ns - begin_ns);
}

static inline void timing_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("bench: sched_setaffinity");
		exit(2);
	}
}

#endif
