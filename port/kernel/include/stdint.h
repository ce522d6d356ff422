/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What core expects of <stdint.h>: uintN_t, which the kernel defines in linux/types.h.
 * Kbuild compiles without the compiler's own headers.
 */
#ifndef LULL_KERNEL_STDINT_H
#define LULL_KERNEL_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

typedef long intptr_t;

#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif

#endif
