/* SPDX-License-Identifier: MIT */
/* Elements of no type. */
/* expect: lull_au8\(v\): needs a pointer to elements of type u8 */
#include <lull/trace.h>

void test(void *p);

void test(void *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_bytes(v, p, 2));
#else
	lull_event("test:event", lull_au8(v, p, 2));
#endif
}
