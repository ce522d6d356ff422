/* SPDX-License-Identifier: MIT */
/*
 * The flavour that a macro chooses: RCU_MEMBARRIER (the default), RCU_SIGNAL or RCU_MB.
 */
#if defined(RCU_MB)
#include <urcu/urcu-mb.h>
#elif defined(RCU_SIGNAL)
#include <urcu/urcu-signal.h>
#else
#ifndef RCU_MEMBARRIER
#define RCU_MEMBARRIER
#endif
#include <urcu/urcu-memb.h>
#endif
