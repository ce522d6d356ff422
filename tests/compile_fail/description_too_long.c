/* SPDX-License-Identifier: MIT */
/* What describes an event has a place of 64 KiB. */
/* expect: lull_event: the name, the path and all names of fields and values have at most */
#include <lull/trace.h>

#define FOUR(text) text text text text
#define NAMES FOUR(FOUR(FOUR(FOUR("NAME_OF_16=0x10,"))))

void test(void);

void test(void)
{
#ifdef CORRECT
	lull_event("test:event", lull_enum(a, 1, NAMES), lull_enum(b, 1, NAMES));
#else
	lull_event("test:event", lull_enum(a, 1, NAMES), lull_enum(b, 1, NAMES),
		   lull_enum(c, 1, NAMES), lull_enum(d, 1, NAMES), lull_enum(e, 1, NAMES),
		   lull_enum(f, 1, NAMES), lull_enum(g, 1, NAMES), lull_enum(h, 1, NAMES),
		   lull_enum(i, 1, NAMES), lull_enum(j, 1, NAMES), lull_enum(k, 1, NAMES),
		   lull_enum(l, 1, NAMES), lull_enum(m, 1, NAMES), lull_enum(n, 1, NAMES),
		   lull_enum(o, 1, NAMES), lull_enum(p, 1, NAMES));
#endif
}
