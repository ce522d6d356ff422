/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port to user space: what rcu asks for beyond lull/rcu/memory.h, as port/RCU.md lists it.
 *
 * Locks, futexes, threads, memory, time. Paper: T 6.4.2 (what the papers wait for by polling).
 */
#ifndef RCU_PORT_H
#define RCU_PORT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef LULL_MUTANT
#define LULL_MUTANT(name) 0 /* only the sched port builds mutants */
#endif

/*
 * Where a variable of the library is: in a port that explores, a copy that belongs to its state.
 * Of one that all threads share, and of one that each thread has for itself.
 */
#define LULL_SHARED(p) (p)
#define LULL_OWN(p) (p)

/*
 * Mutual exclusion that is held for a bounded time: a pass over a list, a system call.
 *
 * A thread that takes the lock in a loop, as one does that calls rcu_synchronize() in a loop, lets
 * those that wait go first. One mutex alone does not do that: the thread that is woken comes too
 * late. A thread that waits for the mutex holds the turn meanwhile, for which the one that released
 * the mutex then has to wait. For the turn itself a thread has all the time that the mutex is held.
 */
struct lull_lock {
	pthread_mutex_t turn;
	pthread_mutex_t mutex;
};

#define LULL_LOCK_INITIALIZER                                        \
	{                                                            \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER \
	}

static inline void lull_lock_take(struct lull_lock *lock)
{
	pthread_mutex_lock(&lock->turn);
	pthread_mutex_lock(&lock->mutex);
	pthread_mutex_unlock(&lock->turn);
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

/* Makes a lock anew, as the only thread of a process that was forked while it was held. */
static inline void lull_lock_renew(struct lull_lock *lock)
{
	pthread_mutex_init(&lock->turn, NULL);
	pthread_mutex_init(&lock->mutex, NULL);
}

/*
 * Sleeps while *@word is @seen, until a wake; may return without cause. Neither changes errno.
 * Waking is async-signal-safe. Both order as a full fence around the look at the word.
 */
void lull_futex_wait(uint32_t *word, uint32_t seen);
void lull_futex_wake(uint32_t *word, int count);
/* As lull_futex_wait(), and returns after @duration_ns at the latest. */
void lull_futex_wait_for(uint32_t *word, uint32_t seen, int64_t duration_ns);

struct lull_thread {
	pthread_t handle;
};

/*
 * Starts a thread. Signals are for the program's threads: all are blocked but those that a fault of
 * the thread's own raises, and @signal, unless that is 0. Return: 0 or a negative errno.
 */
int lull_thread_start(struct lull_thread *thread, void *(*main)(void *argument), void *argument,
		      int signal);
/* Waits for a thread's end; no point of cancellation. */
void lull_thread_join(struct lull_thread *thread);
static inline void lull_thread_detach(struct lull_thread *thread)
{
	pthread_detach(thread->handle);
}

/* Stores the C library's name of it at *@pthread. */
static inline void lull_thread_handle(const struct lull_thread *thread, void *pthread)
{
	*(pthread_t *)pthread = thread->handle;
}

/*
 * What a thread that was started does first: it is named, by 15 characters, as the kernel keeps,
 * and has no CPUs or scheduling policy of the thread that happened to start it. It runs on @cpu;
 * where that is negative or off line, wherever the process's first thread may.
 */
void lull_thread_begin(const char *name, int cpu);

/*
 * The caller executes a full barrier, then every thread of the process does before the call
 * returns. Return: 0 where none can be forced. It is to be started once before.
 */
void lull_fence_threads_start(void);
int lull_fence_threads(void);

/* Memory on a boundary of 64 bytes, zeroed, or NULL. What is given back may be NULL. */
void *lull_memory_take(size_t bytes);
void lull_memory_give(void *memory);

/* Sleeps for a millisecond. Unlike the C library's ways, no point of cancellation. */
void lull_moment(void);
/* Time that only ever goes on. */
int64_t lull_now_ns(void);
/* The CPU the caller runs on, perhaps no longer. */
unsigned int lull_rcu_cpu(void);
/* How many CPUs there may ever be: 1 or more. */
unsigned int lull_rcu_cpu_count(void);

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
