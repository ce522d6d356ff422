/* SPDX-License-Identifier: MIT */
/* A field is an identifier. */
/* expect-gcc-c: invalid suffix "_lull_" */
/* expect-gcc-c++: unable to find numeric literal operator|expected unqualified-id */
/* expect-clang-c: invalid suffix '_lull_' */
/* expect-clang-c++: expected unqualified-id */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(five, 1));
#else
	lull_event("test:event", lull_u8(5, 1));
#endif
}
