/* SPDX-License-Identifier: MIT */
/* A null pointer is no number. */
/* expect: lull_u64\(v\): needs an unsigned integer */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_ptr(v, nullptr));
#else
	lull_event("test:event", lull_u64(v, nullptr));
#endif
}
