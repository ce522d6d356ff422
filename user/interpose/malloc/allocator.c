/* SPDX-License-Identifier: MIT */
/*
 * malloc: the C library's allocator, or whichever the program brings.
 *
 * All these events are of level debug, and the interposers are in a library of their own that is
 * preloaded only when these events are asked for: a program allocates more often than it does
 * anything else. free() is recorded before the call, an allocation after it, so that a block's
 * events are in order even when threads pass it on. (reallocarray, strdup and the like call these.)
 */
#include "../interpose.h"
#include <malloc.h>
#include <stdlib.h>

REAL_FUNCTION(malloc);
REAL_FUNCTION(calloc);
REAL_FUNCTION(realloc);
REAL_FUNCTION(free);

INTERPOSED void *malloc(size_t bytes)
{
	void *result = REAL(malloc)(bytes);

	CHATTY_EVENT("malloc:malloc", lull_u64(bytes, bytes), lull_ptr(result, result));
	return result;
}

INTERPOSED void *calloc(size_t count, size_t size_bytes)
{
	void *result = REAL(calloc)(count, size_bytes);

	CHATTY_EVENT("malloc:calloc", lull_u64(count, count), lull_u64(size_bytes, size_bytes),
		     lull_ptr(result, result));
	return result;
}

INTERPOSED void *realloc(void *pointer, size_t bytes)
{
	void *result;

	CHATTY_EVENT("malloc:realloc_entry", lull_ptr(pointer, pointer), lull_u64(bytes, bytes));
	result = REAL(realloc)(pointer, bytes);
	CHATTY_EVENT("malloc:realloc_exit", lull_ptr(result, result));
	return result;
}

INTERPOSED void free(void *pointer)
{
	CHATTY_EVENT("malloc:free", lull_ptr(pointer, pointer));
	REAL(free)(pointer);
}

INTERPOSE(malloc_usable_size, size_t, (void *pointer))
{
	return REAL(malloc_usable_size)(pointer);
}

static inline __attribute__((always_inline)) void *record_aligned(size_t alignment_bytes,
								  size_t bytes, void *result)
{
	CHATTY_EVENT("malloc:aligned", lull_u64(alignment_bytes, alignment_bytes),
		     lull_u64(bytes, bytes), lull_ptr(result, result));
	return result;
}

INTERPOSE(aligned_alloc, void *, (size_t alignment_bytes, size_t bytes))
{
	return record_aligned(alignment_bytes, bytes, REAL(aligned_alloc)(alignment_bytes, bytes));
}

INTERPOSE(memalign, void *, (size_t alignment_bytes, size_t bytes))
{
	return record_aligned(alignment_bytes, bytes, REAL(memalign)(alignment_bytes, bytes));
}

INTERPOSE(posix_memalign, int, (void **pointer, size_t alignment_bytes, size_t bytes))
{
	int result = REAL(posix_memalign)(pointer, alignment_bytes, bytes);

	record_aligned(alignment_bytes, bytes, result ? NULL : *pointer);
	return result;
}

INTERPOSE(valloc, void *, (size_t bytes))
{
	return record_aligned(0, bytes, REAL(valloc)(bytes));
}

INTERPOSE(pvalloc, void *, (size_t bytes))
{
	return record_aligned(0, bytes, REAL(pvalloc)(bytes));
}
