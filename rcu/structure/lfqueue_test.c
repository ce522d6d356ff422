/* SPDX-License-Identifier: MIT */
/* Lock-free queues: order, running empty, and many threads at both ends. */
#include <lull/rcu/lfqueue.h>
#include <lull/rcu/memb.h>
#include "stress_test.h"

#define THREADS 4u
#define OPERATIONS STRESS_OPERATIONS(300000u)

struct entry {
	struct rcu_head head;
	struct rcu_lfqueue_node node;
	unsigned int alive;
	unsigned int producer;
	unsigned int seq;
	int taken;
};

static struct rcu_lfqueue queue = RCU_LFQUEUE_INIT;
/* A thread adds 1 to `burst` entries at a time, at random, then takes about as many. */
static unsigned int burst;
static unsigned long enqueued, dequeued;

static struct entry *entry_at(struct rcu_lfqueue_node *node)
{
	return rcu_entry(node, struct entry, node);
}

static void order(void)
{
	struct rcu_lfqueue here;
	struct rcu_lfqueue_node n[4];
	int same = 1;

	rcu_lfqueue_init(&here);
	check(rcu_lfqueue_empty(&here) && !rcu_lfqueue_dequeue(&here), "a_new_queue_is_empty");
	for (unsigned int i = 0; i < 4; i++)
		rcu_lfqueue_enqueue(&here, &n[i]);
	check(!rcu_lfqueue_empty(&here) && rcu_lfqueue_dequeue(&here) == &n[0] &&
		      rcu_lfqueue_dequeue(&here) == &n[1],
	      "the_first_comes_out_first");
	check(rcu_lfqueue_dequeue(&here) == &n[2] && rcu_lfqueue_dequeue(&here) == &n[3] &&
		      !rcu_lfqueue_dequeue(&here) && rcu_lfqueue_empty(&here),
	      "a_queue_runs_empty");
	for (unsigned int i = 0; i < 1000; i++) {
		rcu_lfqueue_enqueue(&here, &n[i % 2]);
		if (i % 3 == 0) {
			rcu_lfqueue_enqueue(&here, &n[2]);
			same &= rcu_lfqueue_dequeue(&here) == &n[i % 2] &&
				rcu_lfqueue_dequeue(&here) == &n[2];
		} else {
			same &= rcu_lfqueue_dequeue(&here) == &n[i % 2];
		}
		same &= rcu_lfqueue_empty(&here) && !rcu_lfqueue_dequeue(&here);
	}
	check(same && here.marks == 2 * 1001 && here.tail == here.first,
	      "a_queue_takes_a_mark_each_time_it_runs_empty");
}

/* Puts the queue into each state that an operation leaves between two steps; then another comes. */
static void helped(void)
{
	struct rcu_lfqueue here = RCU_LFQUEUE_INIT;
	struct rcu_lfqueue_node a = { 0 }, b, c;

	/* An enqueuer has linked a, and not moved the tail. */
	here.first = (unsigned long)&a;
	rcu_lfqueue_enqueue(&here, &b);
	check(here.first == (unsigned long)&a && here.tail == (unsigned long)&b,
	      "an_enqueuer_moves_the_tail_from_a_mark");
	a.next = 0;
	here.first = (unsigned long)&a;
	here.tail = 1;
	check(rcu_lfqueue_dequeue(&here) == &a && rcu_lfqueue_empty(&here) &&
		      here.tail == here.first,
	      "a_dequeuer_takes_the_tail_along_from_a_mark");

	rcu_lfqueue_init(&here);
	rcu_lfqueue_enqueue(&here, &a);
	b.next = 0;
	a.next = (unsigned long)&b; /* an enqueuer has linked b, and not moved the tail */
	check(rcu_lfqueue_dequeue(&here) == &a && here.tail == (unsigned long)&b,
	      "a_dequeuer_takes_the_tail_along");

	here.marks = 10;
	b.next = 11; /* a dequeuer has taken b, and nothing else */
	check(!rcu_lfqueue_dequeue(&here) && here.first == 11 && here.tail == 11,
	      "a_dequeuer_unlinks_what_was_taken");
	rcu_lfqueue_init(&here);
	rcu_lfqueue_enqueue(&here, &a);
	here.marks = 10;
	a.next = 11;
	rcu_lfqueue_enqueue(&here, &c);
	check(here.first == (unsigned long)&c && here.tail == (unsigned long)&c &&
		      rcu_lfqueue_dequeue(&here) == &c,
	      "an_enqueuer_unlinks_what_was_taken");
}

static void reclaim(struct rcu_head *head)
{
	entry_free(rcu_entry(head, struct entry, head), sizeof(struct entry));
}

static void put(unsigned int producer, unsigned int seq)
{
	struct entry *entry = (struct entry *)entry_new(sizeof(*entry));

	entry->alive = ENTRY_ALIVE;
	entry->taken = 0;
	entry->producer = producer;
	entry->seq = seq;
	rcu_read_lock();
	rcu_lfqueue_enqueue(&queue, &entry->node);
	rcu_read_unlock();
}

/* Return: whether there was an entry. */
static int get(unsigned int *next)
{
	struct rcu_lfqueue_node *node;
	struct entry *entry;

	rcu_read_lock();
	node = rcu_lfqueue_dequeue(&queue);
	rcu_read_unlock();
	if (!node)
		return 0;
	entry = entry_at(node);
	expect(is_alive(&entry->alive) && entry->producer < THREADS,
	       "what was dequeued is not yet written, or was reclaimed before");
	expect(!__atomic_exchange_n(&entry->taken, 1, __ATOMIC_RELAXED),
	       "an entry is dequeued twice");
	expect(entry->seq >= next[entry->producer], "an entry comes out of order");
	next[entry->producer] = entry->seq + 1;
	call_rcu(&entry->head, reclaim);
	return 1;
}

static void put_and_get(struct stress_thread *self)
{
	unsigned int next[THREADS] = { 0 }, in = 0, out = 0, since = 0;

	rcu_register_thread();
	while (in < OPERATIONS) {
		for (unsigned int i = random_below(&self->random, burst) + 1; i; i--)
			put(self->index, in++);
		for (unsigned int i = random_below(&self->random, burst) + 2; i; i--)
			out += (unsigned int)get(next);
		if (in - since > 8192) {
			since = in;
			rcu_barrier(); /* bounds the memory that waits for grace periods */
		}
	}
	while (get(next))
		out++;
	rcu_unregister_thread();
	__atomic_fetch_add(&enqueued, in, __ATOMIC_RELAXED);
	__atomic_fetch_add(&dequeued, out, __ATOMIC_RELAXED);
}

static void both_ends(unsigned int most, const char *name)
{
	struct stress_thread threads[THREADS];

	burst = most;
	enqueued = 0;
	dequeued = 0;
	stress_start(threads, THREADS, put_and_get);
	stress_disturb(threads, THREADS);
	stress_join(threads, THREADS);
	rcu_barrier();
	check(no_faults() && enqueued == dequeued && rcu_lfqueue_empty(&queue), name);
}

static void put_only(struct stress_thread *self)
{
	rcu_register_thread();
	for (unsigned int i = 0; i < OPERATIONS / 4; i++)
		put(self->index, i);
	rcu_unregister_thread();
}

static void exactly_in_order(void)
{
	struct stress_thread threads[THREADS];
	unsigned int next[THREADS] = { 0 }, before, out = 0;

	stress_start(threads, THREADS, put_only);
	rcu_register_thread();
	while (out < THREADS * (OPERATIONS / 4)) {
		if (get(next))
			out++;
		else
			sched_yield();
		before = 0;
		for (unsigned int i = 0; i < THREADS; i++)
			before += next[i];
		expect(before == out, "one dequeuer misses an entry between two of a producer");
	}
	stress_join(threads, THREADS);
	rcu_unregister_thread();
	rcu_barrier();
	check(no_faults() && rcu_lfqueue_empty(&queue), "one_dequeuer_gets_each_producers_order");
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	order();
	helped();
	both_ends(1, "a_queue_that_often_runs_empty_loses_nothing");
	both_ends(100, "a_queue_that_is_filled_in_bursts_loses_nothing");
	exactly_in_order();
	return sums();
}
