// SPDX-License-Identifier: MIT
/*
 * The thread that resizes hash tables which ask for it: one for all tables.
 *
 * An update that finds its table's limit passed puts the table on a stack and wakes the thread: it
 * takes no lock and does not wait. A forked child has no such thread; it starts one with the first
 * request. Design: docs/design/42-hash.md.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[hash.kick:A]	the stack's top before kicks		[hash.doze:A]
 *	[hash.doze:A]	kicks before the stack's top		[hash.kick:A]
 */
#include "domains.h"
#include "hash_table.h"

/* Written by anyone, by compare-and-swap; emptied by holders of the lock. */
static unsigned long requests; /* struct hash_table *, linked by queue_next */
static uint32_t kicks; /* futex: counts requests */
static unsigned long started;
/* With the lock held: what was taken from the stack. */
static struct hash_table *todo;

static void collect(void)
{
	struct hash_table *table = (struct hash_table *)lull_mem_exchange(&requests, 0);

	/* Bound: one entry for each table. */
	while (table) {
		struct hash_table *next = table->queue_next;

		table->queue_next = todo;
		todo = table;
		table = next;
	}
}

void lull_hash_worker_forget(struct hash_table *table)
{
	struct hash_table **at = &todo;

	collect();
	while (*at && *at != table)
		at = &(*at)->queue_next;
	if (*at)
		*at = table->queue_next;
}

static struct hash_table *take(void)
{
	struct hash_table *table;

	lull_lock_take(&lull_hash_lock);
	collect();
	table = todo;
	if (table) {
		todo = table->queue_next;
		/* From here on, an update that finds a limit passed asks again. */
		lull_mem_exchange(&table->queued, 0);
		lull_hash_driver_arrive(table);
	}
	lull_lock_release(&lull_hash_lock);
	return table;
}

static void *work(void *unused)
{
	(void)unused;
	lull_thread_begin("rcu-hash", -1);
	/* Bound: the life of the process. */
	for (;;) {
		/*
		 * [hash.doze:A] full, by the exchange in collect(). Pairs with [hash.kick:A].
		 * Orders: the count of requests before the look for one.
		 * Else: a request made in between is slept over.
		 */
		uint32_t seen = lull_mem_load32(&kicks);
		struct hash_table *table = take();

		if (table)
			lull_hash_drive(table, 0);
		else
			lull_futex_wait(&kicks, seen);
	}
	return NULL;
}

static void before_fork(void)
{
	lull_lock_take(&lull_hash_lock);
}

static void after_fork_parent(void)
{
	lull_lock_release(&lull_hash_lock);
}

/* Requests are forgotten: the next update that passes on its count asks again. */
static void after_fork_child(void)
{
	lull_mem_store(&lull_hash_generation, lull_hash_generation + 1);
	lull_mem_store(&started, 0);
	lull_mem_store(&requests, 0);
	todo = NULL;
	lull_lock_renew(&lull_hash_lock);
}

__attribute__((constructor)) static void follow_forks(void)
{
	static const struct rcu_fork_handler handler = { before_fork, after_fork_parent,
							 after_fork_child };

	rcu_fork_follow(RCU_FORK_TABLES, &handler);
}

int lull_hash_worker_start(void)
{
	struct lull_thread thread;
	int error;

	if (lull_mem_load(&started) || lull_mem_exchange(&started, 1))
		return 0;
	/* It is a reader of each table's domain while it resizes that. */
	error = lull_thread_start(&thread, work, NULL, RCU_BARRIER_SIGNAL);
	if (error)
		lull_mem_store(&started, 0);
	else
		lull_thread_detach(&thread);
	return error;
}

void lull_hash_worker_kick(struct hash_table *table)
{
	unsigned long here = lull_mem_load(&lull_hash_generation), top, found;

	/* A parent's thread that had claimed the table may not have put it on the stack. */
	if (lull_mem_load(&table->queued) == here ||
	    lull_mem_exchange(&table->queued, here) == here)
		return;
	found = lull_mem_load(&requests);
	do { /* bound: another table's request was first */
		top = found;
		table->queue_next = (struct hash_table *)top;
		found = lull_mem_cas(&requests, top, (unsigned long)table);
	} while (found != top);
	/*
	 * [hash.kick:A] full. Pairs with [hash.doze:A].
	 * Orders: the request before the count.
	 * Else: the thread sleeps on, and the table keeps its size until somebody asks again.
	 */
	lull_mem_add32(&kicks, 1);
	lull_futex_wake(&kicks, 1);
	/* Only in a forked child, or where a thread could not be started, is there none. */
	(void)lull_hash_worker_start();
}
