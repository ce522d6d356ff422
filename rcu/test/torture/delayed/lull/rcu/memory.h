/* SPDX-License-Identifier: MIT */
/*
 * The shipped accesses, with a delay that only the torture has: between a reader's look at the
 * counter and the store of its word, where a preemption hurts most (T 6.4.3, steps 1 and 4).
 *
 * Found before rcu/include by the two-phase builds.
 */
#ifndef LULL_RCU_TORTURE_MEMORY_H
#define LULL_RCU_TORTURE_MEMORY_H

#include_next "lull/rcu/memory.h"

#ifdef TORTURE_DELAYED
void torture_delay(const char *function);

static inline unsigned long torture_delayed(unsigned long v, const char *function)
{
	torture_delay(function);
	return v;
}

#define lull_mem_store(p, v) lull_mem_store(p, torture_delayed(v, __func__))
#define lull_mem_store_release(p, v) lull_mem_store_release(p, torture_delayed(v, __func__))
#define lull_mem_store_full(p, v) lull_mem_store_full(p, torture_delayed(v, __func__))
#endif

#endif
