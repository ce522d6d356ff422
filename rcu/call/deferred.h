/* SPDX-License-Identifier: MIT */
/*
 * The queues of deferred calls: what callers put into, and what empties them.
 *
 * defer.c tells how the two meet. Paper: T 6.4.5.
 */
#ifndef LULL_CALL_DEFERRED_H
#define LULL_CALL_DEFERRED_H

#include "domain.h"

#ifndef DEFER_ENTRIES
#define DEFER_ENTRIES 4096UL
#endif

struct defer_entry {
	void (*func)(void *argument);
	void *argument;
};

/**
 * struct defer_queue - The deferred calls of a thread.
 * @put_count: entries ever put. Written by the thread.
 * @room_until: as many entries fit, as the thread last saw.
 * @taken_count: entries ever taken. Written by the thread that holds the lock.
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
 * @queues: those of registered threads, one each.
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

#pragma GCC visibility push(hidden)

extern struct defer_domain lull_defer_domains[RCU_DOMAINS];
extern __thread struct defer_thread lull_defer_thread;

void lull_defer_misuse(unsigned int index, const char *what);
/* Takes the lock, for which one may wait as long as for a grace period. */
void lull_defer_lock(unsigned int index);
/* Empties a queue, or all of them when it is NULL. */
void lull_defer_drain(unsigned int index, struct defer_queue *only);
void lull_defer_drain_locked(unsigned int index, struct defer_queue *only);
/* Starts the background thread unless it runs. Return: 0 or a negative errno. */
int lull_defer_need(unsigned int index);

/* Around fork(). Return: 0 when another thread is calling now: try later. */
int lull_defer_try_before_fork(unsigned int index);
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

static inline int lull_defer_is_empty(const struct defer_queue *queue)
{
	return lull_mem_load(&queue->put_count) == lull_mem_load(&queue->taken_count);
}

#endif
