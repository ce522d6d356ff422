/* SPDX-License-Identifier: MIT */
/*
 * The queues of deferred calls: the data, and the calls that empty them.
 *
 * defer.c has the caller's side and the table of barriers. Paper: T 6.4.5.
 */
#ifndef LULL_CALL_DEFERRED_H
#define LULL_CALL_DEFERRED_H

#include "domain.h"

#ifndef DEFER_ENTRIES
#define DEFER_ENTRIES 4096UL
#endif

#define DEFER_CLOSED 1UL
#define DEFER_ONE 2UL

struct defer_entry {
	void (*func)(void *argument);
	void *argument;
};

/**
 * struct defer_queue - The deferred calls of a thread, the queue's owner.
 * Counts of entries are in units of DEFER_ONE.
 * @put_count: how many entries were ever put. The owner writes it.
 * @room_until: the put_count at which the queue is full, as far as the owner knows.
 * @taken_count: how many entries were ever taken; and DEFER_CLOSED, while a thread forks. Written
 *	by the thread that holds the domain's draining; the bit by a fork, under the lock.
 * @until: the taken_count up to which a grace period covers the entries.
 * @orphaned: not 0: the owner is not in this child of a fork, so the queue is freed once it is
 *	empty.
 * @next: the next queue in the domain's list.
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

/* The states of the background thread. DEFER_THREADLESS: it is not started yet. */
enum defer_state { DEFER_AWAKE, DEFER_ASLEEP, DEFER_THREADLESS };

/**
 * struct defer_domain - The deferred calls of a domain.
 * @draining: held by the thread that empties queues, for a grace period and its calls.
 * @lock: held to change the list, and while a thread forks; after @draining, and only for a moment.
 * @asleep: futex: the state of the background thread, enum defer_state.
 * @queues: the list of queues, one for each registered thread, and those that are orphaned.
 */
struct defer_domain {
	struct lull_lock draining;
	struct lull_lock lock;
	uint32_t asleep;
	struct defer_queue *queues;
};

/* A thread's part in deferred calls. */
struct defer_thread {
	struct defer_queue *queues[RCU_DOMAINS]; /* its own, by domain; NULL: not registered */
	unsigned char draining[RCU_DOMAINS]; /* not 0 while it holds that lock and makes calls */
	unsigned int background; /* 1 more than the index of the domain whose thread it is; or 0 */
};

#pragma GCC visibility push(hidden)

extern struct defer_domain lull_defer_domains[RCU_DOMAINS];
extern __thread struct defer_thread lull_defer_thread;

void lull_defer_misuse(unsigned int index, const char *what);
/* Takes a domain's draining, which another thread may hold for a grace period and its calls. */
void lull_defer_begin(unsigned int index);
void lull_defer_end(unsigned int index);
/* Empties the queue @only, or all queues when it is NULL. The second call needs the lock held. */
void lull_defer_drain(unsigned int index, struct defer_queue *only);
void lull_defer_drain_locked(unsigned int index, struct defer_queue *only);
/* Starts the background thread unless it runs. Return: 0 or a negative errno. */
int lull_defer_need(unsigned int index);

/* Around fork(). */
void lull_defer_before_fork(unsigned int index);
void lull_defer_after_fork_parent(unsigned int index);
void lull_defer_after_fork_child(unsigned int index);

#pragma GCC visibility pop

static inline struct defer_domain *defer_domain(unsigned int index)
{
	return LULL_SHARED(&lull_defer_domains[index]);
}

static inline struct defer_thread *defer_self(void)
{
	return LULL_OWN(&lull_defer_thread);
}

/* The entry that the owner puts, or that is taken, when the count is @count. */
static inline struct defer_entry *lull_defer_entry(struct defer_queue *queue, unsigned long count)
{
	return &queue->entries[count / DEFER_ONE % DEFER_ENTRIES];
}

static inline unsigned long lull_defer_taken(const struct defer_queue *queue)
{
	return lull_mem_load(&queue->taken_count) & ~DEFER_CLOSED;
}

static inline int lull_defer_is_empty(const struct defer_queue *queue)
{
	return lull_mem_load(&queue->put_count) == lull_defer_taken(queue);
}

#endif
