/* SPDX-License-Identifier: MIT */
/* A field is one identifier. */
/* expect-gcc: before .words_lull_. */
/* expect-clang: expected .;. at end of declaration */
#include <lull/trace.h>

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_u8(two_words, 1));
#else
	lull_event("test:event", lull_u8(two words, 1));
#endif
}
