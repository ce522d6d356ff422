/* SPDX-License-Identifier: MIT */
/* A float is no truth value. */
/* expect: lull_bool\(v\): needs a truth value or an integer */
#include <lull/trace.h>

void test(float f);

void test(float f)
{
#ifdef CORRECT
	lull_event("test:event", lull_bool(v, f > 0));
#else
	lull_event("test:event", lull_bool(v, f));
#endif
}
