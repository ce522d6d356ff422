/* SPDX-License-Identifier: MIT */
/*
 * thread: creation, start, exit, joining, names, sleeping.
 *
 * A new thread starts in a function of ours, which records and calls the program's. What
 * that function has to know is in a pool of our own rather than in allocated memory: malloc gives a
 * thread that frees an arena, and the program's memory would look different. The pool gets as many
 * places again when all are taken; under a filter of system calls, or without memory, the thread
 * starts in the program's function directly, unrecorded.
 *
 * A place in the pool is claimed for a generation of the process: to a forked child, where the
 * threads that its parent was creating will never start, their places are free.
 *
 * A thread has its creator's name, until it is given another. Where nothing is recorded, threads
 * start in the program's function.
 *
 * Barrier pairs (models/session/starts.pml):
 *	[thread.claim:A]	a claim before what is written there	[thread.release:A]
 *	[thread.release:A]	what was read there before it is free	[thread.claim:A]
 */
#include "interpose.h"
#include <pthread.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include "control.h"
#include "liblull.h"
#include "name.h"

#define STARTS 256u /* places of the pool's first part; each further part has twice as many */
#define PARTS_MAX 16

struct start {
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *argument;
	uint32_t creator_tid;
	uint32_t claimed; /* the process's generation, or 0 */
	char name[16];
	uint32_t silent; /* the creator cannot read the clock, nor can the new thread */
};

/* Threads created and not yet running. */
static struct start starts[STARTS];
static void *parts[PARTS_MAX] = { starts }; /* of struct start; NULL: not there yet */

/* This thread started in our function, and records its own end. */
static __thread int started_here;

/* A part of the pool, which is made if there is none. The kernel has filled it with zeros. */
static struct start *part_get(unsigned int index)
{
	uint64_t bytes = sizeof(starts) << index;
	struct start *part = lull_load_pointer(&parts[index]), *made;

	if (part || lull_confined)
		return part;
	made = lull_private_memory(bytes);
	if (!made)
		return NULL;
	part = (struct start *)lull_cas((uint64_t *)(void *)&parts[index], 0, (uint64_t)made);
	if (!part)
		return made;
	lull_private_release(made, bytes);
	return part;
}

static struct start *start_claim_in(struct start *part, uint32_t count, void *argument)
{
	uint32_t generation = lull_process.generation;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t found = lull_load32(&part[i].claimed);

		/*
		 * [thread.claim:A] compare-and-swap. Pairs with [thread.release:A].
		 * Orders: the claim before this thread's stores to the place.
		 * Else: the stores land while the new thread that used the place before still
		 * copies it, and that thread starts in the function of this one.
		 */
		if (found == generation || lull_cas32(&part[i].claimed, found, generation) != found)
			continue;
		part[i].argument = argument;
		part[i].creator_tid = lull_thread_tid();
		part[i].silent = lull_thread_is_silent();
		memcpy(part[i].name,
		       lull_thread.named ? lull_thread.writer.name : lull_process.name,
		       sizeof(part[i].name));
		return &part[i];
	}
	return NULL;
}

static struct start *start_claim(void *argument)
{
	struct start *claimed = NULL, *part;

	if (!lull_process.attached)
		return NULL;
	lull_control_notice();
	for (unsigned int i = 0; i < PARTS_MAX && !claimed && (part = part_get(i)); i++)
		claimed = start_claim_in(part, STARTS << i, argument);
	return claimed;
}

static void start_release(struct start *start)
{
	/*
	 * [thread.release:A] release. Pairs with [thread.claim:A].
	 * Orders: the loads by which the new thread copies the place before the store that frees
	 * the place.
	 * Else: another creator's stores come in between, and this thread starts in the function of
	 * another one.
	 * Mutant: START_RELEASE_RELAXED.
	 */
	lull_store32_release(&start->claimed, 0);
}

static inline __attribute__((always_inline)) void record_exit(void)
{
	EVENT("thread:exit", lull_x64(handle, pthread_self()));
}

/* Runs when the routine returns, and when pthread_exit or cancellation unwinds it. */
static void exit_cleanup(void *unused)
{
	(void)unused;
	record_exit();
}

static inline __attribute__((always_inline)) struct start start_enter(void *claimed)
{
	struct start start = *(struct start *)claimed;

	start_release(claimed);
	started_here = 1;
	if (start.silent)
		lull_thread_silence(1);
	if (!lull_load32(&lull_thread.named))
		lull_thread_rename(&lull_thread, start.name);
	EVENT("thread:start", lull_x64(routine, (uintptr_t)start.routine.posix),
	      lull_x64(argument, (uintptr_t)start.argument), lull_x64(handle, pthread_self()),
	      lull_u32(creator_tid, start.creator_tid));
	return start;
}

static void *start_posix(void *claimed)
{
	struct start start = start_enter(claimed);
	void *result;

	pthread_cleanup_push(exit_cleanup, NULL);
	result = start.routine.posix(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

static int start_c11(void *claimed)
{
	struct start start = start_enter(claimed);
	int result;

	pthread_cleanup_push(exit_cleanup, NULL);
	result = start.routine.c11(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

static inline __attribute__((always_inline)) int record_create(uintptr_t routine, void *argument,
							       int result)
{
	EVENT("thread:create", lull_x64(routine, routine), lull_x64(argument, (uintptr_t)argument),
	      lull_i32(result, result));
	return result;
}

/* The memory for the new handle may be freed when the call returns: it is not read. */
INTERPOSE(pthread_create, int,
	  (pthread_t * handle, const pthread_attr_t *attributes, void *(*routine)(void *),
	   void *argument))
{
	struct start *start = start_claim(argument);
	int result;

	if (!start) {
		result = REAL(pthread_create)(handle, attributes, routine, argument);
		return record_create((uintptr_t)routine, argument, result);
	}
	start->routine.posix = routine;
	result = REAL(pthread_create)(handle, attributes, start_posix, start);
	if (result)
		start_release(start);
	return record_create((uintptr_t)routine, argument, result);
}

INTERPOSE(thrd_create, int, (thrd_t * handle, thrd_start_t routine, void *argument))
{
	struct start *start = start_claim(argument);
	int result;

	if (!start) {
		result = REAL(thrd_create)(handle, routine, argument);
		return record_create((uintptr_t)routine, argument, result);
	}
	start->routine.c11 = routine;
	result = REAL(thrd_create)(handle, start_c11, start);
	if (result != thrd_success)
		start_release(start);
	return record_create((uintptr_t)routine, argument, result);
}

/* The first thread, and some that the C library made, did not start in our function. */
INTERPOSE(pthread_exit, void, (void *result))
{
	if (!started_here)
		record_exit();
	REAL(pthread_exit)(result);
	__builtin_unreachable();
}

/* Shape: wait for another thread to end. */
#define JOIN(function, parameters, arguments)      \
	INTERPOSE(function, int, parameters)       \
	{                                          \
		int result;                        \
                                                   \
		join_entry(handle);                \
		result = REAL(function) arguments; \
		return join_exit(handle, result);  \
	}

static inline __attribute__((always_inline)) void join_entry(pthread_t handle)
{
	EVENT("thread:join_entry", lull_x64(handle, handle));
}

static inline __attribute__((always_inline)) int join_exit(pthread_t handle, int result)
{
	EVENT("thread:join_exit", lull_x64(handle, handle), lull_i32(result, result));
	return result;
}

JOIN(pthread_join, (pthread_t handle, void **value), (handle, value))
JOIN(pthread_timedjoin_np, (pthread_t handle, void **value, const struct timespec *until),
     (handle, value, until))
JOIN(pthread_clockjoin_np,
     (pthread_t handle, void **value, clockid_t clock, const struct timespec *until),
     (handle, value, clock, until))
JOIN(thrd_join, (thrd_t handle, int *value), (handle, value))

INTERPOSE(pthread_detach, int, (pthread_t handle))
{
	int result = REAL(pthread_detach)(handle);

	EVENT("thread:detach", lull_x64(handle, handle), lull_i32(result, result));
	return result;
}

/* Each thread's descriptor, which a handle points to, is as far from its own lull_thread. */
static struct thread *thread_of(pthread_t handle)
{
	return (struct thread *)(handle + ((uintptr_t)&lull_thread - pthread_self()));
}

INTERPOSE(pthread_setname_np, int, (pthread_t handle, const char *name))
{
	int result = REAL(pthread_setname_np)(handle, name);

	if (result)
		return result;
	lull_thread_rename(thread_of(handle), name);
	record_name(handle, name);
	return 0;
}

/* Shape: sleep. The time asked for is in the caller's memory in four formats and is not recorded;
 * the two events tell the time that the sleep took. */
#define SLEEP(function, type, parameters, arguments) \
	INTERPOSE(function, type, parameters)        \
	{                                            \
		type result;                         \
                                                     \
		sleep_entry();                       \
		result = REAL(function) arguments;   \
		sleep_exit(result);                  \
		return result;                       \
	}

static inline __attribute__((always_inline)) void sleep_entry(void)
{
	EVENT("thread:sleep_entry");
}

static inline __attribute__((always_inline)) void sleep_exit(int64_t result)
{
	EVENT("thread:sleep_exit", lull_i64(result, result));
}

SLEEP(sleep, unsigned int, (unsigned int seconds), (seconds))
SLEEP(usleep, int, (useconds_t wanted_us), (wanted_us))
SLEEP(nanosleep, int, (const struct timespec *wanted, struct timespec *left), (wanted, left))
SLEEP(clock_nanosleep, int,
      (clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left),
      (clock, flags, wanted, left))
