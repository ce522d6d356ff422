// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Futexes, private to the process, threads, memory, time. But for memory, errno stays as it was. */
#define _GNU_SOURCE
#include "rcu_port.h"

#include <errno.h>
#include <features.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#endif

/* As many CPUs as Linux has at most. */
#define CPUS_MAX 8192

void lull_futex_wait(uint32_t *word, uint32_t seen)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	errno = saved;
}

void lull_futex_wake(uint32_t *word, int count)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
	errno = saved;
}

void lull_futex_wait_for(uint32_t *word, uint32_t seen, int64_t duration_ns)
{
	struct timespec duration = { duration_ns / 1000000000, duration_ns % 1000000000 };
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &duration, NULL, 0);
	errno = saved;
}

int lull_thread_start(struct lull_thread *thread, void *(*main)(void *argument), void *argument,
		      int signal)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t blocked, before;
	size_t i;
	int error;

	sigfillset(&blocked);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	if (signal)
		sigdelset(&blocked, signal);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	error = pthread_create(&thread->handle, NULL, main, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

void lull_thread_join(struct lull_thread *thread)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_join(thread->handle, NULL);
	pthread_setcancelstate(cancel, NULL);
}

static void place(int cpu)
{
	cpu_set_t *cpus = CPU_ALLOC(CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);

	if (!cpus)
		return;
	if (!sched_getaffinity(getpid(), bytes, cpus))
		sched_setaffinity(0, bytes, cpus);
	CPU_ZERO_S(bytes, cpus);
	if (cpu >= 0) {
		CPU_SET_S((size_t)cpu, bytes, cpus);
		sched_setaffinity(0, bytes, cpus);
	}
	CPU_FREE(cpus);
}

void lull_thread_begin(const char *name, int cpu)
{
	static const struct sched_param ordinary = { .sched_priority = 0 };
	int saved = errno;

	pthread_setname_np(pthread_self(), name);
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	place(cpu);
	errno = saved;
}

void lull_fence_threads_start(void)
{
	int saved = errno;

	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	errno = saved;
}

int lull_fence_threads(void)
{
	int forced, saved = errno;

	forced = !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	errno = saved;
	return forced;
}

void *lull_memory_take(size_t bytes)
{
	size_t whole = (bytes + 63) / 64 * 64;
	void *memory = aligned_alloc(64, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}

void lull_memory_give(void *memory)
{
	free(memory);
}

void lull_moment(void)
{
	struct timespec moment = { 0, 1000000 };
	int saved = errno;

	syscall(SYS_nanosleep, &moment, NULL);
	errno = saved;
}

int64_t lull_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A load where the C library keeps a restartable-sequence area. */
unsigned int lull_rcu_cpu(void)
{
	int cpu = -1;

#if __GLIBC_PREREQ(2, 35)
	const char *thread = __builtin_thread_pointer();
	const struct rseq *area = (const struct rseq *)(thread + __rseq_offset);

	if (__rseq_size)
		cpu = (int)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);
#endif
	return (unsigned int)(cpu < 0 ? sched_getcpu() : cpu);
}

unsigned int lull_rcu_cpu_count(void)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);

	return count < 1 ? 1 : (unsigned int)count;
}
