/* SPDX-License-Identifier: MIT */
/*
 * lull/rcu/pointer.h for the explorer: each access is a step, as port/sched/rcu/lull/rcu/memory.h
 * makes the accesses of words. Include it before the structures, in one file only.
 *
 * A seeded fault weakens the accesses of one function, because the structures' headers, which
 * programs include, have no LULL_MUTANT().
 */
#ifndef LULL_RCU_POINTER_H
#define LULL_RCU_POINTER_H

#include <string.h>
#include "lull/rcu/memory.h"

/*
 * NULL, or the function in which release stores and acquire loads are relaxed, and an exchange or a
 * compare-and-swap is a load and a store.
 */
extern const char *fault_in;

static inline void pointer_store(unsigned long *p, unsigned long v, const char *function)
{
	if (fault_in && !strcmp(fault_in, function))
		lull_mem_store(p, v);
	else
		lull_mem_store_release(p, v);
}

static inline unsigned long pointer_load(const unsigned long *p, const char *function)
{
	if (fault_in && !strcmp(fault_in, function))
		return lull_mem_load(p);
	return lull_mem_load_acquire(p);
}

static inline unsigned long pointer_exchange(unsigned long *p, unsigned long v,
					     const char *function)
{
	unsigned long found;

	if (!fault_in || strcmp(fault_in, function))
		return lull_mem_exchange(p, v);
	found = lull_mem_load(p);
	lull_mem_store(p, v);
	return found;
}

static inline unsigned long pointer_cas(unsigned long *p, unsigned long expect, unsigned long v,
					const char *function)
{
	unsigned long found;

	if (!fault_in || strcmp(fault_in, function))
		return lull_mem_cas(p, expect, v);
	found = lull_mem_load(p);
	if (found == expect)
		lull_mem_store(p, v);
	return found;
}

#define lull_mem_cas(p, expect, v) pointer_cas((p), (expect), (v), __func__)
#define lull_mem_load_acquire(p) pointer_load((p), __func__)
#define rcu_dereference(p) ((__typeof__(p))lull_mem_load_acquire((const unsigned long *)&(p)))
#define rcu_assign_pointer(p, v) pointer_store((unsigned long *)&(p), (unsigned long)(v), __func__)
#define rcu_xchg_pointer(p, v) \
	((__typeof__(*(p)))pointer_exchange((unsigned long *)(p), (unsigned long)(v), __func__))
#define rcu_cmpxchg_pointer(p, expect, v)                                             \
	((__typeof__(*(p)))pointer_cas((unsigned long *)(p), (unsigned long)(expect), \
				       (unsigned long)(v), __func__))

#endif
