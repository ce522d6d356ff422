// SPDX-License-Identifier: MIT
/*
 * Where a hash table's buckets are: one range of addresses, memory behind as much of it as is used.
 *
 * So a bucket is one addition away from its table, and a bucket's address gives its index. Large
 * tables lie on huge pages, where the kernel has some. Design: docs/design/42-hash.md.
 */
#define _GNU_SOURCE
#include "hash_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Tables that never have more than this take it from the heap. */
#define HEAP_BYTES 4096u
#define HUGE_BYTES (2ul << 20)
/* What a table of any size may reserve: a part of the memory, and of the limit of addresses. */
#define MEMORY_PART 4ul
#define LIMIT_PART 64ul

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t bytes_of(unsigned long buckets)
{
	return buckets * sizeof(unsigned long);
}

/* Whole pages for so many buckets. */
static size_t pages_of(unsigned long buckets)
{
	return (bytes_of(buckets) + page_bytes() - 1) & ~(page_bytes() - 1);
}

static unsigned long most_buckets(void)
{
	unsigned long bytes = (unsigned long)sysconf(_SC_PHYS_PAGES) / MEMORY_PART * page_bytes();
	unsigned long buckets = HEAP_BYTES / sizeof(unsigned long);
	struct rlimit limit;

	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur / LIMIT_PART < bytes)
		bytes = (unsigned long)limit.rlim_cur / LIMIT_PART;
	while (bytes_of(buckets) <= bytes / 2)
		buckets *= 2;
	return buckets;
}

static int reserve_heap(struct hash_table *table)
{
	size_t bytes = bytes_of(table->maximum);

	bytes = (bytes + HASH_LINE_BYTES - 1) & ~(size_t)(HASH_LINE_BYTES - 1);
	table->shared.buckets = aligned_alloc(HASH_LINE_BYTES, bytes);
	if (!table->shared.buckets)
		return -ENOMEM;
	memset(table->shared.buckets, 0, bytes);
	return 0;
}

static int reserve_range(struct hash_table *table)
{
	size_t bytes = pages_of(table->maximum), slack = 0;
	char *memory;

	if (bytes >= HUGE_BYTES)
		slack = HUGE_BYTES;
	memory = mmap(NULL, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	table->memory = memory;
	table->memory_bytes = bytes + slack;
	if (slack) {
		memory = (char *)(((unsigned long)memory + slack - 1) & ~(slack - 1));
		/* Only an advice: without it, pages are small. */
		(void)madvise(memory, bytes, MADV_HUGEPAGE);
	}
	table->shared.buckets = (unsigned long *)(void *)memory;
	return 0;
}

int lull_hash_memory_reserve(struct hash_table *table, unsigned long least)
{
	int error, any = !table->maximum;

	if (any)
		table->maximum = most_buckets();
	if (table->maximum < least)
		table->maximum = least;
	/* Bound: bits of a word. */
	for (;;) {
		error = bytes_of(table->maximum) <= HEAP_BYTES ? reserve_heap(table) :
								 reserve_range(table);
		if (!error || !any || table->maximum / 2 < least)
			return error;
		table->maximum /= 2;
	}
}

int lull_hash_memory_commit(struct hash_table *table, unsigned long buckets)
{
	char *start = (char *)table->shared.buckets;
	size_t bytes = pages_of(buckets);

	if (!table->memory || bytes <= table->committed_bytes)
		return 0;
	if (mprotect(start + table->committed_bytes, bytes - table->committed_bytes,
		     PROT_READ | PROT_WRITE))
		return -ENOMEM;
	table->committed_bytes = bytes;
	return 0;
}

void lull_hash_memory_trim(struct hash_table *table, unsigned long buckets)
{
	char *start = (char *)table->shared.buckets;
	size_t bytes = pages_of(buckets);

	if (!table->memory || bytes >= table->committed_bytes)
		return;
	/* What cannot be protected is not touched all the same, and stays committed. */
	if (madvise(start + bytes, table->committed_bytes - bytes, MADV_DONTNEED) ||
	    mprotect(start + bytes, table->committed_bytes - bytes, PROT_NONE))
		return;
	table->committed_bytes = bytes;
}

void lull_hash_memory_free(struct hash_table *table)
{
	if (table->memory)
		munmap(table->memory, table->memory_bytes);
	else
		free(table->shared.buckets);
}
