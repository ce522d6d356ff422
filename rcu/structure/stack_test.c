/* SPDX-License-Identifier: MIT */
/* Stacks: order, and both disciplines of popping while others push and pop. */
#include <lull/rcu/memb.h>
#include <lull/rcu/stack.h>
#include "stress_test.h"

#define PUSHERS 3u
#define OWN 16u /* entries of each pusher */
#define ENTRIES STRESS_OPERATIONS(400000u)

struct entry {
	struct rcu_head head;
	struct rcu_stack_node node;
	unsigned int alive;
	unsigned int pusher;
	unsigned int seq;
	int taken;
};

static struct rcu_stack stack = RCU_STACK_INIT;
/* One taker: entries go back to their pusher through a stack of its own. */
static struct rcu_stack back[PUSHERS];
static unsigned int pushing;
/* Several takers: sums and counts of the numbers that were pushed and popped. */
static unsigned long pushed_sum, popped_sum, pushed_count, popped_count;

static struct entry *entry_at(struct rcu_stack_node *node)
{
	return rcu_entry(node, struct entry, node);
}

static void order(void)
{
	struct rcu_stack here;
	struct rcu_stack_node *all;
	struct entry e[4], *entry = NULL;
	unsigned long digits = 0;
	int was_filled;

	for (unsigned int i = 0; i < 4; i++)
		e[i].seq = i;
	rcu_stack_init(&here);
	check(rcu_stack_empty(&here) && !rcu_stack_pop(&here) && !rcu_stack_pop_all(&here),
	      "a_new_stack_is_empty");
	was_filled = rcu_stack_push(&here, &e[1].node);
	check(!was_filled && rcu_stack_push(&here, &e[2].node) && !rcu_stack_empty(&here),
	      "push_tells_whether_the_stack_was_empty");
	check(rcu_stack_pop(&here) == &e[2].node && rcu_stack_pop(&here) == &e[1].node &&
		      !rcu_stack_pop(&here) && rcu_stack_empty(&here),
	      "the_last_comes_out_first");
	for (unsigned int i = 1; i < 4; i++)
		rcu_stack_push(&here, &e[i].node);
	all = rcu_stack_pop_all(&here);
	check(rcu_stack_empty(&here) && rcu_stack_next(all) == &e[2].node, "pop_all_takes_all");
	rcu_stack_for_each_entry(entry, all, node) {
		digits = digits * 10 + entry->seq;
		if (entry->seq == 1)
			break;
		entry_poison(entry, sizeof(*entry));
	}
	check(digits == 321 && entry->seq == 1, "a_walk_may_reuse_what_it_passes_and_may_be_left");
}

static void push_own(struct stress_thread *self)
{
	struct entry *own = (struct entry *)entry_new(OWN * sizeof(*own));
	struct rcu_stack_node *idle = NULL;

	for (unsigned int i = 0; i < OWN; i++)
		rcu_stack_push(&back[self->index], &own[i].node);
	for (unsigned int seq = 1; seq <= ENTRIES; seq++) {
		struct entry *entry;

		while (!idle && !(idle = rcu_stack_pop_all(&back[self->index])))
			sched_yield();
		entry = entry_at(idle);
		idle = rcu_stack_next(idle);
		entry->alive = ENTRY_ALIVE;
		entry->pusher = self->index;
		entry->seq = seq;
		rcu_stack_push(&stack, &entry->node);
	}
	__atomic_fetch_sub(&pushing, 1, __ATOMIC_RELEASE);
	for (unsigned int left = OWN; left;) {
		if (!idle && !(idle = rcu_stack_pop_all(&back[self->index])))
			sched_yield();
		for (; idle; left--)
			idle = rcu_stack_next(idle);
	}
	free(own);
}

static void give_back(struct entry *entry, unsigned int *count)
{
	unsigned int pusher = entry->pusher;

	expect(entry->alive == ENTRY_ALIVE && pusher < PUSHERS, "an entry is not yet written");
	if (pusher >= PUSHERS)
		return;
	count[pusher]++;
	entry_poison(entry, sizeof(*entry));
	rcu_stack_push(&back[pusher], &entry->node);
}

/* The entries of one pusher must come out in the opposite order. */
static void take_all(unsigned int *count)
{
	unsigned int last[PUSHERS] = { ~0u, ~0u, ~0u };
	struct entry *entry;

	rcu_stack_for_each_entry(entry, rcu_stack_pop_all(&stack), node) {
		if (entry->pusher < PUSHERS) {
			expect(entry->seq < last[entry->pusher], "a chain is out of order");
			last[entry->pusher] = entry->seq;
		}
		give_back(entry, count);
	}
}

static void take_alone(struct stress_thread *self)
{
	unsigned int count[PUSHERS] = { 0 };
	int more;

	do {
		more = __atomic_load_n(&pushing, __ATOMIC_ACQUIRE) != 0;
		if (random_below(&self->random, 64) == 0) {
			take_all(count);
		} else {
			struct rcu_stack_node *node = rcu_stack_pop(&stack);

			if (node)
				give_back(entry_at(node), count);
			else
				sched_yield();
		}
	} while (more || !rcu_stack_empty(&stack));
	for (unsigned int i = 0; i < PUSHERS; i++)
		expect(count[i] == ENTRIES, "entries are lost or doubled");
}

static void one_taker(void)
{
	struct stress_thread pushers[PUSHERS], taker[1];

	pushing = PUSHERS;
	stress_start(taker, 1, take_alone);
	stress_start(pushers, PUSHERS, push_own);
	stress_disturb(pushers, PUSHERS);
	stress_join(pushers, PUSHERS);
	stress_join(taker, 1);
	check(no_faults(), "one_taker_gets_each_entry_once_and_may_reuse_it_at_once");
}

static unsigned int counts[PUSHERS][PUSHERS];

static void take_chains(struct stress_thread *self)
{
	int more;

	do {
		more = __atomic_load_n(&pushing, __ATOMIC_ACQUIRE) != 0;
		if (rcu_stack_empty(&stack))
			sched_yield();
		take_all(counts[self->index]);
	} while (more || !rcu_stack_empty(&stack));
}

static void takers_of_chains(void)
{
	struct stress_thread pushers[PUSHERS], takers[PUSHERS];

	pushing = PUSHERS;
	stress_start(takers, PUSHERS, take_chains);
	stress_start(pushers, PUSHERS, push_own);
	stress_join(pushers, PUSHERS);
	stress_join(takers, PUSHERS);
	for (unsigned int i = 0; i < PUSHERS; i++)
		expect(counts[0][i] + counts[1][i] + counts[2][i] == ENTRIES,
		       "entries are lost or doubled");
	check(no_faults(), "several_threads_may_pop_all_and_reuse_at_once");
}

static void reclaim(struct rcu_head *head)
{
	entry_free(rcu_entry(head, struct entry, head), sizeof(struct entry));
}

static void pop_one(void)
{
	struct rcu_stack_node *node;
	struct entry *entry;

	rcu_read_lock();
	node = rcu_stack_pop(&stack);
	rcu_read_unlock();
	if (!node)
		return;
	entry = entry_at(node);
	expect(is_alive(&entry->alive), "what was popped was reclaimed before");
	expect(!__atomic_exchange_n(&entry->taken, 1, __ATOMIC_RELAXED),
	       "an entry is popped twice");
	__atomic_fetch_add(&popped_sum, entry->seq, __ATOMIC_RELAXED);
	__atomic_fetch_add(&popped_count, 1, __ATOMIC_RELAXED);
	call_rcu(&entry->head, reclaim);
}

static void push_and_pop(struct stress_thread *self)
{
	rcu_register_thread();
	for (unsigned int i = 0; i < ENTRIES; i++) {
		if (random_below(&self->random, 2)) {
			struct entry *entry = (struct entry *)entry_new(sizeof(*entry));

			entry->alive = ENTRY_ALIVE;
			entry->taken = 0;
			entry->seq = random_below(&self->random, 1000);
			__atomic_fetch_add(&pushed_sum, entry->seq, __ATOMIC_RELAXED);
			__atomic_fetch_add(&pushed_count, 1, __ATOMIC_RELAXED);
			rcu_stack_push(&stack, &entry->node);
		} else {
			pop_one();
		}
		if (i % 8192 == 0)
			rcu_barrier(); /* bounds the memory that waits for grace periods */
	}
	rcu_unregister_thread();
}

static void readers(void)
{
	struct stress_thread threads[PUSHERS];

	stress_start(threads, PUSHERS, push_and_pop);
	stress_disturb(threads, PUSHERS);
	stress_join(threads, PUSHERS);
	rcu_register_thread();
	while (!rcu_stack_empty(&stack))
		pop_one();
	rcu_unregister_thread();
	rcu_barrier();
	check(no_faults() && pushed_sum == popped_sum && pushed_count == popped_count,
	      "readers_pop_each_entry_once");
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	order();
	one_taker();
	takers_of_chains();
	readers();
	return sums();
}
