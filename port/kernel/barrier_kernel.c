// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The reader's half of the light barriers: make every CPU order its memory once.
 *
 * A writer orders its stores for the compiler only. Before the reader relies on that order it
 * runs a full barrier on all CPUs, its own included: all that a writer did before the barrier is
 * then visible, and all that the writer does later comes after it. Paper: B 4.4 (the IPI scheme).
 */
#include "lull_port.h"

static void cpu_barrier(void *unused)
{
	smp_mb();
}

void lull_barrier_heavy(void)
{
	smp_mb();
	smp_call_function(cpu_barrier, NULL, 1);
	smp_mb();
}
