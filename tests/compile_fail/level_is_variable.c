/* SPDX-License-Identifier: MIT */
/* A level is a constant. */
/* expect-gcc-c: expression in static assertion is not constant */
/* expect-gcc-c++: non-constant condition for static assertion|is not a constant expression */
/* expect-clang: not an integral constant expression */
#include <lull/trace.h>

void test(int level);

void test(int level)
{
#ifdef CORRECT
	lull_event_level(LULL_LEVEL_DEBUG, "test:event", lull_i32(v, level));
#else
	lull_event_level(level, "test:event");
#endif
}
