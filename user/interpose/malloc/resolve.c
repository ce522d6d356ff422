/* SPDX-License-Identifier: MIT */
/*
 * Finding the functions behind liblull-malloc's. The dynamic linker allocates through ours
 * from the moment the library is relocated, and may do so again while it looks for the real
 * ones; those calls are answered by the functions marked early.
 */
#include "../resolve.h"

static __thread int resolving;

static void *early(void **real)
{
	for (struct interposed *each = interposed_begin; each < interposed_until; each++)
		if (each->real == real && each->early)
			return each->early;
	return (void *)missing_function;
}

void *lull_interpose_resolve(void **real)
{
	if (resolving)
		return early(real);
	resolving = 1;
	resolve_all();
	resolving = 0;
	return *real;
}
