/* SPDX-License-Identifier: MIT */
/* A field is written with its type. */
/* expect-gcc: LULL_FIELD_CHECK */
/* expect-clang: LULL_FIELD_CHECK */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_i32(i, i));
#else
	lull_event("test:event", i);
#endif
}
