/* SPDX-License-Identifier: MIT */
/* A double would lose precision. */
/* expect: lull_f32\(v\): needs a float */
#include <lull/trace.h>

void test(double d);

void test(double d)
{
#ifdef CORRECT
	lull_event("test:event", lull_f32(v, (float)d));
#else
	lull_event("test:event", lull_f32(v, d));
#endif
}
