/* SPDX-License-Identifier: MIT */
/* A field is not quoted. */
/* expect-gcc-c: pasting .* does not give a valid preprocessing token */
/* expect-gcc-c++: expected unqualified-id before user-defined string literal */
/* expect-clang: pasting formed .*, an invalid preprocessing token|expected */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(bare, 1));
#else
	lull_event("test:event", lull_u8("quoted", 1));
#endif
}
