// SPDX-License-Identifier: MIT
/*
 * Deferred calls: each thread has a queue into which it alone puts; one thread at a time takes.
 *
 * Queueing is two stores for the entry and one for the number of entries. The domain's background
 * thread sleeps while all queues are empty. A caller looks whether that thread sleeps, and needs no
 * barrier before the look, because the thread forces one on all callers before it sleeps.
 * deferred.c empties queues. Paper: T 6.4.5.
 *
 * Barrier pairs:
 *	[defer.put:A]	an entry before its number		[defer.take:A]
 *	[defer.put:B]	the number before the look at asleep	[defer.sleep:A]
 *	[defer.take:A]	the number before the entry		[defer.put:A]
 *	[defer.take:B]	the entry is read before its place is free	[defer.full:A]
 *	[defer.full:A]	the free place before the next entry	[defer.take:B]
 *	[defer.sleep:A]	asleep before the look at numbers	[defer.put:B]
 */
#include "deferred.h"

#include <errno.h>
#include "start.h"

static void defer_prompt(unsigned int index)
{
	uint32_t *asleep = &defer_domain(index)->asleep, state;
	int saved = errno;

	/* The number comes before this: [defer.put:B], and the barrier that the thread forced. */
	state = lull_mem_cas32_relaxed(asleep, DEFER_ASLEEP, DEFER_AWAKE);
	if (state == DEFER_ASLEEP)
		lull_futex_wake(asleep, 1);
	else if (state == DEFER_THREADLESS)
		lull_defer_need(index); /* when it fails, the next call tries again */
	errno = saved;
}

static void make_room(unsigned int index, struct defer_queue *queue)
{
	/*
	 * [defer.full:A] acquire. Pairs with [defer.take:B].
	 * Orders: the read of taken_count, which says that a place is free, before the write of the
	 * next entry in that place.
	 * Else: the caller overwrites an entry that is still to be called.
	 */
	queue->room_until = (lull_mem_load_acquire(&queue->taken_count) & ~DEFER_CLOSED) +
			    DEFER_ENTRIES * DEFER_ONE;
	if (lull_mem_load(&queue->put_count) != queue->room_until)
		return;
	lull_defer_drain(index, queue);
	queue->room_until = lull_defer_taken(queue) + DEFER_ENTRIES * DEFER_ONE;
}

void rcu_domain_defer(struct rcu_domain *domain, void (*func)(void *argument), void *argument)
{
	unsigned int index = domain->index;
	struct defer_queue *queue = defer_self()->queues[index];
	struct defer_entry *entry;
	unsigned long put;

	if (__builtin_expect(!queue, 0))
		lull_defer_misuse(index,
				  "defer_rcu() in a thread without rcu_defer_register_thread()");
	put = lull_mem_load(&queue->put_count);
	if (__builtin_expect(put == queue->room_until, 0)) {
		make_room(index, queue);
		put = lull_mem_load(&queue->put_count); /* a deferred function may have deferred */
	}
	entry = lull_defer_entry(queue, put);
	lull_mem_store_pointer(&entry->func, func);
	lull_mem_store_pointer(&entry->argument, argument);
	/*
	 * [defer.put:A] release. Pairs with [defer.take:A].
	 * Orders: the writes of the entry, and all that the caller did before, before the number by
	 * which the taking thread finds the entry.
	 * Else: that thread finds the older entry in the same place and calls it again.
	 */
	lull_mem_store_release(&queue->put_count, put + DEFER_ONE);
	/*
	 * [defer.put:B] light. Pairs with [defer.sleep:A].
	 * Orders: the store of the number before the look at asleep.
	 * Else: the caller finds the background thread awake, and that thread finds no entry and
	 * sleeps.
	 */
	lull_mem_fence_light();
	if (__builtin_expect(lull_mem_load32(&defer_domain(index)->asleep) != DEFER_AWAKE, 0))
		defer_prompt(index);
}

int rcu_domain_defer_register_thread(struct rcu_domain *domain)
{
	unsigned int index = domain->index;
	struct defer_queue *queue;
	int error;

	if (defer_self()->queues[index])
		lull_defer_misuse(index, "rcu_defer_register_thread() twice");
	error = lull_defer_need(index);
	if (error)
		return error;
	queue = lull_memory_take(sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->room_until = DEFER_ENTRIES * DEFER_ONE;
	lull_lock_take(&defer_domain(index)->lock);
	queue->next = defer_domain(index)->queues;
	defer_domain(index)->queues = queue;
	lull_lock_release(&defer_domain(index)->lock);
	defer_self()->queues[index] = queue;
	return 0;
}

void rcu_domain_defer_unregister_thread(struct rcu_domain *domain)
{
	unsigned int index = domain->index;
	struct defer_queue *queue = defer_self()->queues[index],
			   **place = &defer_domain(index)->queues;

	if (!queue)
		lull_defer_misuse(
			index, "rcu_defer_unregister_thread() without rcu_defer_register_thread()");
	lull_defer_begin(index);
	while (!lull_defer_is_empty(queue)) /* a deferred function may defer again */
		lull_defer_drain_locked(index, queue);
	lull_lock_take(&defer_domain(index)->lock);
	while (*place != queue)
		place = &(*place)->next;
	*place = queue->next;
	lull_lock_release(&defer_domain(index)->lock);
	lull_defer_end(index);
	defer_self()->queues[index] = NULL;
	lull_memory_give(queue);
}

void rcu_domain_defer_barrier(struct rcu_domain *domain)
{
	lull_defer_drain(domain->index, NULL);
}

void rcu_domain_defer_barrier_thread(struct rcu_domain *domain)
{
	unsigned int index = domain->index;

	if (defer_self()->queues[index])
		lull_defer_drain(index, defer_self()->queues[index]);
}
