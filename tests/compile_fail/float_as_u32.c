/* SPDX-License-Identifier: MIT */
/* A float would lose its fraction. */
/* expect: lull_u32\(v\): needs an unsigned integer */
#include <lull/trace.h>

void test(float f);

void test(float f)
{
#ifdef CORRECT
	lull_event("test:event", lull_f32(v, f));
#else
	lull_event("test:event", lull_u32(v, f));
#endif
}
