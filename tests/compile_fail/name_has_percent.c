/* SPDX-License-Identifier: MIT */
/* Nor other characters. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:100");
#else
	lull_event("test:100%");
#endif
}
