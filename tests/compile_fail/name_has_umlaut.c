/* SPDX-License-Identifier: MIT */
/* Nor letters beyond ASCII. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:groesse");
#else
	lull_event("test:größe");
#endif
}
