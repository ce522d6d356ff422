/* SPDX-License-Identifier: MIT */
/*
 * A lock-free queue: any number of threads enqueue and dequeue, and RCU keeps the nodes that they
 * look at.
 *
 * The algorithm is Michael and Scott's (PODC 1996). Their queue always holds one node that is no
 * entry, the dummy, before the first entry; each node that is dequeued becomes the dummy. Here
 * nodes belong to entries and leave with them, so a dummy is needed only when the queue runs empty.
 * A dummy carries nothing but its place in the chain and the link to its successor. So it is no
 * node here but a number, called the mark: an odd word in the place of a pointer. The link to the
 * mark's successor is `first`. No memory is allocated, and nothing but the entries is to be
 * reclaimed.
 *
 *	first ──> a ──> b ──> c, tail		three entries
 *	first = 5 = tail			empty, at mark 5
 *	first ──> d (next = 7), tail = 7	d is dequeued and not yet unlinked; then first = 7
 *
 * Entries and marks, in the order in which they were appended, are one endless chain, along which
 * first and tail only move forward. Each mark is used once, and a node comes back only after a
 * grace period; so no word has one value twice while a thread looks at it (there is no ABA
 * problem). With 32-bit words the marks wrap after the queue has run empty 2^31 times: no thread
 * may stay in one section for so long.
 *
 * States of a node:
 *
 *	private --enqueue--> queued --dequeue--> taken --grace period--> private
 *
 * Every thread that enqueues or dequeues writes and reads each word, by compare-and-swap:
 *	first	the first node that is not taken, or one that is taken and not yet unlinked; a mark
 *		when the queue is empty
 *	next	0 until there is a successor: a node, or a mark if the node was taken as the last
 *	tail	the last node or mark, or an earlier one; a thread that finds an earlier one moves
 *		tail on
 *	marks	how many marks were used, times 2; written by addition
 *
 * Barrier pairs:
 *	[lfqueue.append:A]	entry before the link to it	[lfqueue.tail:A], [lfqueue.first:A],
 *				[lfqueue.next:A], [lfqueue.append:A], [lfqueue.insert:A]
 *	[lfqueue.insert:A]	entry before first leads to it	as [lfqueue.append:A]
 *	[lfqueue.unlink:A]	tail beyond a node before it leaves; its successor before first
 *				leads there			[lfqueue.first:A]
 *	[lfqueue.move:A]	link to a node before tail leads there	[lfqueue.tail:A]
 *
 * Invariants:
 *	I1 a node that first has passed, tail has passed too
 *	I2 a node's next, once it is not 0, does not change until the node is private again
 *	I3 when first is a mark, the queue is empty and tail is that mark; when the queue is empty,
 *	   first is a mark, or the last node that was taken until it is unlinked
 *
 * Progress: lock-free: each retry means that another operation took effect or was helped on.
 * Rejected: dummies from malloc() (a queue that often runs empty would allocate and reclaim one
 * dummy per entry, and could fail), and pairs of a word and a count (C11 has no compare-and-swap of
 * two words).
 * Paper: T 6.4.5 (non-blocking updates with reclamation by RCU).
 */
#ifndef LULL_RCU_LFQUEUE_H
#define LULL_RCU_LFQUEUE_H

#include "lull/rcu/entry.h"
#include "lull/rcu/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_lfqueue_node - An entry's place in a queue.
 * @next: 0, the next entry's node or a mark; it belongs to the library.
 */
struct rcu_lfqueue_node {
	unsigned long next;
};

/**
 * struct rcu_lfqueue - A queue.
 * @first: the word at which dequeuers work.
 * @marks: how many marks were used, times 2.
 * @tail: the word at which enqueuers work, on a cache line of its own.
 */
struct rcu_lfqueue {
	unsigned long first __attribute__((aligned(64)));
	unsigned long marks;
	unsigned long tail __attribute__((aligned(64)));
};

/* clang-format off */
/**
 * RCU_LFQUEUE_INIT - Initializer of an empty queue.
 */
#define RCU_LFQUEUE_INIT { 1, 0, 1 }
/* clang-format on */

/**
 * rcu_lfqueue_init() - Make a queue empty.
 * @queue: no other thread may know it yet.
 *
 * Context: any. Progress: wait-free.
 */
static inline void rcu_lfqueue_init(struct rcu_lfqueue *queue)
{
	queue->first = 1;
	queue->marks = 0;
	queue->tail = 1;
}

static inline int rcu_lfqueue_is_mark(unsigned long word)
{
	return (int)(word & 1);
}

/* The link in the node to which @word leads. */
static inline unsigned long *rcu_lfqueue_link(unsigned long word)
{
	return &((struct rcu_lfqueue_node *)word)->next;
}

static inline unsigned long rcu_lfqueue_next(unsigned long word)
{
	/*
	 * [lfqueue.next:A] acquire. Pairs with [lfqueue.append:A], [lfqueue.insert:A].
	 * Orders: the read of a node's link before the reads of the entry to which it leads.
	 * Else: a dequeuer reads an entry that is not yet written.
	 */
	return lull_mem_load_acquire(rcu_lfqueue_link(word));
}

/* Moves the tail on from @word to its successor, unless another thread has. */
static inline void rcu_lfqueue_move(struct rcu_lfqueue *queue, unsigned long word,
				    unsigned long next)
{
	/*
	 * [lfqueue.move:A] compare-and-swap, full. Pairs with [lfqueue.tail:A].
	 * Orders: the writes of the entry, and the link to it, before the tail that leads
	 * enqueuers to it.
	 * Else: an enqueuer appends to a node whose next is not yet set to 0, and that store then
	 * overwrites the enqueuer's link.
	 */
	lull_mem_cas(&queue->tail, word, next);
}

/* Takes @node, whose successor is @next, from the front, unless another thread has. */
static inline int rcu_lfqueue_unlink(struct rcu_lfqueue *queue, unsigned long node,
				     unsigned long next)
{
	/*
	 * [lfqueue.unlink:A] compare-and-swap, full. Pairs with [lfqueue.first:A].
	 * Orders: the move of the tail beyond the node before the node can no longer be reached
	 * from first; the writes of the successor before first leads to it.
	 * Else: the node is freed and the tail still leads to it; or a dequeuer reads an entry that
	 * is not yet written.
	 */
	return lull_mem_cas(&queue->first, node, next) == node;
}

static inline unsigned long rcu_lfqueue_tail(const struct rcu_lfqueue *queue)
{
	/*
	 * [lfqueue.tail:A] acquire. Pairs with [lfqueue.append:A], [lfqueue.insert:A] and
	 * [lfqueue.move:A].
	 * Orders: the read of the tail before the reads of the node to which it leads.
	 * Else: an enqueuer finds in that node's next what the memory held before, and takes it for
	 * a link.
	 */
	return lull_mem_load_acquire(&queue->tail);
}

static inline unsigned long rcu_lfqueue_first(const struct rcu_lfqueue *queue)
{
	/*
	 * [lfqueue.first:A] acquire. Pairs with [lfqueue.append:A], [lfqueue.insert:A] and
	 * [lfqueue.unlink:A].
	 * Orders: the read of first before the reads of the entry to which it leads.
	 * Else: a dequeuer reads an entry that is not yet written.
	 */
	return lull_mem_load_acquire(&queue->first);
}

/* Appends behind a node that was the tail. Return: not 0 if @node was appended. */
static inline int rcu_lfqueue_append(struct rcu_lfqueue *queue, unsigned long tail,
				     unsigned long node)
{
	/*
	 * [lfqueue.append:A] compare-and-swap, full. Pairs with [lfqueue.tail:A],
	 * [lfqueue.first:A], [lfqueue.next:A], [lfqueue.append:A] and [lfqueue.insert:A].
	 * Orders: the writes of the entry before the link that leads dequeuers to it; a link that
	 * is found in its place before the accesses that go by it.
	 * Else: a dequeuer reads an entry that is not yet written.
	 */
	unsigned long found = lull_mem_cas(rcu_lfqueue_link(tail), 0, node);

	rcu_lfqueue_move(queue, tail, found ? found : node);
	return found == 0;
}

/* Appends behind a mark that was the tail. Return: not 0 if @node was appended. */
static inline int rcu_lfqueue_insert(struct rcu_lfqueue *queue, unsigned long mark,
				     unsigned long node)
{
	/*
	 * [lfqueue.insert:A] compare-and-swap, full. Pairs with [lfqueue.tail:A],
	 * [lfqueue.first:A], [lfqueue.next:A], [lfqueue.append:A] and [lfqueue.insert:A].
	 * Orders: the writes of the entry before the link that leads dequeuers to it; a link that
	 * is found in its place before the accesses that go by it.
	 * Else: a dequeuer reads an entry that is not yet written.
	 */
	unsigned long found = lull_mem_cas(&queue->first, mark, node);

	if (found == mark)
		rcu_lfqueue_move(queue, mark, node);
	else if (rcu_lfqueue_is_mark(found))
		return 0; /* the tail is beyond @mark by now */
	else if (rcu_lfqueue_next(found) == mark)
		rcu_lfqueue_unlink(queue, found, mark);
	else
		rcu_lfqueue_move(queue, mark, found);
	return found == mark;
}

/* Moves the tail beyond @node, which is the first. If @node no longer is, the tail is beyond it. */
static inline void rcu_lfqueue_pass(struct rcu_lfqueue *queue, unsigned long node,
				    unsigned long next)
{
	/* Bound: two moves; the tail goes from a mark to the node, from there to its successor. */
	for (;;) {
		unsigned long tail = rcu_lfqueue_tail(queue);

		if (tail == node)
			rcu_lfqueue_move(queue, node, next);
		else if (rcu_lfqueue_is_mark(tail) && tail != next &&
			 rcu_lfqueue_first(queue) == node)
			rcu_lfqueue_move(queue, tail, node);
		else
			return;
	}
}

/**
 * rcu_lfqueue_enqueue() - Add an entry as the last.
 * @queue: the queue.
 * @node: the entry's node, which is private.
 *
 * Context: read-side critical section of the flavour that reclaims the entries; signal handlers
 * too.
 * Progress: lock-free: two compare-and-swaps if no other thread interferes.
 * Ordering: full. What was written to the entry before is seen by the thread that dequeues it.
 */
static inline void rcu_lfqueue_enqueue(struct rcu_lfqueue *queue, struct rcu_lfqueue_node *node)
{
	unsigned long word = (unsigned long)node, tail;

	lull_mem_store(&node->next, 0);
	do {
		tail = rcu_lfqueue_tail(queue);
	} while (!(rcu_lfqueue_is_mark(tail) ? rcu_lfqueue_insert(queue, tail, word) :
					       rcu_lfqueue_append(queue, tail, word)));
}

/**
 * rcu_lfqueue_dequeue() - Take the first entry.
 * @queue: the queue.
 *
 * Other threads may still look at the node: free the entry, change the node or enqueue it again
 * only after a grace period. The caller may use the rest of the entry at once.
 *
 * Context: read-side critical section of the flavour that reclaims the entries; signal handlers
 * too.
 * Progress: lock-free: one compare-and-swap if no other thread interferes; four atomic operations
 * for the last entry.
 * Ordering: full, if an entry is returned.
 * Return: the entry's node; NULL when the queue was empty.
 * Paper: T 6.4.5.
 */
static inline struct rcu_lfqueue_node *rcu_lfqueue_dequeue(struct rcu_lfqueue *queue)
{
	for (;;) {
		unsigned long node = rcu_lfqueue_first(queue), next, mark;

		if (rcu_lfqueue_is_mark(node))
			return NULL;
		next = rcu_lfqueue_next(node);
		if (next == 0) {
			/* The last one. The thread that puts a mark behind it has taken it. */
			mark = lull_mem_add(&queue->marks, 2) | 1;
			next = lull_mem_cas(rcu_lfqueue_link(node), 0, mark);
			if (next == 0) {
				rcu_lfqueue_pass(queue, node, mark);
				rcu_lfqueue_unlink(queue, node, mark);
				return (struct rcu_lfqueue_node *)node;
			}
		}
		/* A thread that appended behind the successor has seen the tail there. */
		if (rcu_lfqueue_is_mark(next) || rcu_lfqueue_next(next) == 0)
			rcu_lfqueue_pass(queue, node, next);
		if (rcu_lfqueue_unlink(queue, node, next) && !rcu_lfqueue_is_mark(next))
			return (struct rcu_lfqueue_node *)node;
	}
}

/**
 * rcu_lfqueue_empty() - Whether a queue is empty.
 * @queue: the queue.
 *
 * Context: any; while other threads enqueue or dequeue, the answer may be out of date.
 * Progress: wait-free.
 * Return: not 0 when the queue is empty. An entry that is being dequeued may count as present.
 */
static inline int rcu_lfqueue_empty(const struct rcu_lfqueue *queue)
{
	return rcu_lfqueue_is_mark(rcu_lfqueue_first(queue));
}

#ifdef __cplusplus
}
#endif

#endif
