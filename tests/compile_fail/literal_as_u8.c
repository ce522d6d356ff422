/* SPDX-License-Identifier: MIT */
/* Nor is a string literal. */
/* expect: lull_u8\(v\): needs an unsigned integer */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(v, 'a'));
#else
	lull_event("test:event", lull_u8(v, "a"));
#endif
}
