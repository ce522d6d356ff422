/* SPDX-License-Identifier: MIT */
/*
 * What readers and updaters of the measured program go through: one side for each build.
 *
 * SIDE_RCU names a library's header of one flavour, whose short names are the field's, so that
 * both libraries run the same source. The others are the locks of T 6.5: SIDE_MUTEX, SIDE_RWLOCK,
 * and SIDE_PER_THREAD, a mutex for each reader, all of which an updater takes, always in the
 * same order (T 6.5, note 1).
 */
#ifndef LULL_BENCH_RCU_SIDE_H
#define LULL_BENCH_RCU_SIDE_H

#include <pthread.h>

#define SIDE_READERS_MAX 1024

#ifdef SIDE_RCU
#include SIDE_RCU

#define SIDE_IS_RCU 1

static inline void side_register(void)
{
	rcu_register_thread();
}

static inline void side_unregister(void)
{
	rcu_unregister_thread();
}

static inline void side_enter(unsigned int reader)
{
	(void)reader;
	rcu_read_lock();
}

static inline void side_leave(unsigned int reader)
{
	(void)reader;
	rcu_read_unlock();
}

static inline void side_quiescent(void)
{
	rcu_quiescent_state();
}

static inline void side_offline(void)
{
	rcu_thread_offline();
}

static inline void side_online(void)
{
	rcu_thread_online();
}

/* Updaters of RCU exclude nobody. */
static inline void side_exclude(unsigned int readers)
{
	(void)readers;
}

static inline void side_admit(unsigned int readers)
{
	(void)readers;
}

static inline void side_wait(void)
{
	synchronize_rcu();
}

#else

#define SIDE_IS_RCU 0

/* Each on a cache line of its own, as whoever cares for speed places them. */
struct side_lock {
#ifdef SIDE_RWLOCK
	pthread_rwlock_t lock;
#else
	pthread_mutex_t lock;
#endif
} __attribute__((aligned(64)));

extern struct side_lock side_locks[SIDE_READERS_MAX];

#ifdef SIDE_PER_THREAD
#define SIDE_LOCK_COUNT(readers) (readers)
#define SIDE_LOCK_OF(reader) (reader)
#else
#define SIDE_LOCK_COUNT(readers) ((void)(readers), 1u)
#define SIDE_LOCK_OF(reader) ((void)(reader), 0u)
#endif

static inline void side_enter(unsigned int reader)
{
#ifdef SIDE_RWLOCK
	pthread_rwlock_rdlock(&side_locks[SIDE_LOCK_OF(reader)].lock);
#else
	pthread_mutex_lock(&side_locks[SIDE_LOCK_OF(reader)].lock);
#endif
}

static inline void side_leave(unsigned int reader)
{
#ifdef SIDE_RWLOCK
	pthread_rwlock_unlock(&side_locks[SIDE_LOCK_OF(reader)].lock);
#else
	pthread_mutex_unlock(&side_locks[SIDE_LOCK_OF(reader)].lock);
#endif
}

static inline void side_exclude(unsigned int readers)
{
	for (unsigned int i = 0; i < SIDE_LOCK_COUNT(readers); i++) {
#ifdef SIDE_RWLOCK
		pthread_rwlock_wrlock(&side_locks[i].lock);
#else
		pthread_mutex_lock(&side_locks[i].lock);
#endif
	}
}

static inline void side_admit(unsigned int readers)
{
	for (unsigned int i = SIDE_LOCK_COUNT(readers); i-- > 0;)
		side_leave(i);
}

/* Who holds a lock needs no grace period, and readers of locks tell nothing. */
static inline void side_wait(void)
{
}

static inline void side_register(void)
{
}

static inline void side_unregister(void)
{
}

static inline void side_quiescent(void)
{
}

static inline void side_offline(void)
{
}

static inline void side_online(void)
{
}

#endif

#endif
