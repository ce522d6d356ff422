/* SPDX-License-Identifier: MIT */
/*
 * Finding the C library's functions behind liblull's interposers, all at once and early:
 * later a call may come from a signal handler, where the dynamic linker must not be entered.
 *
 * The library is initialised first, before the constructors of others call its functions;
 * should one of them still be earlier, the first call resolves.
 */
#include "resolve.h"

void *lull_interpose_resolve(void **real)
{
	if (!__atomic_load_n(real, __ATOMIC_RELAXED))
		resolve_all();
	return *real;
}

__attribute__((constructor(101))) static void resolve_early(void)
{
	resolve_all();
}
