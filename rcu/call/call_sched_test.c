// SPDX-License-Identifier: MIT
/*
 * Callbacks and their workers in every order in which their steps can happen, within bounds.
 *
 * The explorer runs the shipped rcu/call, all but defer.c, on top of grace periods that are one
 * full fence each; rcu/grace/grace_sched_test.c shows that real ones promise as much. Every
 * callback must be called once, after a grace period that began when it was queued, and must see
 * what its caller wrote. The callbacks of one thread must be called in their order. All threads
 * must end, so that no wake-up is lost. Paper: T 6.4.5.
 */
#include <string.h>
#include "host_sched_test.h"

#define ITEMS 4u
#define VALUE 7ul
#define HEAP_BYTES 2048u
#define B_CPU 2
#define CALLERS 2u

/* What a caller does: a program has one hexadecimal digit per step, the first step last. */
enum call_step {
	CALL_QUEUE = 1,
	CALL_BARRIER,
	CALL_FORK, /* looks at what a child would call, and lets the workers go on */
	CALL_FREE, /* ends the worker and waits for its end */
	CALL_STOP_STANDBY, /* ends the default worker, once the callbacks are called */
	CALL_ASSIGN, /* makes the worker that of caller B's CPU */
	CALL_AWAIT, /* waits until the other caller has ended */
	CALL_CREATE, /* makes the worker */
};

/* Indexes of a scenario's parameters. */
enum {
	CALLER_A, /* digits of enum call_step, 0: no such thread */
	CALLER_B,
	OWN, /* bit n: caller n has a worker of its own; else its CPU's, or the default one */
	PATIENT, /* 1: the worker waits an hour for more callbacks unless it is hurried */
	CREATED, /* 1: a caller makes the worker; 0: the worker is there from the beginning */
	STANDBY, /* 1: the default worker has a thread to start; 2: there is no other worker */
};

struct item {
	struct rcu_head head;
	unsigned long value; /* written before the item is queued */
	unsigned long done[2]; /* written by its callback */
};

/* Ghost memory: part of the state, but no access of the library's. */
struct books {
	uint8_t queued, called; /* bit n: item n */
	uint8_t returned; /* bit n: call_rcu() of item n has returned */
	uint32_t graces_before[ITEMS]; /* begun before the item was queued */
	uint8_t begun; /* bit n: the callback of item n is running, or has been called */
	uint8_t last_called[CALLERS];
};

static const long *parameter;
static struct books *books;
static struct item *items;
static struct call_domain *calls;
static struct call_rcu_data *worker;
static uint32_t *callers_left; /* futex */

void lull_defer_before_fork(unsigned int index)
{
	(void)index;
}

void lull_defer_after_fork_parent(unsigned int index)
{
	(void)index;
}

void lull_defer_after_fork_child(unsigned int index)
{
	(void)index;
}

static void callback(struct rcu_head *head)
{
	struct item *item = (struct item *)head;
	uint32_t i = (uint32_t)(item - items), caller = i / (ITEMS / CALLERS);

	sched_check(!(books->called >> i & 1), "a callback is called twice");
	sched_check(host_books->graces > books->graces_before[i],
		    "no grace period began after a callback was queued");
	sched_check(books->last_called[caller] <= i, "a thread's callbacks are called in disorder");
	books->last_called[caller] = (uint8_t)i;
	books->begun |= (uint8_t)(1u << i);
	sched_check(lull_mem_load(&item->value) == VALUE,
		    "a callback does not see what its caller wrote");
	lull_mem_store(&item->done[0], VALUE);
	lull_mem_store(&item->done[1], VALUE);
	books->called |= (uint8_t)(1u << i);
}

static void queue_next(uint32_t caller)
{
	uint32_t i = caller * (ITEMS / CALLERS);

	while (books->queued >> i & 1)
		i++;
	sched_check(i < (caller + 1) * (ITEMS / CALLERS), "too few items");
	books->queued |= (uint8_t)(1u << i);
	lull_mem_store(&items[i].value, VALUE);
	books->graces_before[i] = host_books->graces;
	rcu_domain_call(domain, &items[i].head, callback);
	books->returned |= (uint8_t)(1u << i);
}

static void wait_for_all(void)
{
	uint32_t i, before = books->returned;

	rcu_domain_barrier(domain);
	for (i = 0; i < ITEMS; i++) {
		if (!(before >> i & 1))
			continue;
		sched_check(books->called >> i & 1, "rcu_barrier() has not waited");
		sched_check(lull_mem_load(&items[i].done[1]) == VALUE,
			    "rcu_barrier() returns before a callback's writes are seen");
	}
}

static unsigned int items_of(const struct call_chain *chain)
{
	struct rcu_head *head;
	unsigned int found = 0;

	for (head = chain->first; head; head = lull_chain_next(chain, head))
		if (head >= &items[0].head && head <= &items[ITEMS - 1].head)
			found |= 1u << ((struct item *)head - items);
	return found;
}

static unsigned int items_held(void)
{
	unsigned int found = items_of(&calls->standby.held[0]);

	return parameter[STANDBY] == 2 ? found : found | items_of(&worker->held[0]);
}

/* The child would call what no worker has begun to call, and nothing else. */
static void fork_now(void)
{
	unsigned int returned = books->returned, left;

	call_rcu_before_fork(domain);
	left = items_held();
	sched_check(!(returned & ~left & ~books->begun),
		    "a child does not call what was queued before the fork");
	lull_mem_load32(callers_left); /* a step, before which others move */
	sched_check(!(left & books->begun), "a child calls what its parent has begun to call");
	call_rcu_after_fork_parent(domain);
}

static void stop_standby(void)
{
	get_default_call_rcu_data(domain);
	rcu_domain_barrier(domain);
	lull_mem_store32_full(&calls->standby.stop, 1);
	lull_worker_rouse(&calls->standby);
}

static void await_others(void)
{
	uint32_t left;

	while ((left = lull_mem_load32_acquire(callers_left)) > 1)
		lull_futex_wait(callers_left, left);
}

static void caller_thread(long caller)
{
	unsigned long steps = (unsigned long)parameter[CALLER_A + caller];

	if (parameter[OWN] >> caller & 1)
		set_thread_call_rcu_data(domain, worker);
	for (; steps; steps >>= 4) {
		switch (steps & 15) {
		case CALL_QUEUE:
			queue_next((uint32_t)caller);
			break;
		case CALL_BARRIER:
			wait_for_all();
			break;
		case CALL_FORK:
			fork_now();
			break;
		case CALL_FREE:
			call_rcu_data_free(worker);
			break;
		case CALL_STOP_STANDBY:
			stop_standby();
			break;
		case CALL_ASSIGN:
			sched_check(!set_cpu_call_rcu_data(domain, B_CPU, worker), "assign");
			break;
		case CALL_CREATE:
			sched_check(create_call_rcu_data(domain, 0, -1) == worker, "create");
			break;
		case CALL_AWAIT:
			await_others();
			break;
		}
	}
	lull_mem_add32(callers_left, -1u);
	lull_futex_wake(callers_left, 1);
}

static void worker_thread(long standby)
{
	struct call_rcu_data *of = standby ? &calls->standby : worker;

	sched_thread_run(&of->thread, lull_worker_main, of);
}

static void plain_worker(const struct call_rcu_data *of)
{
	sched_plain(&of->batch[0].until, sizeof(of->batch[0].until));
	sched_plain(of->held, sizeof(of->held));
	sched_plain(&of->next, sizeof(of->next));
}

static void setup(const struct sched_scenario *scenario)
{
	static const char *const names[CALLERS] = { "caller A", "caller B" };
	static const struct call_rcu_tuning patience = { 100, 3600000000ul }, none = { 0, 0 };
	uint32_t i;

	parameter = scenario->parameter;
	books = sched_ghost(sizeof(*books));
	host_setup(HEAP_BYTES);
	items = sched_alloc(ITEMS * sizeof(*items), 64);
	callers_left = sched_alloc(sizeof(*callers_left), 64);
	calls = lull_call_domain(domain);
	*callers_left = 1u + !!parameter[CALLER_B];
	LULL_OWN(&lull_call_thread)->lane = 0;
	lull_call_lane_assign();
	worker = (struct call_rcu_data *)host_heap; /* the first block */
	if (parameter[CREATED]) {
		memset(host_heap, 0xff, ZEROED_BYTES);
		memset(host_heap + (sizeof(*worker) + 63) / 64 * 64, 0xff, ZEROED_BYTES);
	} else if (parameter[STANDBY] != 2) {
		create_call_rcu_data(domain, 0, -1);
		call_rcu_data_tune(worker, parameter[PATIENT] ? &patience : &none);
	}
	call_rcu_data_tune(&calls->standby, &none);
	plain_worker(worker);
	plain_worker(&calls->standby);
	sched_plain(&calls->workers, 2 * sizeof(calls->workers));
	sched_name(&calls->lock, 8, "lock");
	sched_name(&worker->lanes[0].tail, 8, "tail");
	sched_name(&worker->lanes[0].first, 8, "first");
	sched_name(&worker->batch[0].first, 8, "batch");
	sched_name(&worker->state, 4, "state");
	sched_name(&worker->lock, 8, "turn");
	sched_name(&worker->holds, 4, "holds");
	sched_name(&worker->stop, 4, "stop");
	sched_name(&worker->hurry, 4, "hurry");
	sched_name(&calls->standby, sizeof(calls->standby), "standby");
	sched_name(items, ITEMS * sizeof(*items), "items");
	for (i = 0; i < CALLERS; i++)
		if (parameter[CALLER_A + i])
			sched_thread(names[i], i * B_CPU, caller_thread, (long)i);
	if (parameter[STANDBY] != 2)
		sched_thread("worker", 1, worker_thread, 0);
	if (parameter[STANDBY])
		sched_thread("standby", 1, worker_thread, 1);
}

static void finish(void)
{
	sched_check(books->called == books->queued, "a callback is never called");
}

#define ON(machine, bound, scenario_name, ...)                                              \
	{                                                                                   \
		.name = scenario_name, .setup = setup, .finish = finish, .memory = machine, \
		.preemptions = bound, .cycles_allowed = (bound) == SCHED_UNBOUNDED ? 2 : 1, \
		__VA_ARGS__                                                                 \
	}
#define SCENARIO(...) ON(SCHED_PSO, SCHED_UNBOUNDED, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, SCHED_UNBOUNDED, __VA_ARGS__)
/* A scenario with that many switches away from a thread that could go on. */
#define STALE_BOUND(...) ON(SCHED_STALE, 2, __VA_ARGS__)

/* Programs are read from their last digit. */
static const struct sched_scenario scenarios[] = {
	SCENARIO("caller_wakes_the_worker", .parameter = { [CALLER_A] = 0x421, [OWN] = 1 }),
	SCENARIO("callers_of_one_worker",
		 .parameter = { [CALLER_A] = 0x4271, [CALLER_B] = 0x1, [OWN] = 3 }),
	SCENARIO("barrier_beside_a_caller",
		 .parameter = { [CALLER_A] = 0x4271, [CALLER_B] = 0x2, [OWN] = 3 }),
	SCENARIO("worker_ends_beside_its_caller",
		 .parameter = { [CALLER_A] = 0x541, [OWN] = 1, [STANDBY] = 1 }),
	SCENARIO("worker_ends_beside_another_caller",
		 .parameter = { [CALLER_A] = 0x574, [CALLER_B] = 0x1, [OWN] = 2, [STANDBY] = 1 }),
	SCENARIO("default_worker_is_started_by_a_callback",
		 .parameter = { [CALLER_A] = 0x571, [CALLER_B] = 0x1, [STANDBY] = 2 }),
	SCENARIO("fork_beside_a_worker", .parameter = { [CALLER_A] = 0x4231, [OWN] = 1 }),
	SCENARIO("fork_beside_a_batch", .parameter = { [CALLER_A] = 0x42311, [OWN] = 1 }),
	SCENARIO("fork_beside_a_caller",
		 .parameter = { [CALLER_A] = 0x4273, [CALLER_B] = 0x1, [OWN] = 2 }),
	SCENARIO("fork_beside_the_end_of_a_worker",
		 .parameter = { [CALLER_A] = 0x421, [CALLER_B] = 0x3, [OWN] = 1 }),
	SCENARIO("worker_of_a_cpu_comes_and_goes", .parameter = { [CALLER_A] = 0x57468,
								  [CALLER_B] = 0x1,
								  [CREATED] = 1,
								  [STANDBY] = 1 }),
	SCENARIO("patient_worker_is_hurried",
		 .parameter = { [CALLER_A] = 0x421, [OWN] = 1, [PATIENT] = 1 }),
	SCENARIO("patient_worker_is_hurried_after_a_fork",
		 .parameter = { [CALLER_A] = 0x4231, [OWN] = 1, [PATIENT] = 1 }),

	/* loads of old values */
	STALE("caller_wakes_the_worker_by_old_values",
	      .parameter = { [CALLER_A] = 0x421, [OWN] = 1 }),
	STALE_BOUND("callers_of_one_worker_by_old_values",
		    .parameter = { [CALLER_A] = 0x4271, [CALLER_B] = 0x1, [OWN] = 3 }),
	STALE("fork_beside_a_worker_by_old_values",
	      .parameter = { [CALLER_A] = 0x4231, [OWN] = 1 }),
	STALE("worker_ends_beside_its_caller_by_old_values",
	      .parameter = { [CALLER_A] = 0x541, [OWN] = 1, [STANDBY] = 1 }),
	STALE_BOUND("worker_of_a_cpu_comes_by_old_values", .parameter = { [CALLER_A] = 0x54768,
									  [CALLER_B] = 0x1,
									  [CREATED] = 1,
									  [STANDBY] = 1 }),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_CALL(SCHED_FAULT) };

int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
