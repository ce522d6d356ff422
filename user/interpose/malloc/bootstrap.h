/* SPDX-License-Identifier: MIT */
/*
 * Memory for the moment before the real allocator is known: finding it may itself allocate.
 *
 * A fixed area, handed out once and never taken back. Its blocks stay valid, so every
 * function that is given a pointer asks first whether it is one of these.
 */
#ifndef LULL_INTERPOSE_BOOTSTRAP_H
#define LULL_INTERPOSE_BOOTSTRAP_H

#include <stddef.h>

/* Context: any. Progress: wait-free. Return: zeroed memory aligned to 16, or NULL. */
void *lull_bootstrap_malloc(size_t bytes);
void *lull_bootstrap_calloc(size_t count, size_t size_bytes);
void *lull_bootstrap_realloc(void *pointer, size_t bytes);
void lull_bootstrap_free(void *pointer);

/* Is @pointer a block of the area? */
int lull_bootstrap_owns(const void *pointer);

/* How many bytes the block holds. */
size_t lull_bootstrap_bytes(const void *pointer);

#endif
