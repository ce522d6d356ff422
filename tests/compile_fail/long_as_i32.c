/* SPDX-License-Identifier: MIT */
/* A wider type would be cut. */
/* expect: lull_i32\(v\): needs a signed integer of at most 32 bits */
#include <lull/trace.h>

void test(long l);

void test(long l)
{
#ifdef CORRECT
	lull_event("test:event", lull_i64(v, l));
#else
	lull_event("test:event", lull_i32(v, l));
#endif
}
