/* SPDX-License-Identifier: MIT */
/* A number is no string. */
/* expect: lull_str\(v\): needs a pointer to char */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_i32(v, i));
#else
	lull_event("test:event", lull_str(v, i));
#endif
}
