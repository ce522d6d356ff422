/* SPDX-License-Identifier: MIT */
/* A constant has to fit. */
/* expect: lull_u8\(v\): needs an unsigned integer of at most 8 bits, or a constant that fits */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(v, 255));
#else
	lull_event("test:event", lull_u8(v, 256));
#endif
}
