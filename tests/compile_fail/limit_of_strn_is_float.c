/* SPDX-License-Identifier: MIT */
/* A limit counts bytes. */
/* expect: lull_strn\(v\): needs a pointer to char and an integer limit */
#include <lull/trace.h>

void test(const char *s);

void test(const char *s)
{
#ifdef CORRECT
	lull_event("test:event", lull_strn(v, s, 2));
#else
	lull_event("test:event", lull_strn(v, s, 2.0));
#endif
}
