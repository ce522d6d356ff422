/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The trace clock in the kernel: chosen once, at load, before the first event.
 *
 * Paper: T 4.6.3; core/clock/clock.c has the rule.
 */
#ifndef LULL_CLOCK_KERNEL_H
#define LULL_CLOCK_KERNEL_H

#include "lull/clock.h"

/*
 * lull_clock_setup() - choose the clock of this machine.
 * @reason: set to a sentence that says why
 * Context: before the first lull_clock_cycles().
 */
enum lull_clock_kind lull_clock_setup(const char **reason);

#endif
