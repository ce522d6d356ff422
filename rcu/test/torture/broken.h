/* SPDX-License-Identifier: MIT */
/*
 * Included first by builds that the torture must catch: RCU_BROKEN names the explorer's seeded
 * fault that is real in them.
 */
#ifndef LULL_RCU_TORTURE_BROKEN_H
#define LULL_RCU_TORTURE_BROKEN_H

#include "../../../port/sched/mutants.h"

#define LULL_MUTANT(name) (RCU_BROKEN == SCHED_MUTANT_##name)

#endif
