/* SPDX-License-Identifier: MIT */
/* An integer may lose precision, and would hide a mistake. */
/* expect: lull_f64\(v\): needs a float or a double */
#include <lull/trace.h>

void test(int i);

void test(int i)
{
#ifdef CORRECT
	lull_event("test:event", lull_f64(v, (double)i));
#else
	lull_event("test:event", lull_f64(v, i));
#endif
}
