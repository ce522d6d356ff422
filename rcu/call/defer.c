// SPDX-License-Identifier: MIT
/*
 * Deferred calls: a queue a thread, one that puts and one at a time that takes.
 *
 * Queueing is two stores for the entry and one for its number. The domain's background thread
 * sleeps while all queues are empty; the caller's look at whether it does needs no barrier, as the
 * thread forces one before it sleeps. Who empties queues, this thread, a barrier or the owner of a
 * full queue, holds the lock, for a grace period and the calls. Paper: T 6.4.5.
 *
 * Barrier pairs:
 *	[defer.put:A]	an entry before its number		[defer.take:A]
 *	[defer.put:B]	the number before the look at asleep	[defer.sleep:A]
 *	[defer.take:A]	the number before the entry		[defer.put:A]
 *	[defer.take:B]	the entry is read before its place is free	[defer.full:A]
 *	[defer.full:A]	the free place before the next entry	[defer.take:B]
 *	[defer.sleep:A]	asleep before the look at numbers	[defer.put:B]
 */
#include "worker.h"

#include <errno.h>
#include <stdio.h>

#ifndef DEFER_ENTRIES
#define DEFER_ENTRIES 4096UL
#endif
/* How long the background thread lets calls gather: one of them woke it, the others need not. */
#define GATHER_MS 10

struct defer_entry {
	void (*func)(void *argument);
	void *argument;
};

/**
 * struct defer_queue - The deferred calls of a thread.
 * @put_count: entries ever put. Written by the thread.
 * @room_until: as many entries fit, as the thread last saw.
 * @taken_count: entries ever taken. Written by who holds the lock.
 * @until: take up to here: what a grace period was waited for.
 * @orphaned: the thread is not in this child of a fork; free the queue when it is empty.
 * @next: in the domain's list.
 */
struct defer_queue {
	unsigned long put_count;
	unsigned long room_until;
	unsigned long taken_count __attribute__((aligned(64)));
	unsigned long until;
	int orphaned;
	struct defer_queue *next;
	struct defer_entry entries[DEFER_ENTRIES];
};

/* What callers find in asleep. */
enum defer_state { DEFER_AWAKE, DEFER_ASLEEP, DEFER_THREADLESS };

/**
 * struct defer_domain - The deferred calls of a domain.
 * @lock: over the list, and over taking from its queues. Held for a grace period.
 * @asleep: futex, enum defer_state, of the background thread.
 * @queues: one a registered thread.
 */
struct defer_domain {
	struct lull_lock lock;
	uint32_t asleep;
	struct defer_queue *queues;
};

/* A thread, as one that defers. */
struct defer_thread {
	struct defer_queue *queues[RCU_DOMAINS]; /* its own */
	unsigned char draining[RCU_DOMAINS]; /* holds the lock, and calls */
	unsigned int background; /* one more than the domain whose background thread it is */
};

#define DOMAIN                                                            \
	{                                                                 \
		.lock = LULL_LOCK_INITIALIZER, .asleep = DEFER_THREADLESS \
	}

static struct defer_domain defer_domains[RCU_DOMAINS] = { DOMAIN, DOMAIN, DOMAIN, DOMAIN, DOMAIN };
static __thread struct defer_thread defer_thread;

static struct defer_domain *defer_domain(unsigned int index)
{
	return LULL_SHARED(&defer_domains[index]);
}

static struct defer_thread *defer_self(void)
{
	return LULL_OWN(&defer_thread);
}

static void misuse(unsigned int index, const char *what)
{
	rcu_domain_misuse(rcu_domain_self(rcu_domains[index]), what);
}

/* Takes the lock, for which one may wait as long as for a grace period. */
static void lock(unsigned int index)
{
	int was_online;

	if (defer_self()->draining[index])
		misuse(index, "waits for deferred calls in a deferred call");
	was_online = lull_wait_begin(rcu_domains[index]);
	lull_lock_take(&defer_domain(index)->lock);
	lull_wait_end(rcu_domains[index], was_online);
}

/* Marks what is in a queue now. Return: not 0 if that is anything. */
static int mark(struct defer_queue *queue)
{
	/*
	 * [defer.take:A] the full barrier of the grace period that follows. Pairs with
	 * [defer.put:A].
	 * Orders: the number before the entries that it counts.
	 * Else: an entry of the lap before is called again.
	 */
	queue->until = lull_mem_load(&queue->put_count);
	return queue->until != lull_mem_load(&queue->taken_count);
}

/* Calls what was marked. Bound: DEFER_ENTRIES. */
static void call_marked(unsigned int index, struct defer_queue *queue)
{
	unsigned long taken;

	while ((taken = lull_mem_load(&queue->taken_count)) != queue->until) {
		const struct defer_entry *entry = &queue->entries[taken % DEFER_ENTRIES];
		void (*func)(void *argument) = lull_mem_load_pointer(&entry->func);
		void *argument = lull_mem_load_pointer(&entry->argument);

		/*
		 * [defer.take:B] release. Pairs with [defer.full:A].
		 * Orders: the copy of the entry before the number that frees its place.
		 * Else: what is called is half the next lap's entry.
		 */
		lull_mem_store_release(&queue->taken_count, taken + 1);
		func(argument);
		if (rcu_domains[index] == &rcu_qsbr_domain && defer_self()->background)
			rcu_reader_quiescent(&rcu_qsbr_domain, &rcu_qsbr_reader);
	}
}

/* Empties a queue, or all of them when it is NULL. */
static void drain_locked(unsigned int index, struct defer_queue *only)
{
	struct defer_queue *queue;
	int found = 0;

	if (only)
		found = mark(only);
	for (queue = defer_domain(index)->queues; queue && !only; queue = queue->next)
		found |= mark(queue);
	if (!found)
		return;
	rcu_domain_synchronize(rcu_domains[index]);
	defer_self()->draining[index] = 1;
	if (only)
		call_marked(index, only);
	for (queue = defer_domain(index)->queues; queue && !only; queue = queue->next)
		call_marked(index, queue);
	defer_self()->draining[index] = 0;
}

static void drain(unsigned int index, struct defer_queue *only)
{
	lock(index);
	drain_locked(index, only);
	lull_lock_release(&defer_domain(index)->lock);
}

static int is_empty(const struct defer_queue *queue)
{
	return lull_mem_load(&queue->put_count) == lull_mem_load(&queue->taken_count);
}

/* Frees the queues of threads that a fork left behind, once they are empty. */
static void bury_locked(unsigned int index)
{
	struct defer_queue **place = &defer_domain(index)->queues, *queue;

	while ((queue = *place) != NULL) {
		if (queue->orphaned && is_empty(queue)) {
			*place = queue->next;
			lull_memory_give(queue);
		} else {
			place = &queue->next;
		}
	}
}

static int has_entries_locked(unsigned int index)
{
	struct defer_queue *queue;

	for (queue = defer_domain(index)->queues; queue; queue = queue->next)
		if (!is_empty(queue))
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

/* Where there is no membarrier, callers may be late to see that the thread sleeps: it naps. */
static void sleep_until_put(unsigned int index)
{
	uint32_t *asleep = &defer_domain(index)->asleep;
	int forced;

	for (;;) {
		lull_mem_store32(asleep, DEFER_ASLEEP);
		/*
		 * [defer.sleep:A] heavy. Pairs with [defer.put:B].
		 * Orders: asleep before the look at numbers; in each caller, the number before its
		 * look at asleep.
		 * Else: an entry is put, and neither side sees the other.
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
	lull_thread_name(name);
	rcu_domain_register(domain, reader, 0);
	for (;;) {
		if (domain == &rcu_qsbr_domain)
			rcu_reader_offline(domain, reader);
		sleep_until_put(index);
		for (i = 0; i < GATHER_MS; i++)
			lull_moment();
		if (domain == &rcu_qsbr_domain)
			rcu_reader_online(domain, reader);
		lock(index);
		drain_locked(index, NULL);
		bury_locked(index);
		lull_lock_release(&defer_domain(index)->lock);
	}
	return NULL;
}

/* Starts the background thread unless it runs. Return: 0 or a negative errno. */
static int need_background(unsigned int index)
{
	uint32_t *asleep = &defer_domain(index)->asleep;
	struct lull_thread thread;
	int error;

	/* One of several callers starts it; what orders is the new thread's beginning. */
	if (lull_mem_cas32_relaxed(asleep, DEFER_THREADLESS, DEFER_AWAKE) != DEFER_THREADLESS)
		return 0;
	lull_fence_threads_start();
	error = lull_thread_start(&thread, background, (void *)(uintptr_t)index,
				  lull_call_signal(rcu_domains[index]));
	if (error)
		lull_mem_store32(asleep, DEFER_THREADLESS);
	else
		lull_thread_detach(&thread);
	return error;
}

static void prompt(unsigned int index)
{
	uint32_t *asleep = &defer_domain(index)->asleep, state;
	int saved = errno;

	/* The number is before it by [defer.put:B] and the barrier that the thread forced. */
	state = lull_mem_cas32_relaxed(asleep, DEFER_ASLEEP, DEFER_AWAKE);
	if (state == DEFER_ASLEEP)
		lull_futex_wake(asleep, 1);
	else if (state == DEFER_THREADLESS)
		need_background(index); /* when it fails, the next call tries again */
	errno = saved;
}

static void make_room(unsigned int index, struct defer_queue *queue)
{
	/*
	 * [defer.full:A] acquire. Pairs with [defer.take:B].
	 * Orders: the free place before the entry that is written there.
	 * Else: as for [defer.take:B].
	 */
	queue->room_until = lull_mem_load_acquire(&queue->taken_count) + DEFER_ENTRIES;
	if (lull_mem_load(&queue->put_count) != queue->room_until)
		return;
	drain(index, queue);
	queue->room_until = lull_mem_load(&queue->taken_count) + DEFER_ENTRIES;
}

void rcu_domain_defer(struct rcu_domain *domain, void (*func)(void *argument), void *argument)
{
	unsigned int index = lull_call_index(domain);
	struct defer_queue *queue = defer_self()->queues[index];
	struct defer_entry *entry;
	unsigned long put;

	if (__builtin_expect(!queue, 0))
		misuse(index, "defer_rcu() in a thread without rcu_defer_register_thread()");
	put = lull_mem_load(&queue->put_count);
	if (__builtin_expect(put == queue->room_until, 0)) {
		make_room(index, queue);
		put = lull_mem_load(&queue->put_count); /* what is called may defer */
	}
	entry = &queue->entries[put % DEFER_ENTRIES];
	lull_mem_store_pointer(&entry->func, func);
	lull_mem_store_pointer(&entry->argument, argument);
	/*
	 * [defer.put:A] release. Pairs with [defer.take:A].
	 * Orders: the entry, and all the caller did before, before the number.
	 * Else: as for [defer.take:A].
	 */
	lull_mem_store_release(&queue->put_count, put + 1);
	/*
	 * [defer.put:B] light. Pairs with [defer.sleep:A].
	 * Orders: the number before the look at asleep.
	 * Else: as for [defer.sleep:A].
	 */
	lull_mem_fence_light();
	if (__builtin_expect(lull_mem_load32(&defer_domain(index)->asleep) != DEFER_AWAKE, 0))
		prompt(index);
}

int rcu_domain_defer_register_thread(struct rcu_domain *domain)
{
	unsigned int index = lull_call_index(domain);
	struct defer_queue *queue;
	int error;

	if (defer_self()->queues[index])
		misuse(index, "rcu_defer_register_thread() twice");
	lull_call_follow_forks(lull_call_domain(domain));
	error = need_background(index);
	if (error)
		return error;
	queue = lull_memory_take(sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->room_until = DEFER_ENTRIES;
	lock(index);
	queue->next = defer_domain(index)->queues;
	defer_domain(index)->queues = queue;
	lull_lock_release(&defer_domain(index)->lock);
	defer_self()->queues[index] = queue;
	return 0;
}

void rcu_domain_defer_unregister_thread(struct rcu_domain *domain)
{
	unsigned int index = lull_call_index(domain);
	struct defer_queue *queue = defer_self()->queues[index],
			   **place = &defer_domain(index)->queues;

	if (!queue)
		misuse(index, "rcu_defer_unregister_thread() without rcu_defer_register_thread()");
	lock(index);
	while (!is_empty(queue)) /* what it calls may defer again */
		drain_locked(index, queue);
	while (*place != queue)
		place = &(*place)->next;
	*place = queue->next;
	lull_lock_release(&defer_domain(index)->lock);
	defer_self()->queues[index] = NULL;
	lull_memory_give(queue);
}

void rcu_domain_defer_barrier(struct rcu_domain *domain)
{
	drain(lull_call_index(domain), NULL);
}

void rcu_domain_defer_barrier_thread(struct rcu_domain *domain)
{
	unsigned int index = lull_call_index(domain);

	if (defer_self()->queues[index])
		drain(index, defer_self()->queues[index]);
}

/* Return: 0 when somebody is calling now: try later. A deferred call may fork itdefer_self()-> */
int lull_defer_try_before_fork(unsigned int index)
{
	return defer_self()->draining[index] || lull_lock_try(&defer_domain(index)->lock);
}

void lull_defer_after_fork_parent(unsigned int index)
{
	if (!defer_self()->draining[index])
		lull_lock_release(&defer_domain(index)->lock);
}

/* The queues of threads that are not in the child are emptied for them. */
void lull_defer_after_fork_child(unsigned int index)
{
	struct defer_domain *domain = defer_domain(index);
	struct defer_queue *queue;

	if (!defer_self()->draining[index])
		lull_lock_renew(&domain->lock);
	for (queue = domain->queues; queue; queue = queue->next)
		if (queue != defer_self()->queues[index])
			queue->orphaned = 1;
	if (defer_self()->background == index + 1)
		return;
	domain->asleep = DEFER_THREADLESS;
	if (has_entries_locked(index))
		need_background(index);
}
