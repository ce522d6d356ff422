/* SPDX-License-Identifier: MIT */
/* A wider type would be cut. */
/* expect: lull_u8\(v\): needs an unsigned integer of at most 8 bits */
#include <lull/trace.h>

void test(uint64_t u);

void test(uint64_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(v, (uint8_t)u));
#else
	lull_event("test:event", lull_u8(v, u));
#endif
}
