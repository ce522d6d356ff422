/* SPDX-License-Identifier: MIT */
/*
 * mutex, rwlock: contention.
 *
 * The lock is tried first; only a thread that has to wait records, at entry and exit. The attempt
 * is the same atomic operation as that of an uncontended lock, so nothing is done twice on that
 * path. If the attempt fails, the blocking call finds out why: it may detect a deadlock.
 *
 * The lock word of a robust mutex is read instead: in glibc the attempt on a mutex that is beyond
 * recovery leaves it locked, and the blocking call, which should report that, then waits for ever.
 * That of a mutex with a priority ceiling, too: the attempt may succeed where the call is refused.
 * A clock, and the time for a read-write lock, are refused before the lock is looked at: so is the
 * call here, by the C library itself.
 */
#include "interpose.h"
#include <pthread.h>
#include <time.h>

REAL_FUNCTION(pthread_mutex_trylock);
REAL_FUNCTION(pthread_rwlock_tryrdlock);
REAL_FUNCTION(pthread_rwlock_trywrlock);

/* In the kind of a pthread_mutex_t, and its lock word: glibc, part of its ABI. */
#define ROBUST_KIND 16
#define PROTECT_KIND 64
#define CEILING_BITS 0xfff80000u /* of the lock word where the kind is PROTECT_KIND */

enum rwlock_kind { RWLOCK_READ, RWLOCK_WRITE };

static inline __attribute__((always_inline)) int mutex_is_untried(const pthread_mutex_t *mutex)
{
	return __builtin_expect(mutex->__data.__kind & (ROBUST_KIND | PROTECT_KIND), 0);
}

static inline int mutex_is_free(const pthread_mutex_t *mutex)
{
	uint32_t ignored = mutex->__data.__kind & PROTECT_KIND ? CEILING_BITS : 0;

	return !(lull_load32((const uint32_t *)&mutex->__data.__lock) & ~ignored);
}

/* The clocks that a timed lock takes. */
static inline int is_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* A time that the C library takes, for a lock that looks at it before it looks at itself. */
static inline int is_time(const struct timespec *until)
{
	return !until || (unsigned long)until->tv_nsec < 1000000000ul;
}

static inline __attribute__((always_inline)) void mutex_entry(const pthread_mutex_t *mutex)
{
	EVENT("mutex:wait_entry", lull_ptr(mutex, mutex));
}

static inline __attribute__((always_inline)) int mutex_exit(const pthread_mutex_t *mutex,
							    int result)
{
	EVENT("mutex:wait_exit", lull_ptr(mutex, mutex), lull_i32(result, result));
	return result;
}

#define MUTEX(function, is_valid, parameters, arguments)              \
	INTERPOSE(function, int, parameters)                          \
	{                                                             \
		if (!(is_valid))                                      \
			return REAL(function) arguments;              \
		if (mutex_is_untried(mutex)) {                        \
			if (mutex_is_free(mutex))                     \
				return REAL(function) arguments;      \
		} else if (REAL(pthread_mutex_trylock)(mutex) == 0) { \
			return 0;                                     \
		}                                                     \
		mutex_entry(mutex);                                   \
		return mutex_exit(mutex, REAL(function) arguments);   \
	}

MUTEX(pthread_mutex_lock, 1, (pthread_mutex_t * mutex), (mutex))
MUTEX(pthread_mutex_timedlock, 1, (pthread_mutex_t * mutex, const struct timespec *until),
      (mutex, until))
MUTEX(pthread_mutex_clocklock, is_clock(clock),
      (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until),
      (mutex, clock, until))

INTERPOSE(pthread_mutex_unlock, int, (pthread_mutex_t * mutex))
{
	/* Before the call: afterwards another thread may have freed the mutex. */
	CHATTY_EVENT("mutex:unlock", lull_ptr(mutex, mutex));
	return REAL(pthread_mutex_unlock)(mutex);
}

static inline __attribute__((always_inline)) void rwlock_entry(const pthread_rwlock_t *rwlock,
							       enum rwlock_kind kind)
{
	EVENT("rwlock:wait_entry", lull_ptr(rwlock, rwlock),
	      lull_enum(kind, (int)kind, "READ=0,WRITE=1"));
}

static inline __attribute__((always_inline)) int rwlock_exit(const pthread_rwlock_t *rwlock,
							     int result)
{
	EVENT("rwlock:wait_exit", lull_ptr(rwlock, rwlock), lull_i32(result, result));
	return result;
}

#define RWLOCK(function, is_valid, attempt, kind, parameters, arguments) \
	INTERPOSE(function, int, parameters)                             \
	{                                                                \
		if (!(is_valid))                                         \
			return REAL(function) arguments;                 \
		if (__builtin_expect(REAL(attempt)(rwlock) == 0, 1))     \
			return 0;                                        \
		rwlock_entry(rwlock, kind);                              \
		return rwlock_exit(rwlock, REAL(function) arguments);    \
	}

RWLOCK(pthread_rwlock_rdlock, 1, pthread_rwlock_tryrdlock, RWLOCK_READ, (pthread_rwlock_t * rwlock),
       (rwlock))
RWLOCK(pthread_rwlock_timedrdlock, is_time(until), pthread_rwlock_tryrdlock, RWLOCK_READ,
       (pthread_rwlock_t * rwlock, const struct timespec *until), (rwlock, until))
RWLOCK(pthread_rwlock_clockrdlock, is_clock(clock) && is_time(until), pthread_rwlock_tryrdlock,
       RWLOCK_READ, (pthread_rwlock_t * rwlock, clockid_t clock, const struct timespec *until),
       (rwlock, clock, until))
RWLOCK(pthread_rwlock_wrlock, 1, pthread_rwlock_trywrlock, RWLOCK_WRITE,
       (pthread_rwlock_t * rwlock), (rwlock))
RWLOCK(pthread_rwlock_timedwrlock, is_time(until), pthread_rwlock_trywrlock, RWLOCK_WRITE,
       (pthread_rwlock_t * rwlock, const struct timespec *until), (rwlock, until))
RWLOCK(pthread_rwlock_clockwrlock, is_clock(clock) && is_time(until), pthread_rwlock_trywrlock,
       RWLOCK_WRITE, (pthread_rwlock_t * rwlock, clockid_t clock, const struct timespec *until),
       (rwlock, clock, until))

INTERPOSE(pthread_rwlock_unlock, int, (pthread_rwlock_t * rwlock))
{
	CHATTY_EVENT("rwlock:unlock", lull_ptr(rwlock, rwlock));
	return REAL(pthread_rwlock_unlock)(rwlock);
}
