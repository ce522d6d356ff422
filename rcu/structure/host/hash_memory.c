// SPDX-License-Identifier: MIT
/*
 * Where a hash table's buckets are: in one array, so that a bucket is one addition away from its
 * table, and a bucket's address gives its index.
 *
 * The array of a small table is in the table itself, and then in the heap. That of a large table is
 * a range of addresses, with memory behind as much of it as is used, on huge pages where the kernel
 * has some. hash_resize.c moves the buckets from array to array. Design: docs/design/42-hash.md.
 */
#define _GNU_SOURCE
#include "hash_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Arrays in the heap have a power of this times a table's own buckets, and at most so many. */
#define HEAP_GROWTH 8ul
#define HEAP_BUCKETS 2048ul
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
	unsigned long buckets = HASH_OWN_BUCKETS;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur / LIMIT_PART < bytes)
		bytes = (unsigned long)limit.rlim_cur / LIMIT_PART;
	while (bytes_of(buckets) <= bytes / 2)
		buckets *= 2;
	return buckets;
}

/* The room that an array for so many buckets should have. */
static unsigned long room_for(const struct hash_table *table, unsigned long buckets)
{
	unsigned long room = HASH_OWN_BUCKETS;

	while (room < buckets && room < HEAP_BUCKETS)
		room *= HEAP_GROWTH;
	if (room < buckets || (room > table->maximum && room > HASH_OWN_BUCKETS))
		room = table->maximum;
	return room;
}

static int take_heap(struct hash_array *array)
{
	array->buckets = aligned_alloc(HASH_LINE_BYTES, bytes_of(array->room));
	return array->buckets ? 0 : -ENOMEM;
}

static int take_range(struct hash_array *array)
{
	size_t bytes = pages_of(array->room), slack = 0;
	char *memory;

	if (bytes >= HUGE_BYTES)
		slack = HUGE_BYTES;
	memory = mmap(NULL, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	array->memory = memory;
	array->memory_bytes = bytes + slack;
	if (slack) {
		memory = (char *)(((unsigned long)memory + slack - 1) & ~(slack - 1));
		/* Only an advice: without it, pages are small. */
		(void)madvise(memory, bytes, MADV_HUGEPAGE);
	}
	array->buckets = (unsigned long *)(void *)memory;
	return 0;
}

static void array_free(const struct hash_table *table, struct hash_array *array)
{
	if (array->memory)
		munmap(array->memory, array->memory_bytes);
	else if (array->buckets != table->own)
		free(array->buckets);
	memset(array, 0, sizeof(*array));
}

int lull_hash_memory_take(struct hash_table *table, unsigned long least, unsigned long wanted)
{
	struct hash_array *array = &table->other;
	unsigned long room = room_for(table, wanted);

	array->room = room;
	if (room <= HASH_OWN_BUCKETS) {
		array->buckets = table->own;
		return 0;
	}
	/* Bound: bits of a word. */
	for (; array->room >= least; array->room /= 2)
		if (!(array->room <= HEAP_BUCKETS ? take_heap(array) : take_range(array)))
			break;
	if (array->room >= least && !lull_hash_memory_commit(array, table->linked))
		return 0;
	array_free(table, array);
	return -ENOMEM;
}

int lull_hash_memory_start(struct hash_table *table, unsigned long initial)
{
	int error;

	if (!table->maximum)
		table->maximum = most_buckets();
	if (table->maximum < initial)
		table->maximum = initial;
	table->linked = table->dirty = 1;
	error = lull_hash_memory_take(table, initial, initial);
	table->array = table->other;
	memset(&table->other, 0, sizeof(table->other));
	table->shared.buckets = table->array.buckets;
	table->shared.last = table->array.room - 1;
	return error;
}

int lull_hash_memory_excess(const struct hash_table *table, unsigned long buckets)
{
	unsigned long room = room_for(table, buckets);

	return room < table->array.room && room <= HEAP_BUCKETS;
}

int lull_hash_memory_commit(struct hash_array *array, unsigned long buckets)
{
	char *start = (char *)array->buckets;
	size_t bytes = pages_of(buckets);

	if (!array->memory || bytes <= array->committed_bytes)
		return 0;
	if (mprotect(start + array->committed_bytes, bytes - array->committed_bytes,
		     PROT_READ | PROT_WRITE))
		return -ENOMEM;
	array->committed_bytes = bytes;
	return 0;
}

void lull_hash_memory_trim(struct hash_array *array, unsigned long buckets)
{
	char *start = (char *)array->buckets;
	size_t bytes = pages_of(buckets);

	if (!array->memory || bytes >= array->committed_bytes)
		return;
	/* What cannot be protected is not touched all the same, and stays committed. */
	if (madvise(start + bytes, array->committed_bytes - bytes, MADV_DONTNEED) ||
	    mprotect(start + bytes, array->committed_bytes - bytes, PROT_NONE))
		return;
	array->committed_bytes = bytes;
}

void lull_hash_memory_leave(struct hash_table *table)
{
	array_free(table, &table->other);
}

void lull_hash_memory_free(struct hash_table *table)
{
	array_free(table, &table->array);
	array_free(table, &table->other);
}
