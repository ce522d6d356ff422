/* SPDX-License-Identifier: MIT */
/*
 * A queue with wait-free enqueue by any thread, and one consumer.
 *
 * This is the queue of call_rcu() (T 6.4.5, figure 6.11), for programs' own use. A producer puts
 * its entry in the place of the tail, by an exchange, and then links the entry that was the tail
 * before to its own. Between these two steps the chain has a gap. Producers never wait for a gap to
 * close; the consumer, when it comes to one, waits (rcu_queue_dequeue) or returns that it would
 * have to (rcu_queue_try_dequeue).
 *
 *	head ──> a ──> b    c ──> d <── tail	the producer of c is between its two steps
 *
 * The consumer is one thread, or threads that exclude each other by a lock of their own. No
 * read-side critical section is needed: as soon as an entry is dequeued, the consumer may free it
 * or enqueue it again.
 *
 * States of a node:
 *
 *	private --enqueue: exchange--> queued, behind a gap --enqueue: link--> queued
 *	queued --dequeue--> private
 *	queued --splice--> queued in the other queue
 *
 * Which threads write and read each word:
 *	tail		written by producers, by exchange; by the consumer when it takes the last
 *			entry, or all
 *	head.next	written by the producer that finds the queue empty; else by the consumer
 *	next		set to NULL by the entry's producer, then once by the producer of the next
 *			entry; read by the consumer
 *
 * Barrier pairs:
 *	[queue.enqueue:A]	entry, and NULL in its next, before tail	[queue.enqueue:A],
 *					[queue.splice:A], [queue.close:A]
 *	[queue.link:A]		entry before the link to it		[queue.follow:A]
 *	[queue.close:A]		head.next = NULL before tail = head	[queue.enqueue:A]
 *	[queue.splice:A]	head.next = NULL before tail = head	[queue.enqueue:A]
 *
 * Progress:
 *	rcu_queue_enqueue, rcu_queue_empty				wait-free
 *	rcu_queue_try_dequeue, _try_splice, _try_first, _try_next	wait-free
 *	rcu_queue_dequeue, _splice, _first, _next, _for_each_entry	wait for one producer's link
 * Producers stay wait-free whatever the consumer does.
 * Rejected: a lock for consumers as part of the queue (a program that has several consumers mostly
 * has a lock that serves), and a list that the consumer reverses (that is lull/rcu/stack.h).
 */
#ifndef LULL_RCU_QUEUE_H
#define LULL_RCU_QUEUE_H

#include "lull/rcu/entry.h"
#include "lull/rcu/pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_queue_node - An entry's place in a queue.
 * @next: the next entry's node, or NULL; it belongs to the library.
 */
struct rcu_queue_node {
	struct rcu_queue_node *next;
};

/**
 * struct rcu_queue - A queue.
 * @head: the node before the first entry, on the consumer's cache line.
 * @tail: the last entry's node, or @head, on the producers' cache line.
 */
struct rcu_queue {
	struct rcu_queue_node head __attribute__((aligned(64)));
	struct rcu_queue_node *tail __attribute__((aligned(64)));
};

/* clang-format off */
/**
 * RCU_QUEUE_INIT() - Initializer of an empty queue.
 * @name: the variable that is initialized.
 */
#define RCU_QUEUE_INIT(name) { { NULL }, &(name).head }
/* clang-format on */

/**
 * RCU_QUEUE_WOULD_BLOCK - The result, in the place of a node, where a call would have to wait.
 *
 * It says that a producer has begun to add the next entry and has not yet linked it.
 */
#define RCU_QUEUE_WOULD_BLOCK ((struct rcu_queue_node *)-1L)

/**
 * enum rcu_queue_spliced - What a splice found and did.
 * @RCU_QUEUE_SPLICE_WOULD_BLOCK: it did nothing, because the first entry is not yet linked.
 * @RCU_QUEUE_SPLICED_TO_EMPTY: it moved all entries; the other queue was empty.
 * @RCU_QUEUE_SPLICED: it moved all entries behind those of the other queue.
 * @RCU_QUEUE_SPLICED_NOTHING: it found no entry.
 */
enum rcu_queue_spliced {
	RCU_QUEUE_SPLICE_WOULD_BLOCK = -1,
	RCU_QUEUE_SPLICED_TO_EMPTY,
	RCU_QUEUE_SPLICED,
	RCU_QUEUE_SPLICED_NOTHING,
};

/* Lets time pass for a producer to make its second step: spins at first, sleeps in later rounds. */
void rcu_queue_pause(unsigned int round);

/**
 * rcu_queue_init() - Make a queue empty.
 * @queue: no other thread may know it yet.
 *
 * Context: any. Progress: wait-free.
 */
static inline void rcu_queue_init(struct rcu_queue *queue)
{
	queue->head.next = NULL;
	queue->tail = &queue->head;
}

/*
 * The four functions that follow take head and tail apart from each other, for queues that have
 * them in two places.
 */

/* Appends a chain that ends in @last. Return: the last entry before that chain, or the head. */
static inline struct rcu_queue_node *rcu_queue_append(struct rcu_queue_node **tail,
						      struct rcu_queue_node *first,
						      struct rcu_queue_node *last)
{
	/*
	 * [queue.enqueue:A] exchange, sequentially consistent.
	 * Pairs with [queue.enqueue:A], [queue.splice:A] and [queue.close:A].
	 * Orders: the store last->next = NULL before the tail leads the next producer to last; and
	 * the same store of the entry that was the tail before this producer's link in that entry.
	 * Else: the NULL overwrites a link, and all entries behind it are lost.
	 */
	struct rcu_queue_node *before = rcu_xchg_pointer(tail, last);

	/*
	 * [queue.link:A] release. Pairs with [queue.follow:A].
	 * Orders: the writes of the entry before the link that leads the consumer to it.
	 * Else: the consumer reads an entry that is not yet written.
	 */
	rcu_assign_pointer(before->next, first);
	return before;
}

/* The node behind @node. Return: NULL at the chain's end; RCU_QUEUE_WOULD_BLOCK at a gap. */
static inline struct rcu_queue_node *rcu_queue_follow(struct rcu_queue_node *const *tail,
						      const struct rcu_queue_node *node, int wait)
{
	for (unsigned int round = 0;; round++) {
		/*
		 * [queue.follow:A] consume. Pairs with [queue.link:A].
		 * Orders: the read of the link before the reads of the entry to which it leads.
		 * Else: the consumer reads an entry that is not yet written.
		 */
		struct rcu_queue_node *next = rcu_dereference(node->next);

		if (__builtin_expect(next != NULL, 1))
			return next;
		if (rcu_dereference(*tail) == node)
			return NULL;
		if (!wait)
			return RCU_QUEUE_WOULD_BLOCK;
		/* Bound: the producer that exchanged the tail has one store to make. */
		rcu_queue_pause(round);
	}
}

/* Takes the first entry, and adds 1 to @emptied if it was the last. */
static inline struct rcu_queue_node *
rcu_queue_take(struct rcu_queue_node *head, struct rcu_queue_node **tail, int wait, int *emptied)
{
	struct rcu_queue_node *node = rcu_queue_follow(tail, head, wait), *next;

	if (node == NULL || node == RCU_QUEUE_WOULD_BLOCK)
		return node;
	next = rcu_dereference(node->next);
	if (next == NULL) {
		rcu_assign_pointer(head->next, NULL);
		/*
		 * [queue.close:A] compare-and-swap, sequentially consistent.
		 * Pairs with [queue.enqueue:A].
		 * Orders: the store head.next = NULL before the tail leads a producer to the head.
		 * Else: the NULL overwrites that producer's link, and its entry is lost.
		 */
		if (rcu_cmpxchg_pointer(tail, node, head) == node) {
			*emptied += 1;
			return node;
		}
		next = rcu_queue_follow(tail, node, wait);
	}
	if (next == RCU_QUEUE_WOULD_BLOCK) {
		rcu_assign_pointer(head->next, node);
		return next;
	}
	rcu_assign_pointer(head->next, next);
	return node;
}

/* Several may move from one queue at once: the exchange of its first entry goes to one of them. */
static inline enum rcu_queue_spliced rcu_queue_move(struct rcu_queue_node *to,
						    struct rcu_queue_node **to_tail,
						    struct rcu_queue_node *from,
						    struct rcu_queue_node **from_tail, int wait)
{
	struct rcu_queue_node *first, *last;

	do { /* bound: another move has taken all that was there */
		first = rcu_queue_follow(from_tail, from, wait);
		if (first == NULL)
			return RCU_QUEUE_SPLICED_NOTHING;
		if (first == RCU_QUEUE_WOULD_BLOCK)
			return RCU_QUEUE_SPLICE_WOULD_BLOCK;
		first = rcu_xchg_pointer(&from->next, (struct rcu_queue_node *)NULL);
	} while (first == NULL);
	/*
	 * [queue.splice:A] exchange, sequentially consistent. Pairs with [queue.enqueue:A].
	 * Orders: the store head.next = NULL before the tail leads a producer to the head; and the
	 * store of NULL in the last entry before the link that a producer of @to writes there.
	 * Else: a NULL overwrites a link, and all entries behind it are lost.
	 */
	last = rcu_xchg_pointer(from_tail, from);
	if (rcu_queue_append(to_tail, first, last) == to)
		return RCU_QUEUE_SPLICED_TO_EMPTY;
	return RCU_QUEUE_SPLICED;
}

/**
 * rcu_queue_enqueue() - Add an entry as the last.
 * @queue: the queue.
 * @node: the entry's node, which is private.
 *
 * Context: any thread, signal handlers too. A handler that dequeues must not wait for the very
 * thread that it interrupts: consumers in handlers use the try forms.
 * Progress: wait-free: one exchange and two stores.
 * Ordering: as rcu_xchg_pointer(). What was written to the entry before is seen by the consumer
 * that dequeues it.
 * Return: 0 when the queue was empty before, so that this producer may wake the consumer; not 0
 * otherwise.
 * Paper: T 6.4.5, figure 6.11.
 */
static inline int rcu_queue_enqueue(struct rcu_queue *queue, struct rcu_queue_node *node)
{
	rcu_assign_pointer(node->next, NULL);
	return rcu_queue_append(&queue->tail, node, node) != &queue->head;
}

/**
 * rcu_queue_dequeue() - Take the first entry.
 * @queue: the queue.
 *
 * Context: the consumer; not in signal handlers.
 * Progress: waits when the producer of this entry, or of the next, is between its two steps.
 * Return: the entry's node; NULL when the queue was empty.
 * Paper: T 6.4.5.
 */
static inline struct rcu_queue_node *rcu_queue_dequeue(struct rcu_queue *queue)
{
	int emptied = 0;

	return rcu_queue_take(&queue->head, &queue->tail, 1, &emptied);
}

/**
 * rcu_queue_try_dequeue() - Take the first entry, if that needs no waiting.
 * @queue: the queue.
 *
 * Context: the consumer. Progress: wait-free.
 * Return: the entry's node; NULL when the queue was empty; RCU_QUEUE_WOULD_BLOCK when the producer
 * of this entry, or of the next, is between its two steps.
 * Paper: T 6.4.5.
 */
static inline struct rcu_queue_node *rcu_queue_try_dequeue(struct rcu_queue *queue)
{
	int emptied = 0;

	return rcu_queue_take(&queue->head, &queue->tail, 0, &emptied);
}

/**
 * rcu_queue_splice() - Move all entries behind those of another queue.
 * @to: the queue that gets them; others may enqueue to it meanwhile.
 * @from: the queue that is emptied; others may enqueue to it meanwhile.
 *
 * With a private queue @to this takes all entries of @from, by two exchanges, for the caller to
 * walk.
 *
 * Context: the consumer of @from; not in signal handlers. Two threads must not splice two queues
 * into each other at once.
 * Progress: waits when the producer of the first entry is between its two steps.
 * Ordering: as rcu_xchg_pointer(), if entries were moved.
 * Return: what was done, which is never RCU_QUEUE_SPLICE_WOULD_BLOCK.
 * Paper: T 6.4.5, figure 6.11, line 15.
 */
static inline enum rcu_queue_spliced rcu_queue_splice(struct rcu_queue *to, struct rcu_queue *from)
{
	return rcu_queue_move(&to->head, &to->tail, &from->head, &from->tail, 1);
}

/**
 * rcu_queue_try_splice() - Move all entries behind those of another queue, without waiting.
 * @to: as for rcu_queue_splice().
 * @from: as for rcu_queue_splice().
 *
 * Context: the consumer of @from. Progress: wait-free.
 * Ordering: as rcu_xchg_pointer(), if entries were moved.
 * Return: what was done.
 */
static inline enum rcu_queue_spliced rcu_queue_try_splice(struct rcu_queue *to,
							  struct rcu_queue *from)
{
	return rcu_queue_move(&to->head, &to->tail, &from->head, &from->tail, 0);
}

/**
 * rcu_queue_empty() - Whether a queue is empty.
 * @queue: the queue.
 *
 * Context: any; while other threads enqueue or dequeue, the answer may be out of date.
 * Progress: wait-free.
 * Return: not 0 when the queue is empty. An entry whose producer is between its two steps counts as
 * present.
 */
static inline int rcu_queue_empty(const struct rcu_queue *queue)
{
	return rcu_queue_follow(&queue->tail, &queue->head, 0) == NULL;
}

/**
 * rcu_queue_first() - The first entry, which stays in the queue.
 * @queue: the queue.
 *
 * Context: the consumer; not in signal handlers.
 * Progress: waits when the producer of this entry is between its two steps.
 * Return: the entry's node; NULL when the queue is empty.
 */
static inline struct rcu_queue_node *rcu_queue_first(const struct rcu_queue *queue)
{
	return rcu_queue_follow(&queue->tail, &queue->head, 1);
}

/**
 * rcu_queue_next() - The entry behind another.
 * @queue: the queue.
 * @node: node of an entry in the queue.
 *
 * Context: the consumer; not in signal handlers.
 * Progress: waits when the producer of the next entry is between its two steps.
 * Return: the entry's node; NULL when @node is the last.
 */
static inline struct rcu_queue_node *rcu_queue_next(const struct rcu_queue *queue,
						    const struct rcu_queue_node *node)
{
	return rcu_queue_follow(&queue->tail, node, 1);
}

/**
 * rcu_queue_try_first() - The first entry, without waiting.
 * @queue: the queue.
 *
 * Context: the consumer. Progress: wait-free.
 * Return: as rcu_queue_first(), or RCU_QUEUE_WOULD_BLOCK.
 */
static inline struct rcu_queue_node *rcu_queue_try_first(const struct rcu_queue *queue)
{
	return rcu_queue_follow(&queue->tail, &queue->head, 0);
}

/**
 * rcu_queue_try_next() - The entry behind another, without waiting.
 * @queue: the queue.
 * @node: node of an entry in the queue.
 *
 * Context: the consumer. Progress: wait-free.
 * Return: as rcu_queue_next(), or RCU_QUEUE_WOULD_BLOCK.
 */
static inline struct rcu_queue_node *rcu_queue_try_next(const struct rcu_queue *queue,
							const struct rcu_queue_node *node)
{
	return rcu_queue_follow(&queue->tail, node, 0);
}

/**
 * rcu_queue_for_each_entry() - Walk a queue.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @queue: the queue; evaluated once.
 * @member: name of the node in the entry.
 *
 * The next entry is read before the body runs. So in a private queue that rcu_queue_splice() has
 * filled, the body may free each entry; rcu_queue_init() makes that queue usable again.
 *
 * Context: the consumer; not in signal handlers.
 * Progress: each step as rcu_queue_next().
 */
#define rcu_queue_for_each_entry(entry, queue, member)                                          \
	for (struct rcu_queue *rcu_in_ = (queue), *rcu_once_ = rcu_in_; rcu_once_;              \
	     rcu_once_ = NULL)                                                                  \
		for (struct rcu_queue_node *rcu_at_ = rcu_queue_first(rcu_in_), *rcu_next_;     \
		     rcu_at_ && (rcu_next_ = rcu_queue_next(rcu_in_, rcu_at_),                  \
				(entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1); \
		     rcu_at_ = rcu_next_)

#ifdef __cplusplus
}
#endif

#endif
