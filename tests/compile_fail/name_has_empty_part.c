/* SPDX-License-Identifier: MIT */
/* Between two colons is a name. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:a:b");
#else
	lull_event("test:a::b");
#endif
}
