/* SPDX-License-Identifier: MIT */
/*
 * Sleep on a word until another thread wakes it: Linux's futex(), under liburcu's names.
 *
 * liburcu has two forms for systems without futexes, where one can be used in signal handlers
 * and the other cannot. On Linux both are the system call. Returns as futex(2): -1 and errno.
 */
#ifndef LULL_URCU_FUTEX_H
#define LULL_URCU_FUTEX_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include <urcu/arch.h>
#include <urcu/assert.h>
#include <urcu/config.h>
#include <urcu/syscall-compat.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FUTEX_WAIT
#define FUTEX_WAIT 0
#endif
#ifndef FUTEX_WAKE
#define FUTEX_WAKE 1
#endif

static inline int futex(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout,
			int32_t *uaddr2, int32_t val3)
{
	return (int)syscall(SYS_futex, uaddr, op, val, timeout, uaddr2, val3);
}

static inline int futex_noasync(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout,
				int32_t *uaddr2, int32_t val3)
{
	return futex(uaddr, op, val, timeout, uaddr2, val3);
}

static inline int futex_async(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout,
			      int32_t *uaddr2, int32_t val3)
{
	return futex(uaddr, op, val, timeout, uaddr2, val3);
}

#ifdef __cplusplus
}
#endif

#endif
