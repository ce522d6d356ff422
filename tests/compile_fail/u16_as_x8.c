/* SPDX-License-Identifier: MIT */
/* Bits would be lost. */
/* expect: lull_x8\(v\): needs an integer of at most 8 bits */
#include <lull/trace.h>

void test(uint16_t u);

void test(uint16_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_x16(v, u));
#else
	lull_event("test:event", lull_x8(v, u));
#endif
}
