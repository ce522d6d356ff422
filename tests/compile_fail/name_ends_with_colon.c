/* SPDX-License-Identifier: MIT */
/* Something follows the group. */
/* expect: lull_event: the name is group:name */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event");
#else
	lull_event("test:");
#endif
}
