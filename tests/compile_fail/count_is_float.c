/* SPDX-License-Identifier: MIT */
/* A count is an integer. */
/* expect: and an integer count */
#include <lull/trace.h>

void test(uint32_t *p);

void test(uint32_t *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_au32(v, p, 1));
#else
	lull_event("test:event", lull_au32(v, p, 1.5));
#endif
}
