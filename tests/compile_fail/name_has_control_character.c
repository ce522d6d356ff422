/* SPDX-License-Identifier: MIT */
/* Nor what a terminal would obey. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:a.b");
#else
	lull_event("test:a\033b");
#endif
}
