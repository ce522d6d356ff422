/* SPDX-License-Identifier: MIT */
/* Large values would turn negative. */
/* expect: lull_i32\(v\): needs a signed integer of at most 32 bits */
#include <lull/trace.h>

void test(uint32_t u);

void test(uint32_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_i64(v, u));
#else
	lull_event("test:event", lull_i32(v, u));
#endif
}
