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
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFER_ENTRIES 4096UL
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

static struct defer_domain domains[RCU_DOMAINS] = { DOMAIN, DOMAIN, DOMAIN, DOMAIN, DOMAIN };
static __thread struct defer_thread self;

static void misuse(unsigned int index, const char *what)
{
	rcu_domain_misuse(rcu_domain_self(rcu_domains[index]), what);
}

/* Takes the lock, for which one may wait as long as for a grace period. */
static void lock(unsigned int index)
{
	int was_online;

	if (self.draining[index])
		misuse(index, "waits for deferred calls in a deferred call");
	was_online = lull_wait_begin(rcu_domains[index]);
	lull_lock_take(&domains[index].lock);
	lull_wait_end(rcu_domains[index], was_online);
}

/* Marks what is in a queue now. Return: not 0 if that is anything. */
static int mark(struct defer_queue *queue)
{
	/*
	 * [defer.take:A] acquire. Pairs with [defer.put:A].
	 * Orders: the number before the entries that it counts.
	 * Else: an entry of the lap before is called again.
	 */
	queue->until = __atomic_load_n(&queue->put_count, __ATOMIC_ACQUIRE);
	return queue->until != queue->taken_count;
}

/* Calls what was marked. Bound: DEFER_ENTRIES. */
static void call_marked(unsigned int index, struct defer_queue *queue)
{
	while (queue->taken_count != queue->until) {
		struct defer_entry entry = queue->entries[queue->taken_count % DEFER_ENTRIES];

		/*
		 * [defer.take:B] release. Pairs with [defer.full:A].
		 * Orders: the copy of the entry before the number that frees its place.
		 * Else: what is called is half the next lap's entry.
		 */
		__atomic_store_n(&queue->taken_count, queue->taken_count + 1, __ATOMIC_RELEASE);
		entry.func(entry.argument);
		if (rcu_domains[index] == &rcu_qsbr_domain && self.background)
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
	for (queue = domains[index].queues; queue && !only; queue = queue->next)
		found |= mark(queue);
	if (!found)
		return;
	rcu_domain_synchronize(rcu_domains[index]);
	self.draining[index] = 1;
	if (only)
		call_marked(index, only);
	for (queue = domains[index].queues; queue && !only; queue = queue->next)
		call_marked(index, queue);
	self.draining[index] = 0;
}

static void drain(unsigned int index, struct defer_queue *only)
{
	lock(index);
	drain_locked(index, only);
	lull_lock_release(&domains[index].lock);
}

/* Frees the queues of threads that a fork left behind, once they are empty. */
static void bury_locked(unsigned int index)
{
	struct defer_queue **place = &domains[index].queues, *queue;

	while ((queue = *place) != NULL) {
		if (queue->orphaned && queue->taken_count == queue->put_count) {
			*place = queue->next;
			free(queue);
		} else {
			place = &queue->next;
		}
	}
}

static int has_entries_locked(unsigned int index)
{
	struct defer_queue *queue;

	for (queue = domains[index].queues; queue; queue = queue->next)
		if (__atomic_load_n(&queue->put_count, __ATOMIC_RELAXED) != queue->taken_count)
			return 1;
	return 0;
}

static int has_entries(unsigned int index)
{
	int found;

	lull_lock_take(&domains[index].lock);
	found = has_entries_locked(index);
	lull_lock_release(&domains[index].lock);
	return found;
}

/* Where there is no membarrier, callers may be late to see that the thread sleeps: it naps. */
static void sleep_until_put(unsigned int index)
{
	uint32_t *asleep = &domains[index].asleep;
	int forced;

	for (;;) {
		__atomic_store_n(asleep, DEFER_ASLEEP, __ATOMIC_RELAXED);
		/*
		 * [defer.sleep:A] heavy. Pairs with [defer.put:B].
		 * Orders: asleep before the look at numbers; in each caller, the number before its
		 * look at asleep.
		 * Else: an entry is put, and neither side sees the other.
		 */
		forced = !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		if (has_entries(index))
			break;
		if (forced)
			lull_futex_wait(asleep, DEFER_ASLEEP);
		else
			lull_call_moment();
	}
	__atomic_store_n(asleep, DEFER_AWAKE, __ATOMIC_RELAXED);
}

static void *background(void *argument)
{
	unsigned int index = (unsigned int)(uintptr_t)argument;
	struct rcu_domain *domain = rcu_domains[index];
	struct rcu_reader *reader = rcu_domain_self(domain);
	char name[16]; /* what the kernel keeps */
	int i;

	self.background = index + 1;
	snprintf(name, sizeof(name), "defer-%s", rcu_domain_name(domain));
	pthread_setname_np(pthread_self(), name);
	rcu_domain_register(domain, reader, 0);
	for (;;) {
		if (domain == &rcu_qsbr_domain)
			rcu_reader_offline(domain, reader);
		sleep_until_put(index);
		for (i = 0; i < GATHER_MS; i++)
			lull_call_moment();
		if (domain == &rcu_qsbr_domain)
			rcu_reader_online(domain, reader);
		lock(index);
		drain_locked(index, NULL);
		bury_locked(index);
		lull_lock_release(&domains[index].lock);
	}
	return NULL;
}

/* Starts the background thread unless it runs. Return: 0 or a negative errno. */
static int need_background(unsigned int index)
{
	uint32_t *asleep = &domains[index].asleep, state = DEFER_THREADLESS;
	sigset_t before;
	pthread_t thread;
	int error;

	/* One of several callers starts it; what orders is the new thread's beginning. */
	if (!__atomic_compare_exchange_n(asleep, &state, DEFER_AWAKE, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return 0;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	lull_call_block_signals(rcu_domains[index], &before);
	error = pthread_create(&thread, NULL, background, (void *)(uintptr_t)index);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		__atomic_store_n(asleep, DEFER_THREADLESS, __ATOMIC_RELAXED);
	else
		pthread_detach(thread);
	return -error;
}

static void prompt(unsigned int index)
{
	uint32_t *asleep = &domains[index].asleep, state = DEFER_ASLEEP;
	int saved = errno;

	/* The number is before it by [defer.put:B] and the barrier that the thread forced. */
	if (__atomic_compare_exchange_n(asleep, &state, DEFER_AWAKE, 0, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
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
	queue->room_until = __atomic_load_n(&queue->taken_count, __ATOMIC_ACQUIRE) + DEFER_ENTRIES;
	if (queue->put_count != queue->room_until)
		return;
	drain(index, queue);
	queue->room_until = queue->taken_count + DEFER_ENTRIES;
}

void rcu_domain_defer(struct rcu_domain *domain, void (*func)(void *argument), void *argument)
{
	unsigned int index = lull_call_index(domain);
	struct defer_queue *queue = self.queues[index];
	struct defer_entry *entry;

	if (__builtin_expect(!queue, 0))
		misuse(index, "defer_rcu() in a thread without rcu_defer_register_thread()");
	if (__builtin_expect(queue->put_count == queue->room_until, 0))
		make_room(index, queue);
	entry = &queue->entries[queue->put_count % DEFER_ENTRIES];
	entry->func = func;
	entry->argument = argument;
	/*
	 * [defer.put:A] release. Pairs with [defer.take:A].
	 * Orders: the entry, and all the caller did before, before the number.
	 * Else: as for [defer.take:A].
	 */
	__atomic_store_n(&queue->put_count, queue->put_count + 1, __ATOMIC_RELEASE);
	/*
	 * [defer.put:B] light. Pairs with [defer.sleep:A].
	 * Orders: the number before the look at asleep.
	 * Else: as for [defer.sleep:A].
	 */
	lull_mem_fence_light();
	if (__builtin_expect(__atomic_load_n(&domains[index].asleep, __ATOMIC_RELAXED), 0))
		prompt(index);
}

int rcu_domain_defer_register_thread(struct rcu_domain *domain)
{
	unsigned int index = lull_call_index(domain);
	struct defer_queue *queue;
	int error;

	if (self.queues[index])
		misuse(index, "rcu_defer_register_thread() twice");
	lull_call_follow_forks(lull_call_domain(domain));
	error = need_background(index);
	if (error)
		return error;
	queue = aligned_alloc(64, (sizeof(*queue) + 63) / 64 * 64);
	if (!queue)
		return -ENOMEM;
	queue->put_count = queue->taken_count = queue->until = 0;
	queue->room_until = DEFER_ENTRIES;
	queue->orphaned = 0;
	lock(index);
	queue->next = domains[index].queues;
	domains[index].queues = queue;
	lull_lock_release(&domains[index].lock);
	self.queues[index] = queue;
	return 0;
}

void rcu_domain_defer_unregister_thread(struct rcu_domain *domain)
{
	unsigned int index = lull_call_index(domain);
	struct defer_queue *queue = self.queues[index], **place = &domains[index].queues;

	if (!queue)
		misuse(index, "rcu_defer_unregister_thread() without rcu_defer_register_thread()");
	lock(index);
	while (queue->taken_count != queue->put_count) /* what it calls may defer again */
		drain_locked(index, queue);
	while (*place != queue)
		place = &(*place)->next;
	*place = queue->next;
	lull_lock_release(&domains[index].lock);
	self.queues[index] = NULL;
	free(queue);
}

void rcu_domain_defer_barrier(struct rcu_domain *domain)
{
	drain(lull_call_index(domain), NULL);
}

void rcu_domain_defer_barrier_thread(struct rcu_domain *domain)
{
	unsigned int index = lull_call_index(domain);

	if (self.queues[index])
		drain(index, self.queues[index]);
}

/* Return: 0 when somebody is calling now: try later. A deferred call may fork itself. */
int lull_defer_try_before_fork(unsigned int index)
{
	return self.draining[index] || lull_lock_try(&domains[index].lock);
}

void lull_defer_after_fork_parent(unsigned int index)
{
	if (!self.draining[index])
		lull_lock_release(&domains[index].lock);
}

/* The queues of threads that are not in the child are emptied for them. */
void lull_defer_after_fork_child(unsigned int index)
{
	struct defer_domain *domain = &domains[index];
	struct defer_queue *queue;

	if (!self.draining[index])
		pthread_mutex_init(&domain->lock.mutex, NULL);
	for (queue = domain->queues; queue; queue = queue->next)
		if (queue != self.queues[index])
			queue->orphaned = 1;
	if (self.background == index + 1)
		return;
	domain->asleep = DEFER_THREADLESS;
	if (has_entries_locked(index))
		need_background(index);
}
