/* SPDX-License-Identifier: MIT */
/* Memory for the moment before the real allocator is known (bootstrap.h). */
#include "bootstrap.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define AREA_BYTES 16384
#define ALIGN_BYTES 16

struct block {
	size_t bytes;
	unsigned char memory[] __attribute__((aligned(ALIGN_BYTES)));
};

static unsigned char area[AREA_BYTES] __attribute__((aligned(ALIGN_BYTES)));
static size_t used_bytes;

void *lull_bootstrap_malloc(size_t bytes)
{
	size_t whole = sizeof(struct block) + ((bytes + ALIGN_BYTES - 1) & -(size_t)ALIGN_BYTES);
	struct block *block = NULL;

	if (bytes < AREA_BYTES) {
		size_t begin = __atomic_fetch_add(&used_bytes, whole, __ATOMIC_RELAXED);

		if (begin <= AREA_BYTES && whole <= AREA_BYTES - begin)
			block = (struct block *)(area + begin);
	}
	if (!block) {
		errno = ENOMEM;
		return NULL;
	}
	block->bytes = bytes;
	return block->memory;
}

void *lull_bootstrap_calloc(size_t count, size_t size_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size_bytes, &bytes))
		bytes = SIZE_MAX;
	return lull_bootstrap_malloc(bytes);
}

void *lull_bootstrap_realloc(void *pointer, size_t bytes)
{
	void *result = lull_bootstrap_malloc(bytes);

	if (result && pointer && lull_bootstrap_owns(pointer)) {
		size_t held = lull_bootstrap_bytes(pointer);

		memcpy(result, pointer, held < bytes ? held : bytes);
	}
	return result;
}

void lull_bootstrap_free(void *pointer)
{
	(void)pointer;
}

int lull_bootstrap_owns(const void *pointer)
{
	return (uintptr_t)pointer - (uintptr_t)area < AREA_BYTES;
}

size_t lull_bootstrap_bytes(const void *pointer)
{
	return ((const struct block *)((const unsigned char *)pointer -
				       offsetof(struct block, memory)))
		->bytes;
}
