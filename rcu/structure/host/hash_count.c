// SPDX-License-Identifier: MIT
/*
 * How many nodes a hash table has, and how many buckets it should have for them.
 *
 * An update adds to its CPU's counter; what gathers there goes to the table's count in batches, so
 * that no cache line is everybody's. Only an update that passes a batch on looks at the limits. A
 * small table, for which batches would be too large, has one counter.
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

#define COUNTED (RCU_HASH_AUTO_RESIZE | RCU_HASH_ACCOUNTING)
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
	struct rcu_hash_counter *counters = lull_mem_load_pointer(&shared->counters);
	struct rcu_hash_counter *counter = &counters[1 + (this_cpu() & counters->mask)];
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

/* What was in the one counter stays there when there are several. */
static long sum(const struct hash_table *table)
{
	const struct rcu_hash_counter *counters = lull_mem_load_pointer(&table->shared.counters);
	unsigned long count = lull_mem_load(&table->count), i;

	count += lull_mem_load(&table->counters[1].pending);
	for (i = 0; counters && counters != table->counters && i <= counters->mask; i++)
		count += lull_mem_load(&counters[1 + i].pending);
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

/* What the counters hold beyond a smaller batch would mislead every update that looks at limits. */
static void gather(struct hash_table *table, struct rcu_hash_counter *counters)
{
	unsigned long i;

	for (i = 0; i <= counters->mask; i++)
		lull_mem_add(&table->count, lull_mem_exchange(&counters[1 + i].pending, 0));
}

void lull_hash_limits_set(struct hash_table *table)
{
	unsigned long size = hash_size(table), before = lull_mem_load(&table->batch);
	struct rcu_hash_counter *counters = lull_mem_load_pointer(&table->shared.counters);
	unsigned long batch = counters ? size / BATCH_SHARE / (counters->mask + 1) : 0;
	int automatic = (table->flags & RCU_HASH_AUTO_RESIZE) != 0;
	long above = automatic && size < table->maximum ? (long)size : LONG_MAX;
	long below = automatic && size > table->minimum ? (long)(size / 4) : LONG_MIN;

	lull_mem_store(&table->batch, batch < BATCH_MOST ? batch : BATCH_MOST);
	lull_mem_store((unsigned long *)&table->grow_above, (unsigned long)above);
	lull_mem_store((unsigned long *)&table->shrink_below, (unsigned long)below);
	if (batch < before)
		gather(table, counters);
}

int lull_hash_count_prepare(struct hash_table *table, unsigned long buckets)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned long counters = 1;
	size_t bytes;

	while ((long)counters < cpus && counters < COUNTERS_MOST)
		counters *= 2;
	bytes = (1 + counters) * sizeof(struct rcu_hash_counter);
	if (!(table->flags & COUNTED) || table->spread || counters == 1 ||
	    buckets <= HASH_OWN_BUCKETS || buckets * sizeof(unsigned long) < bytes)
		return 0;
	table->spread = aligned_alloc(HASH_LINE_BYTES, bytes);
	if (!table->spread)
		return -ENOMEM;
	memset(table->spread, 0, bytes);
	table->spread->mask = counters - 1;
	return 0;
}

void lull_hash_count_spread(struct hash_table *table)
{
	/* Relaxed: a grace period has passed since the counters were made. */
	if (table->spread)
		lull_mem_store_pointer(&table->shared.counters, table->spread);
	lull_hash_limits_set(table);
}

void lull_hash_count_start(struct hash_table *table)
{
	if (table->flags & COUNTED)
		table->shared.counters = table->counters;
	lull_hash_count_spread(table);
}
