/* SPDX-License-Identifier: MIT */
/* A field's name is of ASCII. */
/* expect: lull_event: the name of a field is of the letters a to z, digits and */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_i32(groesse, 1));
#else
	lull_event("test:event", lull_i32(größe, 1));
#endif
}
