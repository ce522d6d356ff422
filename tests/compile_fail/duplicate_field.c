/* SPDX-License-Identifier: MIT */
/* Two fields of one name. */
/* expect-gcc-c: redeclaration of .twice_lull_ */
/* expect-gcc-c++: redeclaration of .uint8_t twice_lull_ */
/* expect-clang: redefinition of 'twice_lull_' */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(once, 1), lull_u8(twice, 2));
#else
	lull_event("test:event", lull_u8(twice, 1), lull_u8(twice, 2));
#endif
}
