/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the bits that say how memory is to be allocated (gfp_t), on versions whose bits are
 * known; elsewhere such a field is a number. The compiler compares the values with the kernel's.
 */
#ifndef LULL_KERNEL_COMPAT_GFP_NAMES_H
#define LULL_KERNEL_COMPAT_GFP_NAMES_H

#include <linux/gfp.h>
#include "compat/kernel_version.h"
#include "syscall/flags.h"

/* clang-format off */
#define LULL_GFP_NAMES(FIRST, NEXT) \
	FIRST(GFP_KERNEL, 0xcc0) NEXT(GFP_NOFS, 0xc40) NEXT(GFP_NOIO, 0xc00) \
	NEXT(__GFP_DMA, 0x1) NEXT(__GFP_HIGHMEM, 0x2) NEXT(__GFP_DMA32, 0x4) \
	NEXT(__GFP_MOVABLE, 0x8) NEXT(__GFP_RECLAIMABLE, 0x10) NEXT(__GFP_HIGH, 0x20) \
	NEXT(__GFP_IO, 0x40) NEXT(__GFP_FS, 0x80) NEXT(__GFP_ZERO, 0x100) \
	NEXT(__GFP_DIRECT_RECLAIM, 0x400) NEXT(__GFP_KSWAPD_RECLAIM, 0x800) \
	NEXT(__GFP_WRITE, 0x1000) NEXT(__GFP_NOWARN, 0x2000) \
	NEXT(__GFP_RETRY_MAYFAIL, 0x4000) NEXT(__GFP_NOFAIL, 0x8000) \
	NEXT(__GFP_NORETRY, 0x10000) NEXT(__GFP_MEMALLOC, 0x20000) NEXT(__GFP_COMP, 0x40000) \
	NEXT(__GFP_NOMEMALLOC, 0x80000) NEXT(__GFP_HARDWALL, 0x100000) \
	NEXT(__GFP_THISNODE, 0x200000) NEXT(__GFP_ACCOUNT, 0x400000)
/* clang-format on */

#if LULL_LINUX_IS(1) || LULL_LINUX_IS(12)
#define LULL_GFP_CHECK(name, value) static_assert((__force u32)(name) == (value), #name);
LULL_GFP_NAMES(LULL_GFP_CHECK, LULL_GFP_CHECK)
#define lull_gfp(field, value) \
	lull_flags64(field, (__force unsigned long)(value), CALL_NAMES(LULL_GFP_NAMES))
#else
#define lull_gfp(field, value) lull_x64(field, (__force unsigned long)(value))
#endif

#endif
