/* SPDX-License-Identifier: MIT */
/* A constant has to fit. */
/* expect: lull_i8\(v\): needs a signed integer of at most 8 bits */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_i8(v, -128));
#else
	lull_event("test:event", lull_i8(v, -129));
#endif
}
