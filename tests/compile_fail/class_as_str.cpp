/* SPDX-License-Identifier: MIT */
/* A string class is not text: pass its characters. */
/* expect: lull_str\(v\): needs a pointer to char */
#include <lull/trace.h>

struct text {
	const char *characters;
	const char *c_str() const
	{
		return characters;
	}
};

void test(const text &t);

void test(const text &t)
{
#ifdef CORRECT
	lull_event("test:event", lull_str(v, t.c_str()));
#else
	lull_event("test:event", lull_str(v, t));
#endif
}
