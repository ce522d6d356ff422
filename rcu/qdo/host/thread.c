// SPDX-License-Identifier: MIT
/* The library's threads: where they run, how they sleep. Paper: Q 4.7. */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As many CPUs as Linux has at most. */
#define CPUS_MAX 8192u

/* Where the process was allowed to run when it started, before it placed its threads itself. */
static unsigned long allowed[CPUS_MAX / QDO_WORD_BITS];
static size_t allowed_bytes;

__attribute__((constructor)) static void note_allowed(void)
{
	int saved = errno;
	long got = syscall(SYS_sched_getaffinity, 0, sizeof(allowed), allowed);

	allowed_bytes = got > 0 ? (size_t)got : 0;
	errno = saved;
}

unsigned int lull_qdo_cpus_allowed(void)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < CPUS_MAX / QDO_WORD_BITS; i++)
		count += (unsigned int)__builtin_popcountl(allowed[i]);
	return count ? count : 1;
}

int lull_qdo_thread_pin(unsigned int cpu)
{
	unsigned long one[CPUS_MAX / QDO_WORD_BITS] = { 0 };
	unsigned int word = cpu / QDO_WORD_BITS;
	unsigned long bit = 1UL << cpu % QDO_WORD_BITS;
	int saved = errno, failed = 1;

	one[word] = bit;
	if (allowed[word] & bit)
		failed = syscall(SYS_sched_setaffinity, 0, sizeof(one), one) != 0;
	if (failed && allowed_bytes)
		syscall(SYS_sched_setaffinity, 0, allowed_bytes, allowed);
	errno = saved;
	return failed;
}

/* By system call: unlike the C library's ways, no point of cancellation. */
void lull_qdo_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000),
				    (long)(timeout_ns % 1000000000) };
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_ns ? &timeout : NULL, NULL, 0);
	errno = saved;
}

uint64_t lull_qdo_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
