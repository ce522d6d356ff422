/* SPDX-License-Identifier: MIT */
/* A constant has to fit. */
/* expect: lull_u16\(v\): needs an unsigned integer */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_i16(v, -1));
#else
	lull_event("test:event", lull_u16(v, -1));
#endif
}
