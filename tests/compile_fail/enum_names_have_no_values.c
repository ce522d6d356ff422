/* SPDX-License-Identifier: MIT */
/* Each name has its value. */
/* expect: lull_enum, lull_flags: the names are written */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_enum(v, i, "A=0"));
#else
	lull_event("test:event", lull_enum(v, i, "A"));
#endif
}
