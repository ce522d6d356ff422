/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the processor and of the kernel (lull/abi/context.h) that a session records with each
 * of its events: how far each has come on the CPU of the event.
 */
#ifndef LULL_KERNEL_COUNTERS_H
#define LULL_KERNEL_COUNTERS_H

#include <linux/types.h>
#include "lull/abi/context.h"

struct counter_set;

/* Those of one session; zeros for none. */
struct counters {
	uint32_t wanted; /* 1 << LULL_COUNTER_... */
	struct counter_set __percpu *sets;
};

/*
 * lull_counters_create() - make the kernel count on all CPUs that run now.
 * Context: may sleep. Return: 0; -EPERM; -EOPNOTSUPP where no CPU counts one of them; -EBUSY where
 * others use the processor's counters; -ENOMEM.
 */
int lull_counters_create(struct counters *counters, uint32_t wanted);

/* lull_counters_free() - Context: may sleep; no probe can be in the session. */
void lull_counters_free(struct counters *counters);

/* lull_counters_bytes() - how many bytes counters have in an event: a multiple of 4. */
uint32_t lull_counters_bytes(uint32_t wanted);

/*
 * lull_counters_store() - write how far they have come into an event, in ascending order.
 * @to: has room for lull_counters_bytes(@counters->wanted)
 * Context: in a probe. Progress: bounded by LULL_COUNTERS. Return: where they end.
 */
unsigned char *lull_counters_store(unsigned char *to, const struct counters *counters);

#endif
