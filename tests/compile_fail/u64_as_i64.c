/* SPDX-License-Identifier: MIT */
/* Large values would turn negative. */
/* expect: lull_i64\(v\): needs a signed integer of at most 64 bits */
#include <lull/trace.h>

void test(uint64_t u);

void test(uint64_t u)
{
#ifdef CORRECT
	lull_event("test:event", lull_u64(v, u));
#else
	lull_event("test:event", lull_i64(v, u));
#endif
}
