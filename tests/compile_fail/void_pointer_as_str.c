/* SPDX-License-Identifier: MIT */
/* What a void pointer leads to is not known to be text. */
/* expect: lull_str\(v\): needs a pointer to char */
#include <lull/trace.h>

void test(void *p);

void test(void *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_str(v, (char *)p));
#else
	lull_event("test:event", lull_str(v, p));
#endif
}
