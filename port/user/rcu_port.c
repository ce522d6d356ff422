// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Futexes: private to the process, and errno left as it was. */
#define _GNU_SOURCE
#include "rcu_port.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

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
