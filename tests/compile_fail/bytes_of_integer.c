/* SPDX-License-Identifier: MIT */
/* Bytes are somewhere in memory. */
/* expect: lull_bytes\(v\): needs a pointer and an integer count */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_bytes(v, &i, 4));
#else
	lull_event("test:event", lull_bytes(v, i, 4));
#endif
}
