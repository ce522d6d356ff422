// SPDX-License-Identifier: MIT
/*
 * How many nodes a hash table has, and how many buckets it should have for them.
 *
 * An update adds to its CPU's counter; what gathers there goes to the table's count in batches, so
 * that no cache line is everybody's. Only an update that passes a batch on looks at the limits.
 * Design: docs/design/42-hash.md.
 */
#define _GNU_SOURCE
#include "hash_table.h"

#include <errno.h>
#include <linux/rseq.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTERS_MOST 1024ul
#define BATCH_MOST 1024ul
/* With all counters just below their batches, the count is off by this part of the buckets. */
#define BATCH_SHARE 16ul

/* The C library's, since 2.35: where the kernel keeps this thread's CPU number. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static unsigned long this_cpu(void)
{
	if (__builtin_expect(&__rseq_size && __rseq_size, 1)) {
		const char *thread = __builtin_thread_pointer();
		const struct rseq *area = (const struct rseq *)(thread + __rseq_offset);

		return lull_mem_load32(&area->cpu_id_start);
	}
	return (unsigned long)sched_getcpu();
}

void lull_hash_account(struct rcu_hash *shared, long change)
{
	struct hash_table *table = hash_table_of(shared);
	struct rcu_hash_counter *counter = &shared->counters[this_cpu() & table->counter_mask];
	unsigned long batch = lull_mem_load(&table->batch);
	unsigned long pending = lull_mem_add(&counter->pending, (unsigned long)change);
	long count;

	if (__builtin_expect(pending + batch <= 2 * batch, 1))
		return;
	pending = lull_mem_exchange(&counter->pending, 0);
	count = (long)lull_mem_add(&table->count, pending);
	if (count > (long)lull_mem_load((unsigned long *)&table->grow_above) ||
	    count < (long)lull_mem_load((unsigned long *)&table->shrink_below))
		lull_hash_worker_kick(table);
}

static long sum(const struct hash_table *table)
{
	unsigned long count = lull_mem_load(&table->count), i;

	for (i = 0; table->shared.counters && i <= table->counter_mask; i++)
		count += lull_mem_load(&table->shared.counters[i].pending);
	return (long)count;
}

unsigned long rcu_hash_count_estimate(const struct rcu_hash *shared)
{
	long count = sum(hash_table_of(shared));

	return count < 0 ? 0 : (unsigned long)count;
}

/*
 * Between half a node and one for each bucket after growing, and a quarter before shrinking, so
 * that no few updates lead back and forth.
 */
unsigned long lull_hash_size_wanted(const struct hash_table *table)
{
	long count = sum(table);
	unsigned long size = hash_size(table), wanted = size;

	if (count > table->grow_above)
		while (wanted < table->maximum && (long)wanted < count)
			wanted *= 2;
	if (count < table->shrink_below)
		while (wanted > table->minimum && (long)(wanted / 4) > count)
			wanted /= 2;
	return wanted;
}

void lull_hash_limits_set(struct hash_table *table)
{
	unsigned long size = hash_size(table);
	unsigned long batch = size / BATCH_SHARE / (table->counter_mask + 1);
	int automatic = (table->flags & RCU_HASH_AUTO_RESIZE) != 0;
	long above = automatic && size < table->maximum ? (long)size : LONG_MAX;
	long below = automatic && size > table->minimum ? (long)(size / 4) : LONG_MIN;

	lull_mem_store(&table->batch, batch < BATCH_MOST ? batch : BATCH_MOST);
	lull_mem_store((unsigned long *)&table->grow_above, (unsigned long)above);
	lull_mem_store((unsigned long *)&table->shrink_below, (unsigned long)below);
}

int lull_hash_count_start(struct hash_table *table)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned long counters = 1;
	size_t bytes;

	if (!(table->flags & (RCU_HASH_AUTO_RESIZE | RCU_HASH_ACCOUNTING)))
		return 0;
	while ((long)counters < cpus && counters < COUNTERS_MOST)
		counters *= 2;
	bytes = counters * sizeof(struct rcu_hash_counter);
	table->shared.counters = aligned_alloc(HASH_LINE_BYTES, bytes);
	if (!table->shared.counters)
		return -ENOMEM;
	memset(table->shared.counters, 0, bytes);
	table->counter_mask = counters - 1;
	return 0;
}
