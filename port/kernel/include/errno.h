/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What core expects of <errno.h>: error numbers, from the kernel's own header.
 * Kbuild compiles without the compiler's own headers.
 */
#ifndef LULL_KERNEL_ERRNO_H
#define LULL_KERNEL_ERRNO_H

#include <linux/errno.h>

#endif
