/* SPDX-License-Identifier: MIT */
/*
 * System calls by number, for programs that took them from here.
 */
#ifndef LULL_URCU_SYSCALL_COMPAT_H
#define LULL_URCU_SYSCALL_COMPAT_H

#include <sys/syscall.h>
#include <syscall.h>
#include <unistd.h>

/* Not there for programs that ask for C or POSIX and nothing else. */
#if !defined(__cplusplus) && !defined(__USE_MISC)
extern long syscall(long number, ...);
#endif

#endif
