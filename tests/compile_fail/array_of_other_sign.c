/* SPDX-License-Identifier: MIT */
/* Elements of another sign. */
/* expect: lull_au32\(v\): needs a pointer to elements of type u32 */
#include <lull/trace.h>

void test(int *p);

void test(int *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_ai32(v, p, 2));
#else
	lull_event("test:event", lull_au32(v, p, 2));
#endif
}
