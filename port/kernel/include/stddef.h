/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What core expects of <stddef.h>: size_t, NULL and offsetof, from the kernel's own header.
 * Kbuild compiles without the compiler's own headers.
 */
#ifndef LULL_KERNEL_STDDEF_H
#define LULL_KERNEL_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
