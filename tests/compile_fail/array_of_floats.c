/* SPDX-License-Identifier: MIT */
/* Elements of another kind. */
/* expect: lull_ai32\(v\): needs a pointer to elements of type i32 */
#include <lull/trace.h>

void test(float *p);

void test(float *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_bytes(v, p, 2 * sizeof(*p)));
#else
	lull_event("test:event", lull_ai32(v, p, 2));
#endif
}
