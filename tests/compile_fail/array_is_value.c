/* SPDX-License-Identifier: MIT */
/* One number is not an array. */
/* expect: lull_au32\(v\): needs a pointer to elements of type u32 */
#include <lull/trace.h>

void test(uint32_t u);

void test(uint32_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_au32(v, &u, 1));
#else
	lull_event("test:event", lull_au32(v, u, 1));
#endif
}
