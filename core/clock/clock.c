// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The choice of the trace clock. Papers: T 4.6.3.
 *
 * A trace clock must be readable from any context, NMIs and signal handlers included, must
 * never wait, and must order events of different CPUs. A counter register has the first two
 * properties by construction. The third needs evidence, and the kernel has it: it compares the TSCs
 * of all CPUs when they start, watches them against another timer while they run, and stops
 * using the TSC as its own clock source when either fails. So the rule is to trust the TSC
 * exactly as long as the kernel does, and only if CPUID says that its rate is constant.
 * The architected counter of aarch64 is one counter for all CPUs with one fixed rate; where
 * a chip has an erratum, the kernel traps the read and corrects it.
 *
 * Rejected: trusting CPUID alone (it says nothing about different CPUs); our own
 * comparison of the TSCs (weaker than the kernel's, and it costs start-up time).
 */
#include "lull/clock.h"

/* Compares a NUL-terminated name with a line that may end in a newline. */
static int clocksource_is(const char *line, const char *name)
{
	if (!line)
		return 0;
	while (*name && *line == *name) {
		line++;
		name++;
	}
	return !*name && (!*line || *line == '\n');
}

enum lull_clock_kind lull_clock_choose(const struct lull_clock_facts *facts, const char **reason)
{
	const char *why;
	enum lull_clock_kind kind = LULL_CLOCK_MONOTONIC;

	if (facts->cntvct_readable) {
		kind = LULL_CLOCK_CNTVCT;
		why = "the architected counter has one rate and one value on all CPUs";
	} else if (!facts->tsc_readable) {
		why = "no counter register can be read here";
	} else if (!(facts->tsc_cpuid_edx & LULL_CLOCK_CPUID_INVARIANT)) {
		why = "the TSC is not invariant: its rate changes with the CPU's state";
	} else if (!clocksource_is(facts->clocksource, "tsc")) {
		why = "the kernel does not use the TSC as its clock source";
	} else {
		kind = LULL_CLOCK_TSC;
		why = "the TSC is invariant and the kernel's own clock source";
	}
	if (reason)
		*reason = why;
	return kind;
}

const char *lull_clock_name(uint32_t kind)
{
	switch (kind) {
	case LULL_CLOCK_TSC:
		return "tsc";
	case LULL_CLOCK_MONOTONIC:
		return "monotonic";
	case LULL_CLOCK_CNTVCT:
		return "cntvct";
	}
	return 0;
}
