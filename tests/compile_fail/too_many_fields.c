/* SPDX-License-Identifier: MIT */
/* 17 fields. */
/* expect: lull_event: at most 16 fields */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(f0, 0), lull_u8(f1, 1), lull_u8(f2, 2), lull_u8(f3, 3),
		   lull_u8(f4, 4), lull_u8(f5, 5), lull_u8(f6, 6), lull_u8(f7, 7), lull_u8(f8, 8),
		   lull_u8(f9, 9), lull_u8(f10, 10), lull_u8(f11, 11), lull_u8(f12, 12),
		   lull_u8(f13, 13), lull_u8(f14, 14), lull_u8(f15, 15));
#else
	lull_event("test:event", lull_u8(f0, 0), lull_u8(f1, 1), lull_u8(f2, 2), lull_u8(f3, 3),
		   lull_u8(f4, 4), lull_u8(f5, 5), lull_u8(f6, 6), lull_u8(f7, 7), lull_u8(f8, 8),
		   lull_u8(f9, 9), lull_u8(f10, 10), lull_u8(f11, 11), lull_u8(f12, 12),
		   lull_u8(f13, 13), lull_u8(f14, 14), lull_u8(f15, 15), lull_u8(f16, 16));
#endif
}
