/* SPDX-License-Identifier: MIT */
/* Elements of another width. */
/* expect: lull_au32\(v\): needs a pointer to elements of type u32 */
#include <lull/trace.h>

void test(uint64_t *p);

void test(uint64_t *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_au64(v, p, 2));
#else
	lull_event("test:event", lull_au32(v, p, 2));
#endif
}
