/* SPDX-License-Identifier: MIT */
/* A field has a name. */
/* expect: lull_event: a field has no name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(a, 1));
#else
	lull_event("test:event", lull_u8(, 1));
#endif
}
