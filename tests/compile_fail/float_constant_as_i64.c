/* SPDX-License-Identifier: MIT */
/* So would a constant. */
/* expect: lull_i64\(v\): needs a signed integer */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_i64(v, 1));
#else
	lull_event("test:event", lull_i64(v, 1.0));
#endif
}
