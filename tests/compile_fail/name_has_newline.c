/* SPDX-License-Identifier: MIT */
/* Nor newlines. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:a.b");
#else
	lull_event("test:a\nb");
#endif
}
