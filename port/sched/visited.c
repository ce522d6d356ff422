// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The set of states seen: 128-bit keys, open addressing, doubling.
 *
 * With n states, the chance that any two share a key, which would hide one of them, is about
 * n * n / 2^129: less than 1e-22 for 100 million states.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "world.h"

struct entry {
	uint64_t a, b; /* 0, 0: free */
	double paths;
};

#define CAPACITY_FIRST (1u << 16)
#define HUGE_PAGE_BYTES (2ul << 20) /* looks at random places cost fewer page walks */

static struct entry *table;
static uint64_t capacity;
static uint64_t used;

static struct entry *slot_of(struct hash key)
{
	uint64_t index = key.a & (capacity - 1);

	/* bounded: the table is never more than two thirds full */
	while ((table[index].a || table[index].b) &&
	       (table[index].a != key.a || table[index].b != key.b))
		index = (index + 1) & (capacity - 1);
	return &table[index];
}

static void table_make(uint64_t entries)
{
	capacity = entries;
	used = 0;
	table = aligned_alloc(HUGE_PAGE_BYTES, capacity * sizeof(*table));
	if (table)
		madvise(table, capacity * sizeof(*table), MADV_HUGEPAGE);
	if (table)
		memset(table, 0, capacity * sizeof(*table));
	if (!table) {
		fprintf(stderr, "sched: no memory for %llu states\n", (unsigned long long)entries);
		exit(2);
	}
}

static void table_grow(void)
{
	struct entry *old = table;
	uint64_t old_capacity = capacity, old_used = used, i;

	table_make(capacity * 2);
	for (i = 0; i < old_capacity; i++)
		if (old[i].a || old[i].b)
			*slot_of((struct hash){ old[i].a, old[i].b }) = old[i];
	used = old_used;
	free(old);
}

void visited_reset(void)
{
	free(table);
	table_make(CAPACITY_FIRST);
}

uint64_t visited_count(void)
{
	return used;
}

double *visited_find(struct hash key, int *fresh)
{
	struct entry *entry;

	if (used * 3 > capacity * 2)
		table_grow();
	entry = slot_of(key);
	*fresh = !entry->a && !entry->b;
	if (*fresh) {
		entry->a = key.a;
		entry->b = key.b;
		used++;
	}
	return &entry->paths;
}
