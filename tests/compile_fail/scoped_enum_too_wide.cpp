/* SPDX-License-Identifier: MIT */
/* A scoped enumeration has the width of its type. */
/* expect: lull_u8\(v\): needs an unsigned integer of at most 8 bits */
#include <lull/trace.h>

enum class wide : uint32_t { value };

void test(wide w);

void test(wide w)
{
#ifdef CORRECT
	lull_event("test:event", lull_u32(v, w));
#else
	lull_event("test:event", lull_u8(v, w));
#endif
}
