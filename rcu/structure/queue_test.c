/* SPDX-License-Identifier: MIT */
/* Queues: order, gaps that producers leave, and producers beside consumer and splice. */
#include <lull/rcu/queue.h>
#include "stress_test.h"

#define PRODUCERS 3u
#define POOL 500u /* entries of each producer, which come back to their producer */
#define ENTRIES STRESS_OPERATIONS(1000000u) /* how often each producer adds one */

struct entry {
	struct rcu_queue_node node;
	unsigned int alive;
	unsigned int producer;
	unsigned int seq;
};

static struct rcu_queue inbox = RCU_QUEUE_INIT(inbox), outbox = RCU_QUEUE_INIT(outbox);
static struct rcu_queue back[PRODUCERS]; /* a queue to each producer, which consumes from it */
static int with_mover;
static unsigned int producing; /* producers that are not done */
static unsigned int moving;
static unsigned long found_empty; /* enqueues to the inbox that said that it was empty */
static unsigned long emptied; /* splices that took something from the inbox */

static struct entry *entry_at(struct rcu_queue_node *node)
{
	return rcu_entry(node, struct entry, node);
}

static unsigned long digits(struct rcu_queue *queue)
{
	unsigned long walked = 0, stepped = 0;
	struct rcu_queue_node *node;
	struct entry *entry;

	rcu_queue_for_each_entry(entry, queue, node)
		walked = walked * 10 + entry->seq;
	for (node = rcu_queue_first(queue); node; node = rcu_queue_next(queue, node))
		stepped = stepped * 10 + entry_at(node)->seq;
	return walked == stepped ? walked : 0;
}

static void order(void)
{
	struct rcu_queue here, other;
	struct entry e[10], *entry = NULL;
	int was_filled;

	for (unsigned int i = 0; i < 10; i++)
		e[i].seq = i;
	rcu_queue_init(&here);
	rcu_queue_init(&other);
	check(rcu_queue_empty(&here) && !rcu_queue_dequeue(&here) &&
		      !rcu_queue_try_dequeue(&here) && !rcu_queue_first(&here),
	      "a_new_queue_is_empty");
	was_filled = rcu_queue_enqueue(&here, &e[1].node);
	check(!was_filled && rcu_queue_enqueue(&here, &e[2].node) && !rcu_queue_empty(&here),
	      "enqueue_tells_whether_the_queue_was_empty");
	rcu_queue_enqueue(&here, &e[3].node);
	check(digits(&here) == 123 && rcu_queue_dequeue(&here) == &e[1].node &&
		      rcu_queue_try_dequeue(&here) == &e[2].node && digits(&here) == 3,
	      "the_first_comes_out_first");
	check(rcu_queue_dequeue(&here) == &e[3].node && rcu_queue_empty(&here) &&
		      !rcu_queue_enqueue(&here, &e[4].node) && digits(&here) == 4,
	      "a_queue_that_ran_empty_goes_on");
	check(rcu_queue_splice(&other, &here) == RCU_QUEUE_SPLICED_TO_EMPTY &&
		      rcu_queue_empty(&here) && digits(&other) == 4 &&
		      rcu_queue_splice(&other, &here) == RCU_QUEUE_SPLICED_NOTHING,
	      "a_splice_takes_all");
	rcu_queue_enqueue(&here, &e[5].node);
	rcu_queue_enqueue(&here, &e[6].node);
	check(rcu_queue_try_splice(&other, &here) == RCU_QUEUE_SPLICED && digits(&other) == 456 &&
		      !rcu_queue_enqueue(&here, &e[7].node) &&
		      rcu_queue_enqueue(&other, &e[8].node) && digits(&other) == 4568,
	      "a_splice_appends_in_order");
	rcu_queue_for_each_entry(entry, &other, node) {
		if (entry->seq == 8)
			break;
		entry_poison(entry, sizeof(*entry));
	}
	check(entry->seq == 8, "a_walk_may_reuse_what_it_passes_and_may_be_left");
}

static void gaps(void)
{
	struct rcu_queue here = RCU_QUEUE_INIT(here), other = RCU_QUEUE_INIT(other);
	struct rcu_queue_node a, b = { NULL }, *before;

	before = rcu_xchg_pointer(&here.tail, &b);
	check(!rcu_queue_empty(&here) && rcu_queue_try_dequeue(&here) == RCU_QUEUE_WOULD_BLOCK &&
		      rcu_queue_try_first(&here) == RCU_QUEUE_WOULD_BLOCK &&
		      rcu_queue_try_splice(&other, &here) == RCU_QUEUE_SPLICE_WOULD_BLOCK,
	      "the_try_forms_do_not_wait_for_the_first_entry");
	rcu_assign_pointer(before->next, &b);
	check(rcu_queue_try_dequeue(&here) == &b && rcu_queue_empty(&here),
	      "an_entry_is_taken_when_its_gap_is_closed");

	b.next = NULL;
	rcu_queue_enqueue(&here, &a);
	before = rcu_xchg_pointer(&here.tail, &b);
	check(rcu_queue_try_dequeue(&here) == RCU_QUEUE_WOULD_BLOCK &&
		      rcu_queue_try_dequeue(&here) == RCU_QUEUE_WOULD_BLOCK &&
		      rcu_queue_try_first(&here) == &a &&
		      rcu_queue_try_next(&here, &a) == RCU_QUEUE_WOULD_BLOCK,
	      "an_entry_before_a_gap_stays_where_it_is");
	check(rcu_queue_try_splice(&other, &here) == RCU_QUEUE_SPLICED_TO_EMPTY &&
		      rcu_queue_empty(&here) &&
		      rcu_queue_try_dequeue(&other) == RCU_QUEUE_WOULD_BLOCK,
	      "a_splice_takes_a_gap_along");
	rcu_assign_pointer(before->next, &b);
	check(rcu_queue_dequeue(&other) == &a && rcu_queue_dequeue(&other) == &b &&
		      !rcu_queue_dequeue(&other),
	      "a_gap_is_closed_in_the_queue_it_was_moved_to");
}

static struct rcu_queue waited = RCU_QUEUE_INIT(waited);
static int half_done, waiting;

static void wait_for_link(struct stress_thread *self)
{
	(void)self;
	while (!__atomic_load_n(&half_done, __ATOMIC_ACQUIRE))
		sched_yield();
	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	expect(rcu_queue_dequeue(&waited) != NULL, "dequeue returns without the entry");
}

static void waits(void)
{
	struct rcu_queue_node node = { NULL }, *before;
	struct stress_thread consumer[1];

	stress_start(consumer, 1, wait_for_link);
	before = rcu_xchg_pointer(&waited.tail, &node);
	__atomic_store_n(&half_done, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		sched_yield();
	for (unsigned int i = 0; i < 300; i++)
		sched_yield();
	rcu_assign_pointer(before->next, &node);
	stress_join(consumer, 1);
	check(no_faults(), "dequeue_waits_for_a_producer_between_its_steps");
}

/* Where there is a mover, producer 2 adds to the queue into which it moves the others' entries. */
static void produce(struct stress_thread *self)
{
	struct rcu_queue *to = with_mover && self->index == 2 ? &outbox : &inbox;
	struct entry *own = (struct entry *)entry_new(POOL * sizeof(*own));
	unsigned long empty = 0;
	struct entry *entry;

	for (unsigned int i = 0; i < POOL; i++)
		rcu_queue_enqueue(&back[self->index], &own[i].node);
	for (unsigned int seq = 0; seq < ENTRIES; seq++) {
		struct rcu_queue_node *node;

		while (!(node = rcu_queue_dequeue(&back[self->index])))
			sched_yield();
		entry = entry_at(node);
		entry->alive = ENTRY_ALIVE;
		entry->producer = self->index;
		entry->seq = seq;
		empty += !rcu_queue_enqueue(to, node) && to == &inbox;
	}
	__atomic_fetch_add(&found_empty, empty, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&producing, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < POOL; i++)
		while (!rcu_queue_dequeue(&back[self->index]))
			sched_yield();
	free(own);
}

static void move(struct stress_thread *self)
{
	unsigned long taken = 0;
	int more;

	do {
		enum rcu_queue_spliced spliced;

		more = __atomic_load_n(&producing, __ATOMIC_ACQUIRE) != 0;
		spliced = random_below(&self->random, 2) ? rcu_queue_splice(&outbox, &inbox) :
							   rcu_queue_try_splice(&outbox, &inbox);
		if (spliced == RCU_QUEUE_SPLICED || spliced == RCU_QUEUE_SPLICED_TO_EMPTY)
			taken++;
		else
			sched_yield();
	} while (more);
	emptied = taken;
	__atomic_store_n(&moving, 0, __ATOMIC_RELEASE);
}

static void receive(struct entry *entry, unsigned int *next)
{
	unsigned int producer = entry->producer;

	expect(entry->alive == ENTRY_ALIVE && producer < PRODUCERS, "an entry is not yet written");
	if (producer >= PRODUCERS)
		return;
	expect(entry->seq == next[producer], "an entry is lost, doubled or out of order");
	next[producer] = entry->seq + 1;
	entry_poison(entry, sizeof(*entry));
	rcu_queue_enqueue(&back[producer], &entry->node);
}

static void look_ahead(struct rcu_queue *from, const unsigned int *next, unsigned int limit)
{
	struct rcu_queue_node *node = rcu_queue_first(from);

	for (; node && limit; limit--) {
		const struct entry *entry = entry_at(node);

		expect(entry->alive == ENTRY_ALIVE && entry->seq >= next[entry->producer],
		       "a walk meets an entry that is not in the queue");
		node = rcu_queue_try_next(from, node);
		if (node == RCU_QUEUE_WOULD_BLOCK)
			break;
	}
}

/* The consumer takes entries by one of the calls, at random. Return: not 0 if there were any. */
static int consume_some(struct stress_thread *self, struct rcu_queue *from, unsigned int *next)
{
	unsigned int way = random_below(&self->random, 16);
	struct rcu_queue taken = RCU_QUEUE_INIT(taken);
	struct rcu_queue_node *node;
	struct entry *entry;

	if (way == 0) {
		if (rcu_queue_splice(&taken, from) == RCU_QUEUE_SPLICED_NOTHING)
			return 0;
		rcu_queue_for_each_entry(entry, &taken, node)
			receive(entry, next);
		return 1;
	}
	if (way == 1)
		look_ahead(from, next, 8);
	node = way % 2 ? rcu_queue_dequeue(from) : rcu_queue_try_dequeue(from);
	if (!node)
		return 0;
	if (node != RCU_QUEUE_WOULD_BLOCK)
		receive(entry_at(node), next);
	return 1;
}

static void consume(struct stress_thread *self)
{
	struct rcu_queue *from = with_mover ? &outbox : &inbox;
	unsigned int next[PRODUCERS] = { 0 };
	int more;

	do {
		more = __atomic_load_n(&producing, __ATOMIC_ACQUIRE) ||
		       __atomic_load_n(&moving, __ATOMIC_ACQUIRE);
		if (consume_some(self, from, next))
			more = 1;
		else
			sched_yield();
	} while (more);
	for (unsigned int i = 0; i < PRODUCERS; i++)
		expect(next[i] == ENTRIES, "entries are missing at the end");
}

static void producers_beside_consumer(int mover)
{
	struct stress_thread producers[PRODUCERS], consumer[1], movers[1];

	with_mover = mover;
	moving = (unsigned int)mover;
	producing = PRODUCERS;
	found_empty = 0;
	for (unsigned int i = 0; i < PRODUCERS; i++)
		rcu_queue_init(&back[i]);
	stress_start(consumer, 1, consume);
	if (mover)
		stress_start(movers, 1, move);
	stress_start(producers, PRODUCERS, produce);
	stress_disturb(producers, PRODUCERS);
	stress_join(producers, PRODUCERS);
	if (mover)
		stress_join(movers, 1);
	stress_join(consumer, 1);
	check(no_faults() && rcu_queue_empty(&inbox) && rcu_queue_empty(&outbox),
	      mover ? "entries_are_moved_once_each_and_in_order" :
		      "entries_are_received_once_each_and_in_order");
	if (mover)
		check(found_empty == emptied, "one_producer_learns_each_time_of_an_empty_queue");
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	order();
	gaps();
	waits();
	producers_beside_consumer(0);
	producers_beside_consumer(1);
	return sums();
}
