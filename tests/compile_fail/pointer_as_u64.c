/* SPDX-License-Identifier: MIT */
/* A pointer is no integer: lull_ptr. */
/* expect: lull_u64\(v\): needs an unsigned integer */
#include <lull/trace.h>

void test(void *p);

void test(void *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_ptr(v, p));
#else
	lull_event("test:event", lull_u64(v, p));
#endif
}
