/* SPDX-License-Identifier: MIT */
/* A string is no integer. */
/* expect: lull_i32\(v\): needs a signed integer */
#include <lull/trace.h>

void test(const char *s);

void test(const char *s)
{
#ifdef CORRECT
	lull_event("test:event", lull_str(v, s));
#else
	lull_event("test:event", lull_i32(v, s));
#endif
}
