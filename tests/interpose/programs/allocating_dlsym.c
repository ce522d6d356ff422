/* SPDX-License-Identifier: MIT */
/*
 * A library to preload: a dlsym that allocates, as that of some C libraries does, while the
 * real allocator is being looked for. At the end its blocks are checked, grown and freed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define VERSION "GLIBC_2.2.5"
#else
#define VERSION "GLIBC_2.17"
#endif
#define BLOCKS 8

static unsigned char *blocks[BLOCKS];
static volatile int count; /* the compiler believes that malloc does not come back here */

void *dlsym(void *restrict handle, const char *restrict name)
{
	void *(*real)(void *, const char *) = dlvsym(RTLD_NEXT, "dlsym", VERSION);

	unsigned char *block = NULL;

	/* Allocating may come back here, to look for the real allocator. */
	if (count < BLOCKS)
		block = count % 2 ? malloc(100) : calloc(10, 10);
	if (block && count < BLOCKS)
		blocks[count++] = memset(block, 'a', 100);
	return real(handle, name);
}

__attribute__((destructor)) static void check(void)
{
	int mistakes = count != BLOCKS;

	for (int i = 0; i < count; i++) {
		mistakes += malloc_usable_size(blocks[i]) < 100;
		blocks[i] = realloc(blocks[i], 10000);
		for (int at = 0; at < 100; at++)
			mistakes += blocks[i][at] != 'a';
		memset(blocks[i], 'b', 10000);
		free(blocks[i]);
	}
	printf("%d blocks of dlsym, %d mistakes\n", count, mistakes);
}
