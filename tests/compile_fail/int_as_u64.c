/* SPDX-License-Identifier: MIT */
/* Also where the field is wider. */
/* expect: lull_u64\(v\): needs an unsigned integer */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_i64(v, i));
#else
	lull_event("test:event", lull_u64(v, i));
#endif
}
