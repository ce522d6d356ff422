// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Steps of one CPU by rseq, the heavy fence by membarrier.
 *
 * A thread that enters an operation makes a step here and no barrier; a thread that judges
 * operations forces a barrier on every CPU. Without membarrier there are no steps. Paper: Q 4.8.3;
 * T 6.4.4.
 */
#define _GNU_SOURCE
#include "qdo_steps.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux knows no CPU of this number or a higher one. */
#define CPUS_MAX 8192u
#define WORD_BITS (8u * (unsigned int)sizeof(unsigned long))

#ifdef LULL_PERCPU_STEPS
/* Absent from C libraries before 2.35, which register no area. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* Stands in for the area of a thread that has none: on no CPU, every step is refused. */
static __thread struct rseq absent __attribute__((tls_model("initial-exec"))) = {
	.cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED,
};

ptrdiff_t lull_percpu_offset;

/* A refused step. Return: 0: another try may succeed; -1: none will. */
static int refusal(void)
{
	return (int32_t)lull_percpu_cpu_or_none() >= 0 ? 0 : -1;
}
#endif

static int started;
static int no_membarrier;

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

void lull_qdo_port_start(void)
{
	int saved = errno;

	if (__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&no_membarrier, membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0,
			 __ATOMIC_RELAXED);
#ifdef LULL_PERCPU_STEPS
	ptrdiff_t offset = (char *)&absent - (char *)__builtin_thread_pointer();

	if (!no_membarrier && &__rseq_size && __rseq_size)
		offset = __rseq_offset;
	__atomic_store_n(&lull_percpu_offset, offset, __ATOMIC_RELAXED);
#endif
	__atomic_store_n(&started, 1, __ATOMIC_RELEASE);
	errno = saved;
}

int lull_qdo_fence_by_visits(void)
{
	unsigned long before[CPUS_MAX / WORD_BITS], one[CPUS_MAX / WORD_BITS] = { 0 };
	long got = syscall(SYS_sched_getaffinity, 0, sizeof(before), before);
	int error = got > 0 ? 0 : -errno;
	unsigned int cpu;

	for (cpu = 0; cpu < CPUS_MAX && !error; cpu++) {
		one[cpu / WORD_BITS] = 1UL << cpu % WORD_BITS;
		/* Invalid where no thread of ours can be: off line, or not in our cpuset. */
		if (syscall(SYS_sched_setaffinity, 0, sizeof(one), one) && errno != EINVAL)
			error = -errno;
		one[cpu / WORD_BITS] = 0;
		if (cpu + 1 == (unsigned int)got * 8)
			break;
	}
	if (got > 0)
		syscall(SYS_sched_setaffinity, 0, (size_t)got, before);
	return error;
}

_Noreturn static void end_without_fence(int error)
{
	char reason[128];

	fprintf(stderr,
		"lull-qdo: no barrier can be forced on other threads: membarrier is refused since "
		"the process started, and sched_setaffinity: %s. Allow one of them, or refuse "
		"membarrier from the start.\n",
		strerror_r(-error, reason, sizeof(reason)));
	abort();
}

void lull_qdo_fence_heavy(void)
{
	int saved = errno, error = 0;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#ifndef __x86_64__
	/* Counts that are atomic are full barriers on x86-64, but not on every other machine. */
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
#elif defined(LULL_PERCPU_STEPS)
	if (no_membarrier || !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
#else
	return;
#endif
	/* A process that lost its registration, or a filter installed since the start. */
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) ||
	    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		error = lull_qdo_fence_by_visits();
	if (error)
		end_without_fence(error);
	errno = saved;
}

unsigned int lull_qdo_cpu(void)
{
	unsigned int cpu = lull_percpu_cpu_or_none();
	int saved = errno, asked;

	if (__builtin_expect((int32_t)cpu >= 0, 1))
		return cpu;
	asked = sched_getcpu();
	errno = saved;
	return asked < 0 ? 0 : (unsigned int)asked;
}

#ifdef LULL_PERCPU_STEPS
int lull_qdo_count(unsigned int cpu, unsigned long *counter)
{
	return lull_percpu_try(cpu, counter) ? 1 : refusal();
}

int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired)
{
	return lull_percpu_replace(lull_percpu_area(), cpu, head, expect, desired) ? 1 : refusal();
}
#else
int lull_qdo_count(unsigned int cpu, unsigned long *counter)
{
	(void)cpu;
	(void)counter;
	return -1;
}

int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired)
{
	(void)cpu;
	(void)head;
	(void)expect;
	(void)desired;
	return -1;
}
#endif
