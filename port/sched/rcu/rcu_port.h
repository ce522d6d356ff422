/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sched port for rcu: locks, futexes and threads that the explorer knows.
 *
 * A thread that waits for a lock, or sleeps on a futex, cannot move until it is let; where
 * none can move and one has not ended, the explorer reports a deadlock: a lost wake-up.
 * Taking a lock keeps nothing of its thread's earlier stores before it, releasing is a release
 * store: no more than C11 and POSIX promise. Fields that a lock guards and that are read and
 * written as plain memory are declared by sched_plain().
 */
#ifndef RCU_PORT_H
#define RCU_PORT_H

#include <stddef.h>
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
void lull_lock_renew(struct lull_lock *lock);
void lull_futex_wait(uint32_t *word, uint32_t seen);
void lull_futex_wake(uint32_t *word, int count);
/* Its time is over at once, unless it is an hour or more: then it never is. */
void lull_futex_wait_for(uint32_t *word, uint32_t seen, int64_t duration_ns);

/*
 * A variable of the library, moved into the explorer's memory with the value that it has: in setup
 * at the first use, which must not come later. A thread's own is in ghost memory: no steps.
 */
#define LULL_SHARED(p) ((__typeof__(p))sched_moved((p), sizeof(*(p)), 0))
#define LULL_OWN(p) ((__typeof__(p))sched_moved((p), sizeof(*(p)), 1))
void *sched_moved(const void *variable, size_t bytes, int own);

/* Threads are declared in setup; one that stands for another looks until that is started. */
struct lull_thread {
	uint32_t state; /* futex: 0, then 1 once it was started, then 2 once it has ended */
};

int lull_thread_start(struct lull_thread *thread, void *(*main)(void *argument), void *argument,
		      int signal);
void lull_thread_join(struct lull_thread *thread);
/* The body of the thread that stands for @thread. */
void sched_thread_run(struct lull_thread *thread, void *(*main)(void *argument), void *argument);

static inline void lull_thread_detach(struct lull_thread *thread)
{
	(void)thread;
}

static inline void lull_thread_handle(const struct lull_thread *thread, void *pthread)
{
	(void)thread;
	(void)pthread;
}

static inline void lull_thread_begin(const char *name, int cpu)
{
	(void)name;
	(void)cpu;
}

static inline void lull_fence_threads_start(void)
{
}

int lull_fence_threads(void);
/* The test has them: of the explorer's memory. */
void *lull_memory_take(size_t bytes);
void lull_memory_give(void *memory);
unsigned int lull_rcu_cpu(void);
unsigned int lull_rcu_cpu_count(void);

/* What takes time takes no step: the steps around it are where others move. */
static inline void lull_moment(void)
{
}

static inline int64_t lull_now_ns(void)
{
	return 0;
}

/* Nothing here: the steps around it are where others move. */
static inline void lull_relax(void)
{
}

#endif
