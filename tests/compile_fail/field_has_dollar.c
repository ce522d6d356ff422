/* SPDX-License-Identifier: MIT */
/* Nor has it a dollar, which compilers let into names. */
/* expect: lull_event: the name of a field is of the letters a to z, digits and */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_i32(x, 1));
#else
	lull_event("test:event", lull_i32($x, 1));
#endif
}
