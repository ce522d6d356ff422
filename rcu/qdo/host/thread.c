// SPDX-License-Identifier: MIT
/*
 * The library's threads: how they start, where they run, how they sleep.
 *
 * Signals are for the program's own threads. Executors take those that a callback's own fault
 * raises, so that the program's handlers for crashes see it, and the one by which RCU reaches
 * its readers, as a callback may read. Paper: Q 4.7.
 */
#define _GNU_SOURCE
#include "host.h"
#include "domains.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
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

static void choose_signals(int is_executor, sigset_t *before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t blocked;
	size_t i;

	sigfillset(&blocked);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&blocked, own[i]);
	if (is_executor)
		sigdelset(&blocked, RCU_BARRIER_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &blocked, before);
}

int lull_qdo_thread_start(void *(*main)(void *), void *argument, pthread_t *thread, int is_executor)
{
	pthread_attr_t attributes;
	sigset_t before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	if (is_executor)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	choose_signals(is_executor, &before);
	error = pthread_create(thread, &attributes, main, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
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
