/* SPDX-License-Identifier: MIT */
/* There is no such type. */
/* expect-gcc: lull_u65 */
/* expect-clang: lull_u65 */
#include <lull/trace.h>

void test(unsigned u);

void test(unsigned u)
{
#ifdef CORRECT
	lull_event("test:event", lull_u64(v, u));
#else
	lull_event("test:event", lull_u65(v, u));
#endif
}
