// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The explorer's own tests of loads of old values: small algorithms with known answers.
 *
 * Each right one stands beside a twin that lacks its order and must fail, or that shows that the
 * old value in question is reached. sched_test.c has the tests of all else.
 */
#include "rcu_port.h"
#include "sched.h"

static uint64_t *x, *y; /* data, flag */
static uint64_t *seen; /* ghost */
static struct lull_lock *lock;
static const struct sched_scenario *scenario;

static void setup_words(const struct sched_scenario *now)
{
	scenario = now;
	x = sched_alloc(16, 64);
	y = sched_alloc(8, 64);
	lock = sched_alloc(sizeof(*lock), 64);
	seen = sched_ghost(4 * sizeof(*seen));
	sched_name(x, 16, "x");
	sched_name(y, 8, "y");
	sched_name(lock, sizeof(*lock), "lock");
}

/* What orders the look at the flag before the look at the data. */
enum order {
	PLAIN,
	ACQUIRE,
	FENCE,
	HEAVY,
	STORE, /* none: a store orders no loads */
	EXCHANGE,
	CAS_DONE,
	CAS_REFUSED, /* the port's: no order when it is refused */
	ADD, /* the port's: orders stores only */
	FULL_CAS_REFUSED, /* of memory.h */
	FULL_ADD,
	TWICE, /* the flag is loaded again, by an acquire load */
	OTHER /* none: an acquire load of another word */
};

static void writer(long kind)
{
	(void)kind;
	lull_store(x, 42);
	lull_store_release(y, 1);
}

static uint64_t flag(long order)
{
	uint64_t found = order == ACQUIRE ? lull_load_acquire(y) : lull_load(y);

	switch (order) {
	case FENCE:
		lull_mem_fence();
		break;
	case HEAVY:
		lull_barrier_heavy();
		break;
	case STORE:
		lull_store_release(x + 1, 1);
		break;
	case EXCHANGE:
		lull_mem_exchange((unsigned long *)x + 1, 1);
		break;
	case CAS_DONE:
		lull_cas(x + 1, 0, 1);
		break;
	case CAS_REFUSED:
		lull_cas(x + 1, 1, 2);
		break;
	case ADD:
		lull_add(x + 1, 1);
		break;
	case FULL_CAS_REFUSED:
		lull_mem_cas((unsigned long *)x + 1, 1, 2);
		break;
	case FULL_ADD:
		lull_mem_add((unsigned long *)x + 1, 1);
		break;
	case TWICE:
		lull_load_acquire(y);
		break;
	case OTHER:
		lull_load_acquire(x + 1);
		break;
	}
	return found;
}

static void reader(long order)
{
	if (flag(order))
		sched_check(lull_load(x) == 42, "the flag is up but the message is not there");
}

/* The thread with the heavy barrier orders these stores; they may land at its very end. */
static void light_writer(long kind)
{
	(void)kind;
	lull_store(x, 42);
	lull_barrier_light();
	lull_store(y, 1);
}

static void visited_last_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("reader", 1, reader, now->parameter[0]);
	sched_thread("writer", 2, light_writer, 0);
}

static void message_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, writer, 0);
	sched_thread("reader", 1, reader, now->parameter[0]);
}

/* The reader's barrier is only a light one: the writer forces one on it. */
static void forcing_writer(long forces)
{
	lull_store(x, 42);
	if (forces)
		lull_barrier_heavy();
	lull_store_release(y, 1);
}

static void light_reader(long order)
{
	uint64_t found = lull_load(y);

	(void)order;
	lull_barrier_light();
	sched_check(!found || lull_load(x) == 42, "the flag is up but the message is not there");
}

static void forced_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, forcing_writer, now->parameter[0]);
	sched_thread("reader", 1, light_reader, 0);
}

/* What lands after the reader's barrier need not be seen; nothing else differs. */
static void early_writer(long kind)
{
	(void)kind;
	lull_mem_exchange((unsigned long *)x, 42);
	lull_mem_exchange((unsigned long *)y, 1);
}

static void early_reader(long order)
{
	lull_mem_fence();
	reader(order);
}

static void early_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, early_writer, 0);
	sched_thread("reader", 1, early_reader, now->parameter[0]);
}

/* The data is where the flag says. */
static void dependent_reader(long order)
{
	uint64_t index = flag(order);

	sched_check(!index || lull_load(x + index - 1) == 42, "an element before it was written");
}

static void dependent_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, writer, 0);
	sched_thread("reader", 1, dependent_reader, now->parameter[0]);
}

/* The data is a range, written and read as one. */
static void range_writer(long kind)
{
	uint64_t words[2] = { 42, 42 };

	(void)kind;
	lull_copy(x, words, sizeof(words));
	lull_store_release(y, 1);
}

static void range_reader(long order)
{
	uint64_t words[2];

	if (!flag(order))
		return;
	sched_read(words, x, sizeof(words));
	sched_check(words[0] == 42 && words[1] == 42, "a range before it was written");
}

static void range_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, range_writer, 0);
	sched_thread("reader", 1, range_reader, now->parameter[0]);
}

/* Loads of one word are in order: y counts what is in x. */
static void counting_writer(long kind)
{
	(void)kind;
	lull_store(x, 1);
	lull_store(x, 2);
	lull_store(x, 3);
	lull_store_release(y, 1);
}

static void counting_reader(long kind)
{
	uint64_t published = lull_load(y), first = lull_load(x), second = lull_load(x);

	sched_check(second >= first, "loads of one word go back");
	sched_check(kind != 1 || !published || first != 1, "a value between the first and last");
	sched_check(kind != 2 || !published || first != 0 || second != 2, "two old values");
}

static void counting_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, counting_writer, 0);
	sched_thread("reader", 1, counting_reader, now->parameter[0]);
}

/* A thread that has stored to a word loads no older value of it; nor do handlers on its CPU. */
static void storing_thread(long value)
{
	lull_store(x, (uint64_t)value);
	sched_check(lull_load(x) != 0, "a value from before this thread's own store");
}

static void look_thread(long kind)
{
	seen[0] = lull_load(x);
	(void)kind;
}

static void own_handler(long kind)
{
	(void)kind;
	sched_check(lull_load(x) >= seen[0], "a value from before what the host has loaded");
	sched_check(!seen[1] || lull_load(x) == 42, "the host saw the flag, its handler no data");
}

static void flag_host(long kind)
{
	(void)kind;
	seen[1] = lull_load(y);
	lull_load(x + 1); /* a step, before which the handler may come */
}

static void own_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("first", 0, storing_thread, 1);
	sched_thread("second", 1, storing_thread, 2);
	sched_handler("handler", 1, 1, storing_thread, 2);
}

static void handler_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, writer, 0);
	sched_handler("handler",
		      sched_thread("host", 1, now->parameter[0] ? look_thread : flag_host, 0), 1,
		      own_handler, 0);
}

/* Two writers, two readers: do all see the stores in one order? */
static void one_store(long self)
{
	lull_store(self ? y : x, 1);
}

static void two_loads(long self)
{
	uint64_t *first = self ? y : x, *second = self ? x : y;
	uint64_t found = scenario->parameter[0] ? lull_load_acquire(first) : lull_load(first);

	seen[self] = found && !lull_load(second);
}

static void iriw_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer of x", 0, one_store, 0);
	sched_thread("writer of y", 0, one_store, 1);
	sched_thread("reader of x", 1, two_loads, 0);
	sched_thread("reader of y", 2, two_loads, 1);
}

static void iriw_finish(void)
{
	sched_check(!seen[0] || !seen[1], "two stores are seen in two orders");
}

/* Two words that a lock keeps equal. */
static void lock_writer(long kind)
{
	(void)kind;
	lull_lock_take(lock);
	lull_store(x, 1);
	lull_store(y, 1);
	lull_lock_release(lock);
}

static void lock_reader(long taken)
{
	uint64_t first;

	if (taken)
		lull_lock_take(lock);
	first = lull_load(y);
	sched_check(lull_load(x) == first, "half an update");
	if (taken)
		lull_lock_release(lock);
}

static void lock_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, lock_writer, 0);
	sched_thread("reader", 1, lock_reader, now->parameter[0]);
}

/* A thread that was woken sees what its waker did before. */
static void waker(long kind)
{
	(void)kind;
	lull_store(x, 42);
	lull_mem_fence();
	lull_store32((uint32_t *)y, 1);
	lull_futex_wake((uint32_t *)y, 1);
}

static void sleeper(long sleeps)
{
	if (sleeps)
		lull_futex_wait((uint32_t *)y, 0);
	else if (!lull_load32((uint32_t *)y))
		return;
	sched_check(lull_load(x) == 42, "awake before the data is there");
}

static void sleeper_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("waker", 0, waker, 0);
	sched_thread("sleeper", 1, sleeper, now->parameter[0]);
}

/* A thread that comes to another CPU has seen what it has seen. */
static void moving_reader(long kind)
{
	uint64_t before = lull_load(x);

	(void)kind;
	lull_store(x + 1, 1);
	sched_check(lull_load(x) >= before, "loads of one word go back");
}

static void staying_reader(long kind)
{
	(void)kind;
	lull_load(y);
	lull_load(x);
}

static void moving_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, writer, 0);
	sched_may_migrate(sched_thread("moving", 1, moving_reader, 0));
	sched_thread("staying", 2, staying_reader, 0);
}

static void waiting_thread(long kind)
{
	(void)kind;
	while (!lull_load(y))
		lull_port_stuck();
}

static void waiting_setup(const struct sched_scenario *now)
{
	setup_words(now);
	if (!now->parameter[0])
		sched_thread("writer", 0, writer, 0);
	sched_thread("waiter", 1, waiting_thread, 0);
}

#define ON(machine, text, setup_, kind, ...)                                               \
	{                                                                                  \
		.name = (text), .setup = setup_, .memory = machine, .parameter = { kind }, \
		.preemptions = SCHED_UNBOUNDED, __VA_ARGS__                                \
	}
#define TEST(...) ON(SCHED_STALE, __VA_ARGS__)
#define FAILS .expect_failure = 1
#define IRIW .finish = iriw_finish

static const struct sched_scenario scenarios[] = {
	TEST("message_without_acquire_is_old", message_setup, PLAIN, FAILS),
	ON(SCHED_PSO, "message_is_in_order_where_loads_are", message_setup, PLAIN),
	TEST("message_by_acquire", message_setup, ACQUIRE),
	TEST("message_by_fence", message_setup, FENCE),
	TEST("message_by_heavy_barrier", message_setup, HEAVY),
	TEST("message_by_light_and_heavy_barrier", visited_last_setup, HEAVY),
	TEST("message_by_exchange", message_setup, EXCHANGE),
	TEST("message_by_cas_that_is_done", message_setup, CAS_DONE),
	TEST("message_by_full_cas_that_is_refused", message_setup, FULL_CAS_REFUSED),
	TEST("message_by_full_add", message_setup, FULL_ADD),
	TEST("message_by_acquire_of_a_second_look", message_setup, TWICE),
	TEST("acquire_of_another_word_orders_nothing_before_it", message_setup, OTHER, FAILS),
	TEST("release_store_orders_no_loads", message_setup, STORE, FAILS),
	TEST("cas_that_is_refused_orders_nothing", message_setup, CAS_REFUSED, FAILS),
	TEST("add_orders_no_loads", message_setup, ADD, FAILS),
	TEST("message_by_a_barrier_forced_on_the_reader", forced_setup, 1),
	TEST("light_barrier_alone_orders_no_loads", forced_setup, 0, FAILS),
	TEST("states_differ_by_their_old_values", early_setup, PLAIN, FAILS),
	TEST("dependent_load_is_old", dependent_setup, PLAIN, FAILS),
	TEST("dependent_load_by_acquire", dependent_setup, ACQUIRE),
	TEST("range_without_acquire_is_old", range_setup, PLAIN, FAILS),
	TEST("range_by_acquire", range_setup, ACQUIRE),
	TEST("loads_of_one_word_are_in_order", counting_setup, 0),
	TEST("every_old_value_is_loaded", counting_setup, 1, FAILS),
	TEST("one_old_value_after_another_is_loaded", counting_setup, 2, FAILS),
	TEST("own_store_is_seen_by_its_cpu", own_setup, 0),
	TEST("handler_is_not_behind_its_host", handler_setup, 1),
	TEST("handler_starts_with_what_is_new", handler_setup, 0),
	TEST("stores_are_seen_in_one_order_by_acquire", iriw_setup, 1, IRIW),
	TEST("stores_are_seen_in_two_orders_without", iriw_setup, 0, IRIW, FAILS),
	TEST("lock_shows_what_it_guards", lock_setup, 1),
	TEST("without_lock_half_is_seen", lock_setup, 0, FAILS),
	TEST("sleeper_sees_what_woke_it", sleeper_setup, 1),
	TEST("who_does_not_sleep_may_not", sleeper_setup, 0, FAILS),
	TEST("migrated_thread_does_not_go_back", moving_setup, 0, .migrations = 1),
	TEST("old_values_are_not_loaded_for_ever", waiting_setup, 0, .cycles_allowed = 2),
	TEST("waiting_for_nobody_is_a_livelock", waiting_setup, 1, .cycles_allowed = 2, FAILS),
};

int main(void)
{
	int count = (int)SCHED_COUNT(scenarios);
	int wrong = sched_run(scenarios, (size_t)count);

	printf("%d passed, %d failed, 0 skipped\n", count - wrong, wrong);
	return wrong != 0;
}
