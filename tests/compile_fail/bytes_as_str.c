/* SPDX-License-Identifier: MIT */
/* Bytes are not known to end. */
/* expect: lull_str\(v\): needs a pointer to char */
#include <lull/trace.h>

void test(unsigned char *p);

void test(unsigned char *p)
{
#ifdef CORRECT
	lull_event("test:event", lull_bytes(v, p, 4));
#else
	lull_event("test:event", lull_str(v, p));
#endif
}
