/* SPDX-License-Identifier: MIT */
/*
 * cond, barrier, sem: waiting for one another.
 *
 * On x86-64 glibc has two incompatible kinds of condition variables. symbols_x86_64.map gives
 * ours the newer version, so programs linked with the older one (before 2003) keep theirs.
 */
#include "interpose.h"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#if defined(__x86_64__)
#define COND_VERSION "GLIBC_2.3.2"
#else
#define COND_VERSION NULL
#endif

static inline __attribute__((always_inline)) void cond_entry(const pthread_cond_t *cond,
							     const pthread_mutex_t *mutex)
{
	EVENT("cond:wait_entry", lull_ptr(cond, cond), lull_ptr(mutex, mutex));
}

static inline __attribute__((always_inline)) int cond_exit(const pthread_cond_t *cond, int result)
{
	EVENT("cond:wait_exit", lull_ptr(cond, cond), lull_i32(result, result));
	return result;
}

#define COND_WAIT(function, parameters, arguments)                \
	REAL_VERSIONED(function, COND_VERSION);                   \
	INTERPOSED int function parameters                        \
	{                                                         \
		cond_entry(cond, mutex);                          \
		return cond_exit(cond, REAL(function) arguments); \
	}

COND_WAIT(pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t *mutex), (cond, mutex))
COND_WAIT(pthread_cond_timedwait,
	  (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *until),
	  (cond, mutex, until))
INTERPOSE(pthread_cond_clockwait, int,
	  (pthread_cond_t * cond, pthread_mutex_t *mutex, clockid_t clock,
	   const struct timespec *until))
{
	cond_entry(cond, mutex);
	return cond_exit(cond, REAL(pthread_cond_clockwait)(cond, mutex, clock, until));
}

/* Before the call: afterwards a woken thread may have freed the variable. */
#define COND_WAKE(event, function)                    \
	REAL_VERSIONED(function, COND_VERSION);       \
	INTERPOSED int function(pthread_cond_t *cond) \
	{                                             \
		EVENT(event, lull_ptr(cond, cond));   \
		return REAL(function)(cond);          \
	}

COND_WAKE("cond:signal", pthread_cond_signal)
COND_WAKE("cond:broadcast", pthread_cond_broadcast)

INTERPOSE(pthread_barrier_wait, int, (pthread_barrier_t * barrier))
{
	int result;

	EVENT("barrier:wait_entry", lull_ptr(barrier, barrier));
	result = REAL(pthread_barrier_wait)(barrier);
	EVENT("barrier:wait_exit", lull_ptr(barrier, barrier), lull_i32(result, result));
	return result;
}

/*
 * The value of a semaphore is read, and the semaphore is not tried: waiting for a semaphore is a
 * cancellation point even when it does not block, and an attempt would skip that point.
 */
REAL_FUNCTION(sem_getvalue);

static int sem_empty(sem_t *sem)
{
	int value;

	return REAL(sem_getvalue)(sem, &value) == 0 && value <= 0;
}

static inline __attribute__((always_inline)) void sem_entry(const sem_t *sem)
{
	EVENT("sem:wait_entry", lull_ptr(sem, sem));
}

static inline __attribute__((always_inline)) int sem_exit(const sem_t *sem, int result)
{
	EVENT("sem:wait_exit", lull_ptr(sem, sem), lull_i32(result, result), ERROR_FIELD(result));
	return result;
}

#define SEM_WAIT(function, parameters, arguments)               \
	INTERPOSE(function, int, parameters)                    \
	{                                                       \
		if (!sem_empty(sem))                            \
			return REAL(function) arguments;        \
		sem_entry(sem);                                 \
		return sem_exit(sem, REAL(function) arguments); \
	}

SEM_WAIT(sem_wait, (sem_t * sem), (sem))
SEM_WAIT(sem_timedwait, (sem_t * sem, const struct timespec *until), (sem, until))
SEM_WAIT(sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *until),
	 (sem, clock, until))

INTERPOSE(sem_post, int, (sem_t * sem))
{
	CHATTY_EVENT("sem:post", lull_ptr(sem, sem));
	return REAL(sem_post)(sem);
}
