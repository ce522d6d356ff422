/* SPDX-License-Identifier: MIT */
/* An integer is no pointer. */
/* expect: lull_ptr\(v\): needs a pointer */
#include <lull/trace.h>

void test(unsigned long u);

void test(unsigned long u)
{
#ifdef CORRECT
	lull_event("test:event", lull_x64(v, u));
#else
	lull_event("test:event", lull_ptr(v, u));
#endif
}
