/* SPDX-License-Identifier: MIT */
/* Nor is a pointer to an incomplete type. */
/* expect: lull_i64\(v\): needs a signed integer */
#include <lull/trace.h>

struct unknown;

void test(struct unknown *p);

void test(struct unknown *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_ptr(v, p));
#else
	lull_event("test:event", lull_i64(v, p));
#endif
}
