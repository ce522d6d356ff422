/* SPDX-License-Identifier: MIT */
/* There is no such level. */
/* expect: lull_event_level: the level is LULL_LEVEL_EMERGENCY */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event_level(7, "test:event");
#else
	lull_event_level(8, "test:event");
#endif
}
