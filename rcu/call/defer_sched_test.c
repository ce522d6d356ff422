// SPDX-License-Identifier: MIT
/*
 * Deferred calls in every order in which their steps can happen, within bounds.
 *
 * The explorer runs the shipped defer.c, with queues of two entries, on top of grace periods that
 * are one full fence each. Every call must be made once, after a grace period that began when it
 * was deferred, in its thread's order, and must see what that thread wrote. All threads must end,
 * so that no wake-up is lost.
 * Paper: T 6.4.5.
 */
#include "deferred.c"
#include "defer.c"
#include "host_sched_test.h"

#define ITEMS 4u
#define VALUE 7ul
#define HEAP_BYTES 1024u
#define CALLERS 2u

/* What a caller does: a program has one hexadecimal digit per step, the first step last. */
enum defer_step {
	DEFER_PUT = 1,
	DEFER_BARRIER,
	DEFER_AWAIT, /* waits until the other caller has ended */
	DEFER_STOP, /* a call that ends the background thread */
	DEFER_FORK, /* looks at what a child would call, and lets the others go on */
};

/* Indexes of a scenario's parameters: digits of enum defer_step, 0: no such thread. */
enum { CALLER_A, CALLER_B };

/* Ghost memory. */
struct books {
	uint8_t called[CALLERS]; /* how many calls of each caller were made */
	uint8_t begun[CALLERS]; /* how many of them have begun, or were made */
	uint8_t put[CALLERS];
	uint8_t stopped;
	uint32_t graces_before[CALLERS][ITEMS];
};

struct call_domain lull_call_domains[RCU_DOMAINS];
__thread struct call_thread lull_call_thread;
const struct rcu_fork_handler lull_call_fork_handler;
static const long *parameter;
static struct books *books;
static unsigned long *values; /* written before they are deferred */
static uint32_t *callers_left; /* futex */
static unsigned int domain_index;

static void called(void *argument)
{
	uint32_t item = (uint32_t)((unsigned long *)argument - values);
	uint32_t caller = item / ITEMS, number = item % ITEMS;

	sched_check(books->begun[caller] == number, "a call is made out of order, or twice");
	books->begun[caller]++;
	sched_check(host_books->graces > books->graces_before[caller][number],
		    "no grace period began after a call was deferred");
	sched_check(lull_mem_load(&values[item]) == VALUE,
		    "a call does not see what its caller wrote");
	books->called[caller]++;
}

static void stop(void *argument)
{
	(void)argument;
	books->stopped = 1;
}

static void put_next(uint32_t caller)
{
	uint32_t number = books->put[caller]++;

	lull_mem_store(&values[caller * ITEMS + number], VALUE);
	books->graces_before[caller][number] = host_books->graces;
	rcu_domain_defer(domain, called, &values[caller * ITEMS + number]);
}

static void wait_for_own(uint32_t caller)
{
	rcu_domain_defer_barrier(domain);
	sched_check(books->called[caller] == books->put[caller],
		    "the barrier returns before all calls are made");
}

/* The child would make the calls from each queue's taken_count on: those that have not begun. */
static void check_queues(void)
{
	const struct defer_queue *queue = (const struct defer_queue *)host_heap;
	uint32_t i;

	for (i = 0; i < CALLERS && parameter[CALLER_A + i]; i++)
		sched_check(lull_defer_taken(&queue[i]) == books->begun[i] * DEFER_ONE,
			    "a child would call what its parent calls, or lose a call");
}

static void fork_now(void)
{
	lull_defer_before_fork(domain_index);
	check_queues();
	lull_mem_load32(callers_left); /* a step, before which others move */
	check_queues();
	lull_defer_after_fork_parent(domain_index);
}

static void await_other(void)
{
	uint32_t left;

	while ((left = lull_mem_load32_acquire(callers_left)) > 1)
		lull_futex_wait(callers_left, left);
}

static void caller_thread(long caller)
{
	unsigned long steps = (unsigned long)parameter[CALLER_A + caller];

	sched_check(!rcu_domain_defer_register_thread(domain), "register");
	for (; steps; steps >>= 4) {
		switch (steps & 15) {
		case DEFER_PUT:
			put_next((uint32_t)caller);
			break;
		case DEFER_BARRIER:
			wait_for_own((uint32_t)caller);
			break;
		case DEFER_AWAIT:
			await_other();
			break;
		case DEFER_STOP:
			rcu_domain_defer(domain, stop, NULL);
			break;
		case DEFER_FORK:
			fork_now();
			break;
		}
	}
	lull_mem_add32(callers_left, -1u);
	lull_futex_wake(callers_left, 1);
}

/* As background() of deferred.c, which never ends; this one can be stopped. */
static void background_thread(long argument)
{
	(void)argument;
	while (!books->stopped) {
		sleep_until_put(domain_index);
		lull_defer_drain(domain_index, NULL);
	}
	/* Makes the calls that were deferred after its last look, before the call that ends it. */
	lull_defer_drain(domain_index, NULL);
}

static void setup(const struct sched_scenario *scenario)
{
	const struct defer_queue *queue;
	struct defer_domain *defers;
	uint32_t i;

	parameter = scenario->parameter;
	books = sched_ghost(sizeof(*books));
	host_setup(HEAP_BYTES);
	values = sched_alloc(CALLERS * ITEMS * sizeof(*values), 64);
	callers_left = sched_alloc(sizeof(*callers_left), 64);
	*callers_left = 1u + !!parameter[CALLER_B];
	domain_index = domain->index;
	lull_call_domain(domain);
	defer_self();
	defers = defer_domain(domain_index);
	lull_mem_store32(&defers->asleep, DEFER_AWAKE);
	sched_plain(&defers->queues, sizeof(defers->queues));
	sched_name(&defers->lock, 8, "lock");
	sched_name(&defers->asleep, 4, "asleep");
	queue = (const struct defer_queue *)host_heap;
	for (i = 0; i < CALLERS; i++) {
		sched_plain(&queue[i].until, sizeof(queue[i].until));
		sched_plain(&queue[i].room_until, sizeof(queue[i].room_until));
		sched_plain(&queue[i].next, sizeof(queue[i].next));
		sched_name(&queue[i].put_count, 8, "put_count");
		sched_name(&queue[i].taken_count, 8, "taken_count");
		sched_name(queue[i].entries, sizeof(queue[i].entries), "entries");
	}
	sched_thread("caller A", 0, caller_thread, 0);
	if (parameter[CALLER_B])
		sched_thread("caller B", 2, caller_thread, 1);
	sched_thread("background", 1, background_thread, 0);
}

static void finish(void)
{
	uint32_t caller;

	for (caller = 0; caller < CALLERS; caller++)
		sched_check(books->called[caller] == books->put[caller],
			    "a deferred call is never made");
}

#define ON(machine, scenario_name, a, b)                                                    \
	{                                                                                   \
		.name = scenario_name, .setup = setup, .finish = finish, .memory = machine, \
		.preemptions = SCHED_UNBOUNDED, .cycles_allowed = 2, .parameter = {         \
			[CALLER_A] = a,                                                     \
			[CALLER_B] = b                                                      \
		}                                                                           \
	}
#define SCENARIO(...) ON(SCHED_PSO, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, __VA_ARGS__)

/* Programs are read from their last digit. */
static const struct sched_scenario scenarios[] = {
	SCENARIO("call_wakes_the_background", 0x41, 0),
	SCENARIO("calls_follow_each_other", 0x411, 0),
	SCENARIO("queue_is_full", 0x4111, 0),
	SCENARIO("barrier_beside_a_call", 0x4321, 0x1),
	SCENARIO("calls_of_two_threads", 0x431, 0x1),
	SCENARIO("fork_beside_a_call", 0x4511, 0),

	/* loads of old values */
	STALE("call_wakes_the_background_by_old_values", 0x41, 0),
	STALE("calls_follow_each_other_by_old_values", 0x411, 0),
	STALE("queue_is_full_by_old_values", 0x4111, 0),
	STALE("fork_beside_a_call_by_old_values", 0x4511, 0),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_DEFER(SCHED_FAULT) };

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
