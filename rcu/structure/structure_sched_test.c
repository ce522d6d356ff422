/* SPDX-License-Identifier: MIT */
/*
 * Queues and stacks in every order in which their steps can happen, with store buffers.
 *
 * Threads run programs of operations on one structure. Each history must be linearizable, and no
 * thread may reach a node after its grace period: a node is overwritten when the last section ends
 * that could hold it, and is then used again. docs/design/11-sched.md.
 */
#include <string.h>
#include "sched.h"
#include "history_sched_test.h"
#include "pointer_sched_test.h"
#include "lull/rcu/lfqueue.h"
#include "lull/rcu/queue.h"
#include "lull/rcu/stack.h"
#include "urcu/wfstack.h"

#define NODES 4u
#define THREADS 3u
#define POISON 0xdead0000ul /* no address of the explorer's */

enum structure { LFQUEUE, QUEUE, STACK, STACK_ONE_TAKER, WAIT_FREE_STACK };

/* Indexes of a scenario's parameters. */
enum {
	STRUCTURE,
	PREFILL, /* how many entries the structure has at first */
	PROGRAM, /* each thread's digits of enum instruction, the first instruction last */
	FAULT = PROGRAM + THREADS, /* enum fault */
};

enum instruction { STOP, ADD, TAKE, TAKE_ALL, TRY };

enum fault {
	SOUND,
	NO_GRACE_PERIOD, /* nodes are used again while other threads look at them */
	EXCHANGE_TORN,
	CLOSE_TORN,
	SPLICE_TORN,
	PUSH_TORN,
	POP_TORN,
	TAKE_TORN,
	APPEND_TORN,
	INSERT_TORN,
	MOVE_TORN,
	UNLINK_TORN,
	FOLLOW_PLAIN,
	TAKE_PLAIN,
	NEXT_PLAIN,
	TAIL_PLAIN,
	FIRST_PLAIN,
	WAIT_FREE_PUSH_TORN,
	WAIT_FREE_POP_TORN,
	WAIT_FREE_TAKE_TORN,
	WAIT_FREE_POP_PLAIN,
	FAULTS
};

static const char *const functions[FAULTS] = {
	[EXCHANGE_TORN] = "rcu_queue_append",	[CLOSE_TORN] = "rcu_queue_take",
	[SPLICE_TORN] = "rcu_queue_move",	[PUSH_TORN] = "rcu_stack_push",
	[POP_TORN] = "rcu_stack_pop",		[TAKE_TORN] = "rcu_stack_pop_all",
	[APPEND_TORN] = "rcu_lfqueue_append",	[INSERT_TORN] = "rcu_lfqueue_insert",
	[MOVE_TORN] = "rcu_lfqueue_move",	[UNLINK_TORN] = "rcu_lfqueue_unlink",
	[FOLLOW_PLAIN] = "rcu_queue_follow",	[TAKE_PLAIN] = "rcu_queue_take",
	[NEXT_PLAIN] = "rcu_lfqueue_next",	[TAIL_PLAIN] = "rcu_lfqueue_tail",
	[FIRST_PLAIN] = "rcu_lfqueue_first",	[WAIT_FREE_PUSH_TORN] = "cds_wfs_push",
	[WAIT_FREE_POP_TORN] = "cds_wfs_pop_",	[WAIT_FREE_TAKE_TORN] = "__cds_wfs_pop_all",
	[WAIT_FREE_POP_PLAIN] = "cds_wfs_pop_",
};

struct node {
	union {
		struct rcu_lfqueue_node lfqueue;
		struct rcu_queue_node queue;
		struct rcu_stack_node stack;
		struct cds_wfs_node wait_free;
	};
	unsigned long value; /* written before the node is added, read after it is taken */
};

enum node_status { FRESH, SHARED, LEAVING, POISONED, PRIVATE };

/* Ghost memory. */
struct books {
	struct history history;
	uint8_t sections; /* bit n: thread n is in a section */
	uint8_t status[NODES];
	uint8_t held[NODES]; /* bit n: thread n's section may reach this node that left */
};

const char *fault_in;
static const long *parameter;
static struct books *books;
static struct node *nodes;
static struct rcu_lfqueue *lfqueue;
static struct rcu_queue *queue, *private_queues; /* the latter, one for each thread */
static struct rcu_stack *stack;
static struct __cds_wfs_stack *wait_free;
static unsigned long *order; /* NULL, or, where loads return old values, a word of its own */

void rcu_queue_pause(unsigned int round)
{
	(void)round;
}

static int with_sections(void)
{
	return parameter[STRUCTURE] == LFQUEUE || parameter[STRUCTURE] == STACK;
}

static void section_begin(uint32_t thread)
{
	if (with_sections())
		sched_loads_now(); /* a grace period has forced a barrier here, or waits */
	books->sections |= (uint8_t)(1u << thread);
}

/* Ends the grace periods that waited for this section last. */
static void section_end(uint32_t thread)
{
	uint32_t i;

	books->sections &= (uint8_t) ~(1u << thread);
	for (i = 0; i < NODES; i++) {
		books->held[i] &= (uint8_t) ~(1u << thread);
		if (books->status[i] != LEAVING || books->held[i])
			continue;
		books->status[i] = POISONED;
		lull_mem_exchange(&nodes[i].lfqueue.next, POISON);
		lull_mem_exchange(&nodes[i].value, POISON);
		books->status[i] = PRIVATE;
	}
}

/* A node to add: any reclaimed one, or the next fresh one. The explorer tries each choice. */
static struct node *node_choose(void)
{
	uint32_t candidates[NODES], count = 0, fresh = 0, i;

	for (i = 0; i < NODES; i++) {
		if (books->status[i] == PRIVATE || (books->status[i] == FRESH && !fresh++))
			candidates[count++] = i;
	}
	if (!count)
		return NULL;
	i = candidates[count > 1 ? sched_choose(count) : 0];
	if (books->status[i] != PRIVATE && books->status[i] != FRESH)
		return NULL; /* another thread was quicker */
	books->status[i] = SHARED;
	return &nodes[i];
}

static uint32_t begin(enum operation_kind kind)
{
	if (order) /* a step, so that an operation may begin later than the one before has ended */
		lull_mem_load(order);
	sched_loads_now(); /* linearizability speaks of time */
	return history_begin(&books->history, kind);
}

static void add(uint32_t thread)
{
	uint32_t number = begin(PUT);
	struct node *node = node_choose();
	int told = 2;

	if (!node) {
		books->history.operation[number].kind = GAVE_UP;
		history_end(&books->history, number);
		return;
	}
	lull_mem_store(&node->value, number + 1);
	section_begin(thread);
	if (parameter[STRUCTURE] == LFQUEUE)
		rcu_lfqueue_enqueue(lfqueue, &node->lfqueue);
	else if (parameter[STRUCTURE] == QUEUE)
		told = rcu_queue_enqueue(queue, &node->queue);
	else if (parameter[STRUCTURE] == WAIT_FREE_STACK)
		told = cds_wfs_push(wait_free, &node->wait_free);
	else
		told = rcu_stack_push(stack, &node->stack);
	books->history.operation[number].told = (uint8_t)told;
	history_end(&books->history, number);
	section_end(thread);
}

/* One entry was taken: its grace period begins. */
static void took(uint32_t number, struct node *node)
{
	uint32_t i = (uint32_t)(node - nodes);

	history_got(&books->history, number, lull_mem_load(&node->value));
	sched_check(books->status[i] == SHARED, "a node is taken that was not there");
	books->status[i] = LEAVING;
	books->held[i] =
		with_sections() && parameter[FAULT] != NO_GRACE_PERIOD ? books->sections : 0;
}

static void take_all(uint32_t thread)
{
	uint32_t number = begin(GET_ALL);
	struct node *node;

	section_begin(thread);
	if (parameter[STRUCTURE] == QUEUE) {
		struct rcu_queue *own = &private_queues[thread];

		/* As rcu_queue_init(), in steps. */
		rcu_assign_pointer(own->head.next, NULL);
		rcu_assign_pointer(own->tail, &own->head);
		rcu_queue_splice(own, queue);
		rcu_queue_for_each_entry(node, own, queue)
			took(number, node);
	} else if (parameter[STRUCTURE] == WAIT_FREE_STACK) {
		struct cds_wfs_node *at, *next;

		cds_wfs_for_each_blocking_safe(__cds_wfs_pop_all(wait_free), at, next)
			took(number, (struct node *)at);
	} else {
		rcu_stack_for_each_entry(node, rcu_stack_pop_all(stack), stack)
			took(number, node);
	}
	history_end(&books->history, number);
	section_end(thread);
}

static void take(uint32_t thread, int wait)
{
	uint32_t number = begin(GET);
	void *node;

	section_begin(thread);
	if (parameter[STRUCTURE] == LFQUEUE)
		node = rcu_lfqueue_dequeue(lfqueue);
	else if (parameter[STRUCTURE] == QUEUE)
		node = wait ? rcu_queue_dequeue(queue) : rcu_queue_try_dequeue(queue);
	else if (parameter[STRUCTURE] == WAIT_FREE_STACK)
		node = wait ? __cds_wfs_pop_blocking(wait_free) :
			      __cds_wfs_pop_nonblocking(wait_free);
	else
		node = rcu_stack_pop(stack);
	if (node == (void *)RCU_QUEUE_WOULD_BLOCK)
		books->history.operation[number].kind = GAVE_UP;
	else if (node)
		took(number, (struct node *)node);
	history_end(&books->history, number);
	section_end(thread);
}

static void run(long thread)
{
	uint32_t self = (uint32_t)thread;
	long program;

	for (program = parameter[PROGRAM + thread]; program; program /= 10) {
		switch (program % 10) {
		case ADD:
			add(self);
			break;
		case TAKE_ALL:
			take_all(self);
			break;
		default:
			take(self, program % 10 == TAKE);
			break;
		}
	}
}

static void setup(const struct sched_scenario *scenario)
{
	static const char *const names[THREADS] = { "first", "second", "third" };
	uint32_t i;

	parameter = scenario->parameter;
	order = NULL;
	fault_in = functions[parameter[FAULT]];
	lfqueue = sched_alloc(sizeof(*lfqueue), 64);
	queue = sched_alloc(sizeof(*queue), 64);
	private_queues = sched_alloc(THREADS * sizeof(*queue), 64);
	stack = sched_alloc(sizeof(*stack), 64);
	wait_free = sched_alloc(sizeof(*wait_free), 64);
	nodes = sched_alloc(NODES * sizeof(*nodes), 64);
	books = sched_ghost(sizeof(*books));
	sched_name(lfqueue, sizeof(*lfqueue), "lfqueue");
	sched_name(queue, sizeof(*queue), "queue");
	sched_name(private_queues, THREADS * sizeof(*queue), "private_queues");
	sched_name(stack, sizeof(*stack), "stack");
	sched_name(wait_free, sizeof(*wait_free), "wait_free");
	sched_name(nodes, NODES * sizeof(*nodes), "nodes");
	memset(books, 0, sizeof(*books));
	rcu_lfqueue_init(lfqueue);
	rcu_queue_init(queue);
	for (i = 0; i < THREADS; i++)
		rcu_queue_init(&private_queues[i]);
	rcu_stack_init(stack);
	__cds_wfs_init(wait_free);
	books->history.last_in_first_out = parameter[STRUCTURE] >= STACK;
	for (i = 0; i < (uint32_t)parameter[PREFILL]; i++)
		add(0);
	if (scenario->memory == SCHED_STALE)
		order = sched_alloc(sizeof(*order), 64);
	for (i = 0; i < THREADS; i++)
		if (parameter[PROGRAM + i])
			sched_thread(names[i], i, run, (long)i);
}

/* Checks that the structure does not lead to a reclaimed node. */
static void reachable(void)
{
	uint32_t i;

	for (i = 0; i < NODES; i++) {
		uint64_t node = (uint64_t)(uintptr_t)&nodes[i];

		if (books->status[i] < POISONED)
			continue;
		sched_check(sched_newest((uint64_t *)&lfqueue->tail) != node &&
				    sched_newest((uint64_t *)&lfqueue->first) != node &&
				    sched_newest((uint64_t *)&stack->top) != node &&
				    sched_newest((uint64_t *)&wait_free->head) != node,
			    "the structure leads to a reclaimed node");
	}
}

static void agree(void)
{
	sched_check(history_linearizable(&books->history),
		    "no sequential order explains what the operations returned");
}

#define ON(machine, text, structure, fill, first, second, third, fault)                           \
	{                                                                                         \
		.name = (text), .setup = setup, .invariant = reachable, .finish = agree,          \
		.parameter = { structure, fill, first, second, third, fault }, .memory = machine, \
		.preemptions = SCHED_UNBOUNDED,                                                   \
		.cycles_allowed = (structure) == QUEUE || (structure) == WAIT_FREE_STACK,         \
		.expect_failure = (fault) != SOUND                                                \
	}
#define SCENARIO(...) ON(SCHED_PSO, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, __VA_ARGS__)

/* Programs are read from their last digit. */
static const struct sched_scenario scenarios[] = {
	SCENARIO("lfqueue_enqueuers_and_a_dequeuer", LFQUEUE, 0, 1, 1, 22, SOUND),
	SCENARIO("lfqueue_runs_empty_under_two_dequeuers", LFQUEUE, 1, 2, 2, 1, SOUND),
	SCENARIO("lfqueue_dequeuers_of_two_entries", LFQUEUE, 2, 22, 2, 0, SOUND),
	SCENARIO("lfqueue_node_comes_back_while_the_tail_is_moved", LFQUEUE, 0, 2121, 21, 0, SOUND),
	SCENARIO("lfqueue_node_comes_back_while_an_enqueuer_is_late", LFQUEUE, 1, 212, 1, 2, SOUND),
	SCENARIO("lfqueue_two_entries_at_a_time", LFQUEUE, 0, 21, 21, 21, SOUND),
	SCENARIO("lfqueue_enqueuers_come_back_to_a_mark", LFQUEUE, 1, 212, 21, 1, SOUND),
	SCENARIO("queue_producers_and_a_consumer", QUEUE, 0, 1, 11, 22, SOUND),
	SCENARIO("queue_consumer_that_does_not_wait", QUEUE, 1, 1, 1, 444, SOUND),
	SCENARIO("queue_runs_empty_and_is_filled", QUEUE, 1, 11, 222, 0, SOUND),
	SCENARIO("queue_is_spliced_beside_producers", QUEUE, 1, 1, 1, 33, SOUND),
	SCENARIO("queue_is_spliced_by_two", QUEUE, 1, 1, 3, 3, SOUND),
	SCENARIO("queue_consumer_of_all_kinds", QUEUE, 0, 11, 11, 4334, SOUND),
	SCENARIO("stack_pops_in_sections", STACK, 2, 122, 2, 0, SOUND),
	SCENARIO("stack_pushes_and_pops", STACK, 1, 12, 2, 1, SOUND),
	SCENARIO("stack_node_comes_back_under_a_pop", STACK, 1, 122, 12, 1, SOUND),
	SCENARIO("stack_one_taker", STACK_ONE_TAKER, 1, 1, 11, 232, SOUND),
	SCENARIO("stack_pop_all_by_several", STACK_ONE_TAKER, 1, 131, 3, 0, SOUND),
	SCENARIO("wait_free_stack_one_taker", WAIT_FREE_STACK, 1, 1, 11, 232, SOUND),
	SCENARIO("wait_free_stack_taker_that_does_not_wait", WAIT_FREE_STACK, 1, 1, 1, 444, SOUND),
	SCENARIO("wait_free_stack_pop_all_by_several", WAIT_FREE_STACK, 1, 131, 3, 0, SOUND),

	/* loads of old values */
	STALE("lfqueue_by_old_values", LFQUEUE, 0, 1, 1, 22, SOUND),
	STALE("lfqueue_runs_empty_by_old_values", LFQUEUE, 1, 2, 2, 1, SOUND),
	STALE("lfqueue_dequeuers_by_old_values", LFQUEUE, 2, 22, 2, 0, SOUND),
	STALE("lfqueue_dequeuers_and_an_enqueuer_by_old_values", LFQUEUE, 2, 22, 2, 1, SOUND),
	STALE("lfqueue_node_comes_back_by_old_values", LFQUEUE, 0, 2121, 21, 0, SOUND),
	STALE("queue_by_old_values", QUEUE, 0, 1, 1, 22, SOUND),
	STALE("queue_consumer_does_not_wait_by_old_values", QUEUE, 1, 1, 1, 44, SOUND),
	STALE("queue_is_spliced_by_old_values", QUEUE, 1, 1, 1, 33, SOUND),
	STALE("queue_is_spliced_by_two_and_old_values", QUEUE, 1, 1, 3, 3, SOUND),
	STALE("stack_pushes_and_pops_by_old_values", STACK, 1, 12, 2, 1, SOUND),
	STALE("stack_one_taker_by_old_values", STACK_ONE_TAKER, 1, 1, 1, 23, SOUND),
	STALE("stack_pop_all_by_old_values", STACK_ONE_TAKER, 1, 131, 3, 0, SOUND),
	STALE("wait_free_stack_by_old_values", WAIT_FREE_STACK, 1, 1, 1, 23, SOUND),
	STALE("wait_free_stack_pop_all_by_old_values", WAIT_FREE_STACK, 1, 131, 3, 0, SOUND),
};

static const struct sched_scenario faults[] = {
	SCENARIO("lfqueue_without_grace_periods", LFQUEUE, 1, 212, 1, 2, NO_GRACE_PERIOD),
	SCENARIO("lfqueue_appended_in_two_steps", LFQUEUE, 1, 1, 1, 22, APPEND_TORN),
	SCENARIO("lfqueue_inserted_in_two_steps", LFQUEUE, 0, 1, 1, 22, INSERT_TORN),
	SCENARIO("lfqueue_tail_moved_in_two_steps", LFQUEUE, 0, 21, 21, 21, MOVE_TORN),
	SCENARIO("lfqueue_unlinked_in_two_steps", LFQUEUE, 2, 2, 2, 0, UNLINK_TORN),
	SCENARIO("stack_pops_without_grace_periods", STACK, 2, 122, 2, 0, NO_GRACE_PERIOD),
	SCENARIO("queue_exchange_in_two_steps", QUEUE, 0, 1, 1, 22, EXCHANGE_TORN),
	SCENARIO("queue_closed_in_two_steps", QUEUE, 1, 1, 22, 0, CLOSE_TORN),
	SCENARIO("queue_spliced_in_two_steps", QUEUE, 1, 1, 33, 0, SPLICE_TORN),
	SCENARIO("queue_spliced_by_two_in_two_steps", QUEUE, 1, 1, 3, 3, SPLICE_TORN),
	SCENARIO("stack_pushed_in_two_steps", STACK, 0, 1, 1, 22, PUSH_TORN),
	SCENARIO("stack_popped_in_two_steps", STACK, 1, 2, 1, 2, POP_TORN),
	SCENARIO("stack_taken_in_two_steps", STACK_ONE_TAKER, 1, 1, 33, 0, TAKE_TORN),
	STALE("queue_is_followed_by_plain_loads", QUEUE, 1, 1, 222, 0, FOLLOW_PLAIN),
	STALE("queue_is_taken_from_by_plain_loads", QUEUE, 1, 1, 22, 0, TAKE_PLAIN),
	STALE("lfqueue_next_by_plain_loads", LFQUEUE, 2, 22, 2, 1, NEXT_PLAIN),
	STALE("lfqueue_tail_by_plain_loads", LFQUEUE, 2, 22, 2, 1, TAIL_PLAIN),
	STALE("lfqueue_first_by_plain_loads", LFQUEUE, 2, 22, 2, 1, FIRST_PLAIN),
	SCENARIO("wait_free_stack_pushed_in_two_steps", WAIT_FREE_STACK, 0, 1, 1, 22,
		 WAIT_FREE_PUSH_TORN),
	SCENARIO("wait_free_stack_popped_in_two_steps", WAIT_FREE_STACK, 1, 1, 2, 0,
		 WAIT_FREE_POP_TORN),
	SCENARIO("wait_free_stack_taken_in_two_steps", WAIT_FREE_STACK, 1, 1, 33, 0,
		 WAIT_FREE_TAKE_TORN),
	STALE("wait_free_stack_is_popped_by_plain_loads", WAIT_FREE_STACK, 1, 11, 222, 0,
	      WAIT_FREE_POP_PLAIN),
};

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.planted = SCHED_TABLE(faults),
	};

	return sched_main(&suite, count, argument);
}
