/* SPDX-License-Identifier: MIT */
/*
 * Finding the functions behind ours: the body that liblull and liblull-malloc each have.
 *
 * dlsym(RTLD_NEXT) starts behind the library that calls it, so this code is compiled into
 * both. It is idempotent, hence needs no lock: whoever arrives stores the same pointers.
 */
#ifndef LULL_INTERPOSE_RESOLVE_H
#define LULL_INTERPOSE_RESOLVE_H

#include "interpose.h"
#include <dlfcn.h>

extern struct interposed interposed_begin[] __asm__("__start_lull_interposed")
	__attribute__((visibility("hidden")));
extern struct interposed interposed_until[] __asm__("__stop_lull_interposed")
	__attribute__((visibility("hidden")));

/* Stands in for a function that this C library lacks and nobody could have linked with. */
static long missing_function(void)
{
	errno = ENOSYS;
	return -1;
}

static void resolve_all(void)
{
	int missing = 0, saved = errno;

	for (struct interposed *each = interposed_begin; each < interposed_until; each++) {
		void *real = each->version ? dlvsym(RTLD_NEXT, each->function, each->version) :
					     dlsym(RTLD_NEXT, each->function);

		if (!real && each->version)
			real = dlsym(RTLD_NEXT, each->function);
		missing |= !real;
		__atomic_store_n(each->real, real ? real : (void *)missing_function,
				 __ATOMIC_RELAXED);
	}
	if (missing)
		dlerror(); /* the program must not find our failure */
	errno = saved;
}

#endif
