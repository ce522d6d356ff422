/* SPDX-License-Identifier: MIT */
/*
 * A lane: callbacks on their way from callers to a worker. Many threads put, one takes.
 *
 * A caller exchanges the tail and gets the address of the link that is to lead to its callback.
 * Then it writes that link. Between these two steps the chain has a gap; the worker, which takes
 * the whole chain at once, waits until the link is written. call.c has the table of barriers.
 * Paper: T 6.4.5 (figure 6.11).
 */
#ifndef LULL_CALL_LANE_H
#define LULL_CALL_LANE_H

#include <stddef.h>
#include "lull/rcu/call.h"
#include "lull/rcu/memory.h"

/**
 * struct call_lane - Callbacks that were queued and not yet taken.
 * @tail: the address of the link that is to lead to the next callback. 0 stands for @first.
 * @first: the first callback. NULL: there is none, or its caller has not written this link yet.
 */
struct call_lane {
	unsigned long tail;
	struct rcu_head *first;
} __attribute__((aligned(64)));

/**
 * struct call_chain - Callbacks that were taken from a lane. Only one thread touches them, but for
 *	those of a worker's batch, which a fork may take.
 * @first: the first callback; NULL when there are none.
 * @until: the address of the last callback's link.
 */
struct call_chain {
	struct rcu_head *first;
	struct rcu_head **until;
};

static inline int lull_lane_empty(const struct call_lane *lane)
{
	/* [call.sleep:A], [call.retire:A], [call.quiet:A]: the worker stores a word before this. */
	return lull_mem_load(&lane->tail) == 0;
}

/* Prepares a callback to be queued. */
static inline void lull_head_set(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->func = func;
	lull_mem_store_pointer(&head->next, NULL);
}

/* Queues a chain; its last link must be NULL, and its inner ones may still be on their way. */
static inline void lull_lane_put(struct call_lane *lane, struct rcu_head *first,
				 struct rcu_head **until)
{
	/*
	 * [call.put:A] exchange, full. Pairs with [call.take:B], [call.sleep:A], [call.retire:A],
	 * [call.quiet:A].
	 * Orders: the writes of the callback, and all that its caller did before, before the tail
	 * and the link that lead the worker to it; the new tail before the caller's look at the
	 * worker's state.
	 * Else: the worker calls a function that is not written yet, or reclaims an object that is
	 * not removed yet; or the worker sleeps or retires without having seen the callback, while
	 * the caller finds it awake.
	 */
	unsigned long tail = lull_mem_exchange(&lane->tail, (unsigned long)until);
	struct rcu_head **link = tail ? (struct rcu_head **)tail : &lane->first;

	lull_mem_store_pointer(link, first);
}

/* Waits until a link is written. Bound: the link's caller has one instruction left to run. */
struct rcu_head *lull_lane_wait(struct rcu_head **link);

/* Relaxed: a taker follows links after it has exchanged the tail that leads behind them. */
static inline struct rcu_head *lull_lane_follow(struct rcu_head **link)
{
	struct rcu_head *head = lull_mem_load_pointer(link);

	return __builtin_expect(head != NULL, 1) ? head : lull_lane_wait(link);
}

/* Takes all callbacks of a lane. Return: not 0 if there were any. */
static inline int lull_lane_take(struct call_lane *lane, struct call_chain *chain)
{
	if (lull_lane_empty(lane))
		return 0;
	chain->first = lull_lane_follow(&lane->first);
	lull_mem_store_pointer(&lane->first, NULL);
	/*
	 * [call.take:B] exchange, full. Pairs with [call.put:A].
	 * Orders: the store first = NULL before the tail tells the next caller to write that link;
	 * the read of the tail before the reads of the callbacks up to there.
	 * Else: the NULL overwrites the next caller's link, and its callback is never called; or
	 * the worker calls a function that is not written yet.
	 */
	chain->until = (struct rcu_head **)lull_mem_exchange(&lane->tail, 0);
	return 1;
}

/* The callback after @head, or NULL. */
static inline struct rcu_head *lull_chain_next(const struct call_chain *chain,
					       struct rcu_head *head)
{
	return &head->next == chain->until ? NULL : lull_lane_follow(&head->next);
}

/* Moves all of @from to the end of @to. */
static inline void lull_chain_append(struct call_chain *to, struct call_chain *from)
{
	if (!from->first)
		return;
	if (to->first)
		lull_mem_store_pointer(to->until, from->first);
	else
		to->first = from->first;
	to->until = from->until;
	from->first = NULL;
}

#endif
