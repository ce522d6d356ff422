/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The versions of Linux that the module was tested with. Another one builds, and says so.
 */
#ifndef LULL_KERNEL_COMPAT_KERNEL_VERSION_H
#define LULL_KERNEL_COMPAT_KERNEL_VERSION_H

#include <linux/version.h>

#define LULL_LINUX_IS(minor)                                    \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, (minor), 0) && \
	 LINUX_VERSION_CODE < KERNEL_VERSION(6, (minor) + 1, 0))

#if !LULL_LINUX_IS(1) && !LULL_LINUX_IS(12)
#pragma message("lull.ko was tested with Linux 6.1 and 6.12, and this is another version")
#endif

#endif
