/* SPDX-License-Identifier: MIT */
/* The name is a literal. */
/* expect-gcc: expected .\). before .name. */
/* expect-clang: name_is_variable.c:[0-9]+:[0-9]+: error: expected .\). */
#include <lull/trace.h>

void test(const char *name);

void test(const char *name)
{
#ifdef CORRECT
	lull_event("test:event", lull_str(v, name));
#else
	lull_event(name, lull_str(v, name));
#endif
}
