/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The versions of Linux that the module was tested with. Another one builds, and says so.
 */
#ifndef LULL_KERNEL_COMPAT_KERNEL_VERSION_H
#define LULL_KERNEL_COMPAT_KERNEL_VERSION_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#pragma message("lull.ko was tested with Linux 6.1, and this is another version")
#endif

#endif
