/* SPDX-License-Identifier: MIT */
/* A wider type would be cut. */
/* expect: lull_u16\(v\): needs an unsigned integer of at most 16 bits */
#include <lull/trace.h>

void test(uint32_t u);

void test(uint32_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_u32(v, u));
#else
	lull_event("test:event", lull_u16(v, u));
#endif
}
