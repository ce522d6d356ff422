/* SPDX-License-Identifier: MIT */
/* A structure is no number. */
/* expect-gcc-c: type mismatch in conditional expression */
/* expect-clang-c: incompatible operand types */
/* expect: lull_u64\(v\): needs an unsigned integer */
#include <lull/trace.h>

struct pair {
	int a, b;
};

void test(struct pair p);

void test(struct pair p)
{
#ifdef CORRECT
	lull_event("test:event", lull_i32(v, p.a));
#else
	lull_event("test:event", lull_u64(v, p));
#endif
}
