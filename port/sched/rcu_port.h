/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sched port for rcu's freestanding parts: locks and futexes that the explorer knows.
 *
 * A thread that waits for a lock, or sleeps on a futex, cannot move until it is let; where
 * none can move and one has not ended, the explorer reports a deadlock: a lost wake-up.
 * Taking a lock keeps nothing of its thread's earlier stores before it, releasing is a release
 * store: no more than C11 and POSIX promise. Fields that a lock guards and that are read and
 * written as plain memory are declared by sched_plain().
 */
#ifndef RCU_PORT_H
#define RCU_PORT_H

#include <stdint.h>
#include "lull/rcu/memory.h"
#include "mutants.h"

#ifndef LULL_MUTANT
#define LULL_MUTANT(name) (sched_mutant == SCHED_MUTANT_##name)
#endif

struct lull_lock {
	uint64_t holder; /* 1 + its thread, or 0 */
};

#define LULL_LOCK_INITIALIZER \
	{                     \
		0             \
	}

void lull_lock_take(struct lull_lock *lock);
int lull_lock_try(struct lull_lock *lock);
void lull_lock_release(struct lull_lock *lock);
void lull_futex_wait(uint32_t *word, uint32_t seen);
void lull_futex_wake(uint32_t *word, int count);

/* Nothing here: the steps around it are where others move. */
static inline void lull_relax(void)
{
}

#endif
