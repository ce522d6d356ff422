/* SPDX-License-Identifier: MIT */
/* Names hold no spaces. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:an_event");
#else
	lull_event("test:an event");
#endif
}
