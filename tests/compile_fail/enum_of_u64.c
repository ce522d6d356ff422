/* SPDX-License-Identifier: MIT */
/* An enumeration is stored in 32 bits. */
/* expect: lull_enum\(v\): needs an integer of at most 32 bits */
#include <lull/trace.h>

void test(uint64_t u);

void test(uint64_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_enum(v, (uint32_t)u, "A=0"));
#else
	lull_event("test:event", lull_enum(v, u, "A=0"));
#endif
}
