/* SPDX-License-Identifier: MIT */
/*
 * What the dynamic linker has mapped, read without it: for resolve.c and redirect.c.
 *
 * Context of all: async-signal-safe, where the object given is not being unloaded.
 */
#ifndef LULL_RESOLVE_H
#define LULL_RESOLVE_H

#include <link.h>

/* What is looked for. */
struct lull_wanted {
	const char *name;
	const char *version; /* NULL: the default one */
};

/* The function that an object offers, or NULL. */
void *lull_interpose_find(const struct link_map *object, const struct lull_wanted *wanted);

/* The C library, if this library was loaded into a program that ran already; otherwise NULL. */
const struct link_map *lull_interpose_library(void);

/* This library. Context: no thread loads or unloads an object. */
const struct link_map *lull_interpose_own(void);

#endif
