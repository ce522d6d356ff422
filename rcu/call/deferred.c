// SPDX-License-Identifier: MIT
/*
 * How deferred calls are made: by the background thread, a barrier, or the owner of a full queue.
 *
 * The thread that makes the calls holds one lock for a grace period and for the calls. A fork does
 * not wait for that: it closes the queues, so that no entry is taken until the fork is over. An
 * entry that was taken before is the parent's to call, both call the others. The table of barriers
 * is in defer.c. Paper: T 6.4.5.
 */
#include "deferred.h"

#include <stdio.h>
#include "offline.h"

/*
 * How long the background thread lets calls gather after one has woken it, so that the next ones
 * need not wake it.
 */
#define GATHER_MS 10

#define DOMAIN(flavour, kind, self_registering) \
	{ .draining = LULL_LOCK_INITIALIZER,    \
	  .lock = LULL_LOCK_INITIALIZER,        \
	  .asleep = DEFER_THREADLESS },

struct defer_domain lull_defer_domains[RCU_DOMAINS] = { RCU_FLAVOURS(DOMAIN) };
__thread struct defer_thread lull_defer_thread;
LULL_CALL_FORKS_FOLLOWED;

void lull_defer_misuse(unsigned int index, const char *what)
{
	rcu_domain_misuse(rcu_domain_self(rcu_domains[index]), what);
}

void lull_defer_begin(unsigned int index)
{
	int was_online;

	if (defer_self()->draining[index])
		lull_defer_misuse(index, "waits for deferred calls in a deferred call");
	was_online = lull_wait_begin(rcu_domains[index]);
	lull_lock_take(&defer_domain(index)->draining);
	lull_wait_end(rcu_domains[index], was_online);
}

void lull_defer_end(unsigned int index)
{
	lull_lock_release(&defer_domain(index)->draining);
}

/* Marks the entries that are in a queue now. Return: not 0 if there are any. */
static int queue_mark(struct defer_queue *queue)
{
	/*
	 * [defer.take:A] the full barrier of the grace period that follows. Pairs with
	 * [defer.put:A].
	 * Orders: the read of the number before the reads of the entries that it counts.
	 * Else: an older entry of the same place is called again.
	 */
	queue->until = lull_mem_load(&queue->put_count);
	return queue->until != lull_defer_taken(queue);
}

/* Takes an entry, whose number @count is, before it is called. Return: 0: the queue is closed. */
static int queue_take(struct defer_queue *queue, unsigned long count, struct defer_entry *taken)
{
	const struct defer_entry *entry = lull_defer_entry(queue, count);

	taken->func = lull_mem_load_pointer(&entry->func);
	taken->argument = lull_mem_load_pointer(&entry->argument);
	/*
	 * [defer.take:B] compare-and-swap, release. Pairs with [defer.full:A].
	 * Orders: the reads of the entry before the number that frees its place.
	 * Else: the queue's owner writes the next entry there, and function and argument of two
	 * entries are mixed in one call. Mutant: DEFER_TAKE_RELAXED.
	 */
	return lull_mem_cas(&queue->taken_count, count, count + DEFER_ONE) == count;
}

/* Sleeps while a thread forks: it has the lock. */
static void await_fork(unsigned int index)
{
	lull_lock_take(&defer_domain(index)->lock);
	lull_lock_release(&defer_domain(index)->lock);
}

/* Makes the calls that were marked. Bound: DEFER_ENTRIES. */
static void queue_call_marked(unsigned int index, struct defer_queue *queue)
{
	struct defer_entry entry;
	unsigned long count;

	rcu_annotate_acquire(&rcu_domains[index]->name); /* as callers of defer_rcu() released it */
	while ((count = lull_defer_taken(queue)) != queue->until) {
		if (!queue_take(queue, count, &entry)) {
			await_fork(index);
			continue;
		}
		entry.func(entry.argument);
		if (rcu_domains[index]->kind == RCU_KIND_QSBR && defer_self()->background)
			rcu_reader_quiescent(rcu_domains[index],
					     rcu_domain_self(rcu_domains[index]));
	}
}

/* Those of all threads. A thread that begins to defer puts its queue before the others. */
static struct defer_queue *queues_of(unsigned int index)
{
	struct defer_queue *queue;

	lull_lock_take(&defer_domain(index)->lock);
	queue = defer_domain(index)->queues;
	lull_lock_release(&defer_domain(index)->lock);
	return queue;
}

void lull_defer_drain_locked(unsigned int index, struct defer_queue *only)
{
	struct defer_queue *queue;
	int found = 0;

	if (only)
		found = queue_mark(only);
	for (queue = only ? NULL : queues_of(index); queue; queue = queue->next)
		found |= queue_mark(queue);
	if (!found)
		return;
	rcu_domain_synchronize(rcu_domains[index]);
	defer_self()->draining[index] = 1;
	if (only)
		queue_call_marked(index, only);
	for (queue = only ? NULL : queues_of(index); queue; queue = queue->next)
		queue_call_marked(index, queue);
	defer_self()->draining[index] = 0;
}

void lull_defer_drain(unsigned int index, struct defer_queue *only)
{
	lull_defer_begin(index);
	lull_defer_drain_locked(index, only);
	lull_defer_end(index);
}

/* Frees the queues of threads that a fork left behind, once they are empty. */
static void bury(unsigned int index)
{
	struct defer_queue **place = &defer_domain(index)->queues, *queue;

	lull_lock_take(&defer_domain(index)->lock);
	while ((queue = *place) != NULL) {
		if (queue->orphaned && lull_defer_is_empty(queue)) {
			*place = queue->next;
			lull_memory_give(queue);
		} else {
			place = &queue->next;
		}
	}
	lull_lock_release(&defer_domain(index)->lock);
}

static int has_entries_locked(unsigned int index)
{
	struct defer_queue *queue;

	for (queue = defer_domain(index)->queues; queue; queue = queue->next)
		if (!lull_defer_is_empty(queue))
			return 1;
	return 0;
}

static int has_entries(unsigned int index)
{
	int found;

	lull_lock_take(&defer_domain(index)->lock);
	found = has_entries_locked(index);
	lull_lock_release(&defer_domain(index)->lock);
	return found;
}

/*
 * Where no barrier can be forced on callers, a caller may miss that this thread sleeps; so the
 * thread naps there and looks again.
 */
static void sleep_until_put(unsigned int index)
{
	uint32_t *asleep = &defer_domain(index)->asleep;
	int forced;

	for (;;) {
		lull_mem_store32(asleep, DEFER_ASLEEP);
		/*
		 * [defer.sleep:A] heavy. Pairs with [defer.put:B].
		 * Orders: the store to asleep before the look at the numbers; in each caller, the
		 * store of the number before its look at asleep.
		 * Else: the caller finds this thread awake, this thread finds no entry, and the
		 * entry waits for ever.
		 */
		forced = lull_fence_threads();
		if (has_entries(index))
			break;
		if (forced)
			lull_futex_wait(asleep, DEFER_ASLEEP);
		else
			lull_moment();
	}
	lull_mem_store32(asleep, DEFER_AWAKE);
}

static void *background(void *argument)
{
	unsigned int index = (unsigned int)(uintptr_t)argument;
	struct rcu_domain *domain = rcu_domains[index];
	struct rcu_reader *reader = rcu_domain_self(domain);
	char name[16]; /* what the kernel keeps */
	int i;

	defer_self()->background = index + 1;
	snprintf(name, sizeof(name), "defer-%s", rcu_domain_name(domain));
	lull_thread_begin(name, -1);
	rcu_domain_register(domain, reader, 0);
	for (;;) {
		if (domain->kind == RCU_KIND_QSBR)
			rcu_reader_offline(domain, reader);
		sleep_until_put(index);
		for (i = 0; i < GATHER_MS; i++)
			lull_moment();
		if (domain->kind == RCU_KIND_QSBR)
			rcu_reader_online(domain, reader);
		lull_defer_begin(index);
		lull_defer_drain_locked(index, NULL);
		bury(index);
		lull_defer_end(index);
	}
	return NULL;
}

int lull_defer_need(unsigned int index)
{
	uint32_t *asleep = &defer_domain(index)->asleep;
	struct lull_thread thread;
	int error;

	/* Relaxed: one of several callers starts the thread, and the start is what orders. */
	if (lull_mem_cas32_relaxed(asleep, DEFER_THREADLESS, DEFER_AWAKE) != DEFER_THREADLESS)
		return 0;
	lull_fence_threads_start();
	/* Deferred calls may read in any domain. */
	error = lull_thread_start(&thread, background, (void *)(uintptr_t)index,
				  RCU_BARRIER_SIGNAL);
	if (error)
		lull_mem_store32(asleep, DEFER_THREADLESS);
	else
		lull_thread_detach(&thread);
	return error;
}

/*
 * Closes the queues, by DEFER_CLOSED, or opens them, by -DEFER_CLOSED. Relaxed: queue_take()
 * changes the same word in one step, so it either comes before or finds the queue closed.
 */
static void queues_add_locked(unsigned int index, unsigned long closed)
{
	struct defer_queue *queue;

	for (queue = defer_domain(index)->queues; queue; queue = queue->next)
		lull_mem_add_relaxed(&queue->taken_count, closed);
}

void lull_defer_before_fork(unsigned int index)
{
	lull_lock_take(&defer_domain(index)->lock);
	queues_add_locked(index, DEFER_CLOSED);
}

void lull_defer_after_fork_parent(unsigned int index)
{
	queues_add_locked(index, -DEFER_CLOSED);
	lull_lock_release(&defer_domain(index)->lock);
}

/* Has the queues of threads that are not in the child emptied, and then freed. */
void lull_defer_after_fork_child(unsigned int index)
{
	struct defer_domain *domain = defer_domain(index);
	struct defer_queue *queue;

	queues_add_locked(index, -DEFER_CLOSED);
	lull_lock_renew(&domain->lock);
	if (!defer_self()->draining[index])
		lull_lock_renew(&domain->draining);
	for (queue = domain->queues; queue; queue = queue->next)
		if (queue != defer_self()->queues[index])
			queue->orphaned = 1;
	if (defer_self()->background == index + 1)
		return;
	domain->asleep = DEFER_THREADLESS;
	if (has_entries_locked(index))
		lull_defer_need(index);
}
