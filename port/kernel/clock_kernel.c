// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Reads the trace clock from any context, NMIs included.
 *
 * Where no counter can be trusted, the kernel's fast monotonic clock is used: it is safe in
 * an NMI, but a time stamp may be a little behind while the clock is updated; the ring keeps its
 * slots in order by itself (I3). Paper: T 4.6.3.
 */
#include <linux/ktime.h>
#ifdef CONFIG_X86
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/tsc.h>
#endif
#ifdef CONFIG_ARM64
#include <asm/arch_timer.h>
#endif
#include "clock_kernel.h"
#include "lull_port.h"

static enum lull_clock_kind kind = LULL_CLOCK_MONOTONIC;

enum lull_clock_kind lull_clock_setup(const char **reason)
{
	struct lull_clock_facts facts = { .clocksource = "unknown" };

#ifdef CONFIG_X86
	facts.tsc_readable = 1;
	if (cpuid_eax(0x80000000u) >= LULL_CLOCK_CPUID_LEAF)
		facts.tsc_cpuid_edx = cpuid_edx(LULL_CLOCK_CPUID_LEAF);
	if (!check_tsc_unstable())
		facts.clocksource = "tsc";
#endif
#ifdef CONFIG_ARM64
	facts.cntvct_readable = 1;
#endif
	kind = lull_clock_choose(&facts, reason);
	return kind;
}

uint64_t lull_clock_cycles(void)
{
#ifdef CONFIG_X86
	if (kind == LULL_CLOCK_TSC)
		return rdtsc();
#endif
#ifdef CONFIG_ARM64
	if (kind == LULL_CLOCK_CNTVCT)
		return __arch_counter_get_cntvct();
#endif
	return ktime_get_mono_fast_ns();
}

uint64_t lull_clock_cycles_ordered(void)
{
#ifdef CONFIG_X86
	if (kind == LULL_CLOCK_TSC)
		return rdtsc_ordered();
#endif
#ifdef CONFIG_ARM64
	isb();
#endif
	return lull_clock_cycles();
}
