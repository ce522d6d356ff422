/* SPDX-License-Identifier: MIT */
/* A signed value may be negative. */
/* expect: lull_u32\(v\): needs an unsigned integer of at most 32 bits */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_i32(v, i));
#else
	lull_event("test:event", lull_u32(v, i));
#endif
}
