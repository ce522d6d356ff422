/* SPDX-License-Identifier: MIT */
/* A pointer is no truth value. */
/* expect: lull_bool\(v\): needs a truth value or an integer */
#include <lull/trace.h>

void test(void *p);

void test(void *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_bool(v, p != 0));
#else
	lull_event("test:event", lull_bool(v, p));
#endif
}
