/* SPDX-License-Identifier: MIT */
/* Inline functions and templates with events, for two translation units. */
#ifndef SITE_PLACEMENT_H
#define SITE_PLACEMENT_H

#include <lull/trace.h>

inline int shared_inline(int value)
{
	lull_event("placement:inline", lull_i32(value, value));
	return value + 1;
}

template <class T> __attribute__((noinline)) T shared_template(T value)
{
	lull_event("placement:template", lull_u8(size, sizeof(T)), lull_i64(value, value));
	return value;
}

struct counter {
	int count = 0;
	__attribute__((noinline)) void add(int by)
	{
		count += by;
		lull_event("placement:method", lull_ptr(self, this), lull_i32(count, count));
	}
	~counter()
	{
		lull_event("placement:destructor");
	}
};

int other_unit(int value);

#endif
