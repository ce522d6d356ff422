/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the running system call's number means another call, because the program is a 32-bit one.
 * The calls of x32 need no look: a bit in their numbers makes them larger than all others.
 */
#ifndef LULL_KERNEL_COMPAT_CALL_MODE_H
#define LULL_KERNEL_COMPAT_CALL_MODE_H

#include <linux/compat.h>

static __always_inline bool lull_call_is_32bit(void)
{
#ifdef CONFIG_X86_64
	return in_ia32_syscall();
#else
	return in_compat_syscall();
#endif
}

#endif
