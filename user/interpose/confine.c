/* SPDX-License-Identifier: MIT */
/*
 * What a program forbids itself: filters of system calls, and the counter that is our clock.
 *
 * Once a filter is installed, liblull makes no system call (liblull.h); where the counter cannot be
 * read, which strict mode implies, a thread records nothing. A program requests either by prctl()
 * or by syscall(). What the program does by an instruction of its own is not seen here:
 * docs/guide/programs.md says what that means.
 */
#include "interpose.h"
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "liblull.h"
#include "name.h"
#include "syscall.h"

/* The last event of a thread that gives up its clock. */
static void clock_given_up(void)
{
	if (lull_thread_is_silent())
		return;
	EVENT("thread:silence");
	lull_thread_silence(1);
}

/* Called before a call that forbids the clock if it succeeds. */
static int takes_clock(long operation, long value)
{
	return (operation == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT) ||
	       (operation == PR_SET_TSC && value == PR_TSC_SIGSEGV);
}

INTERPOSE(prctl, int, (int option, ...))
{
	uint32_t silent = lull_thread_is_silent();
	unsigned long arguments[4];
	va_list list;
	int result;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (takes_clock(option, (long)arguments[0]))
		clock_given_up();
	result = REAL(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
	if (result < 0) {
		lull_thread_silence(silent);
		return result;
	}
	if (option == PR_SET_SECCOMP)
		lull_process_confined();
	if (option == PR_SET_TSC && arguments[0] == PR_TSC_ENABLE && silent)
		lull_thread_silence(0);
	if (option == PR_SET_NAME) {
		lull_thread_rename(&lull_thread, (const char *)arguments[0]);
		record_name(pthread_self(), (const char *)arguments[0]);
	}
	return result;
}

/* syscall_*.S calls this for SYS_prctl and SYS_seccomp, with the arguments of syscall(). */
__attribute__((visibility("hidden"))) long lull_syscall_watched(long number, long a, long b, long c,
								long d, long e);

long lull_syscall_watched(long number, long a, long b, long c, long d, long e)
{
	uint32_t silent = lull_thread_is_silent();
	long result;

	if (number == SYS_prctl)
		return prctl((int)a, b, c, d, e);
	if (a == SECCOMP_SET_MODE_STRICT)
		clock_given_up();
	result = lull_syscall(number, a, b, c, d, e, 0);
	if (result < 0) {
		lull_thread_silence(silent);
		errno = (int)-result;
		return -1;
	}
	if (a <= SECCOMP_SET_MODE_FILTER)
		lull_process_confined();
	return result;
}
