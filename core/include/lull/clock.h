/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The trace clock: which counter stamps the events of a trace.
 *
 * A port collects facts about the machine; lull_clock_choose() turns them into a kind, once,
 * before the first event. The port reads the clock (lull_clock_cycles() in port/); readers of a
 * trace convert cycles to nanoseconds, by the trace's metadata.
 *
 * Paper: T 4.6.3 (why a counter is read directly); docs/design/30-clock.md.
 */
#ifndef LULL_CLOCK_H
#define LULL_CLOCK_H

#include <stdint.h>
#include "lull/abi/session.h" /* enum lull_clock_kind */

/* The CPUID leaf and the bit of EDX that say: the TSC runs at one rate in every state. */
#define LULL_CLOCK_CPUID_LEAF 0x80000007u
#define LULL_CLOCK_CPUID_INVARIANT (1u << 8)

/* The facts that decide. All zero and NULL describes a machine of which nothing is known. */
struct lull_clock_facts {
	uint32_t tsc_readable; /* 1: this context may execute rdtsc */
	uint32_t tsc_cpuid_edx; /* EDX of LULL_CLOCK_CPUID_LEAF, 0 where there is none */
	uint32_t cntvct_readable; /* 1: this context may read CNTVCT_EL0 */
	const char *clocksource; /* name of the kernel's clock source, may end in a newline */
};

/*
 * lull_clock_choose() - which counter stamps the events on such a machine.
 * @reason: set to a sentence that says why, for people; may be NULL
 * Context: any. Progress: wait-free.
 * Return: the kind; LULL_CLOCK_MONOTONIC wherever a counter cannot be trusted.
 * Paper: T 4.6.3.
 */
enum lull_clock_kind lull_clock_choose(const struct lull_clock_facts *facts, const char **reason);

/*
 * lull_clock_name() - the kind's name as it stands in a trace's environment.
 * Return: the name, or NULL for a number that is no kind.
 * Context: any. Progress: wait-free.
 */
const char *lull_clock_name(uint32_t kind);

#endif
