/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port to user space: what rcu's freestanding parts ask for beyond lull/rcu/memory.h.
 *
 * Locks and futexes; both may sleep. Paper: T 6.4.2 (what the papers wait for by polling).
 */
#ifndef RCU_PORT_H
#define RCU_PORT_H

#include <pthread.h>
#include <stdint.h>

#ifndef LULL_MUTANT
#define LULL_MUTANT(name) 0 /* only the sched port builds mutants */
#endif

/* Mutual exclusion that is held for a bounded time: a pass over a list, a system call. */
struct lull_lock {
	pthread_mutex_t mutex;
};

#define LULL_LOCK_INITIALIZER             \
	{                                 \
		PTHREAD_MUTEX_INITIALIZER \
	}

static inline void lull_lock_take(struct lull_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

/* Return: not 0 if it was taken. */
static inline int lull_lock_try(struct lull_lock *lock)
{
	return pthread_mutex_trylock(&lock->mutex) == 0;
}

static inline void lull_lock_release(struct lull_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

/*
 * Sleeps while *@word is @seen, until a wake; may return without cause. Neither changes errno.
 * Waking is async-signal-safe. Both order as a full fence around the look at the word.
 */
void lull_futex_wait(uint32_t *word, uint32_t seen);
void lull_futex_wake(uint32_t *word, int count);

/* A moment in a loop that looks again and again. */
static inline void lull_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("isb" ::: "memory");
#endif
}

#endif
