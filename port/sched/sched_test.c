// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The explorer's own tests: small algorithms, each right and broken, with known answers.
 *
 * A scenario that expects failure has a fault planted that the explorer must find; its right
 * twin must pass. Interleaving counts of scenarios without choice are checked exactly.
 */
#include <string.h>
#include "rcu_port.h"
#include "sched.h"

static uint64_t *x, *y;
static uint64_t *seen; /* ghost */
static const struct sched_scenario *scenario;

static void setup_words(const struct sched_scenario *now)
{
	scenario = now;
	x = sched_alloc(8, 64);
	y = sched_alloc(8, 64);
	seen = sched_ghost(4 * sizeof(*seen));
	sched_name(x, 8, "x");
	sched_name(y, 8, "y");
}

/* Message passing: x is the data, y the flag. */
enum { MESSAGE_PLAIN, MESSAGE_RELEASE, MESSAGE_HEAVY, MESSAGE_HEAVY_UNORDERED };

static void message_writer(long kind)
{
	lull_store(x, 42);
	if (kind == MESSAGE_HEAVY)
		lull_barrier_light();
	if (kind == MESSAGE_RELEASE)
		lull_store_release(y, 1);
	else
		lull_store(y, 1);
}

static void message_reader(long kind)
{
	uint64_t flag = lull_load_acquire(y);

	if (kind == MESSAGE_HEAVY || kind == MESSAGE_HEAVY_UNORDERED)
		lull_barrier_heavy();
	if (flag)
		sched_check(lull_load(x) == 42, "the flag is up but the message is not there");
}

static void message_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, message_writer, now->parameter[0]);
	sched_thread("reader", 1, message_reader, now->parameter[0]);
}

/* Dekker: each raises its flag and looks at the other's. Both may see none with buffers. */
static void dekker_thread(long self)
{
	lull_store(self ? y : x, 1);
	if (scenario->parameter[0])
		lull_barrier_heavy();
	seen[self] = 1 + lull_load(self ? x : y);
}

static void dekker_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("first", 0, dekker_thread, 0);
	sched_thread("second", (uint32_t)now->parameter[1], dekker_thread, 1);
}

static void dekker_finish(void)
{
	sched_check(seen[0] != 1 || seen[1] != 1, "neither saw the other's flag");
}

/* Tickets: load and store lose one, add does not. */
static void ticket_thread(long kind)
{
	if (kind)
		lull_add(x, 1);
	else
		lull_store(x, lull_load(x) + 1);
}

static void ticket_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("first", 0, ticket_thread, now->parameter[0]);
	if (now->parameter[1])
		sched_handler("handler", 0, 1, ticket_thread, now->parameter[0]);
	else
		sched_thread("second", 0, ticket_thread, now->parameter[0]);
}

static void ticket_finish(void)
{
	uint64_t expected = scenario->parameter[1] ? 1 : 2;

	sched_check(lull_load(x) >= expected, "a ticket was given out twice");
	if (scenario->parameter[2])
		sched_check(lull_load(x) == 2, "not every schedule runs the handler");
}

/* A handler may not see its host half way through a two-word update unless it can retry. */
static void pair_host(long kind)
{
	(void)kind;
	lull_store(x, 1);
	lull_store(y, 1);
}

static void pair_handler(long kind)
{
	if (kind)
		sched_check(lull_load(x) >= lull_load(y), "y went before x on the same CPU");
	else
		sched_check(lull_load(x) == lull_load(y), "half an update");
}

static void pair_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("host", 0, pair_host, 0);
	sched_handler("handler", 0, 2, pair_handler, now->parameter[0]);
}

/* A writer that dies between claim (x) and publication (y). */
static void mortal_writer(long kind)
{
	(void)kind;
	lull_store(x, 1);
	lull_store_release(y, 1);
}

static void mortal_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("writer", 0, mortal_writer, 0);
	sched_may_die(0);
}

static void mortal_finish(void)
{
	sched_check(lull_load(y) == 1, "the writer died before it published");
}

static void mortal_tolerant_finish(void)
{
	sched_check(lull_load(x) >= lull_load(y), "published but never claimed");
	sched_check(sched_dead(0) || lull_load(y) == 1, "a living writer did not publish");
}

/* Waiting for a flag that comes, and for one that two threads pass to and fro for ever. */
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
		sched_thread("writer", 0, message_writer, MESSAGE_PLAIN);
	sched_thread("waiter", 1, waiting_thread, 0);
}

/* Race flags: a plain copy into bytes that another thread owns. */
static void owner_thread(long kind)
{
	uint64_t word = 7;

	if (kind)
		sched_own(x, 8);
	lull_copy(x, &word, sizeof(word));
	if (kind)
		sched_disown(x, 8);
	lull_store_release(y, 1);
}

static void intruder_thread(long kind)
{
	uint64_t word = 0;

	if (kind || lull_load_acquire(y))
		sched_read(&word, x, sizeof(word));
}

static void owner_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("owner", 0, owner_thread, 1);
	sched_thread("intruder", 1, intruder_thread, now->parameter[0]);
}

/* The reservation step: one CPU, two threads, refusals, a migration. */
static struct lull_ring_shared *shared;
static uint32_t *slots;

static void reserve_thread(long self)
{
	struct lull_reservation r = { .shared = shared, .mark_low = 1, .cpu = 0 };
	uint32_t scratch;

	r.slot_high = &scratch;
	r.mark_high = (uint32_t)self;
	do {
		r.expect = lull_load(&shared->write_count);
		r.until = r.expect + 1;
		r.slot_low = &slots[r.expect & 3];
		r.mark_low = (uint32_t)self + 1;
		if (lull_cpu() != r.cpu) {
			seen[self] = 0;
			return; /* migrated: no more business here */
		}
	} while (!lull_publish(&r));
	seen[self] = r.until;
}

static void reserve_setup(const struct sched_scenario *now)
{
	scenario = now;
	shared = sched_alloc(sizeof(*shared), 64);
	slots = sched_alloc(16, 8);
	seen = sched_ghost(2 * sizeof(*seen));
	sched_thread("first", 0, reserve_thread, 0);
	sched_thread("second", 0, reserve_thread, 1);
	if (now->migrations) {
		sched_thread("other CPU", 1, message_reader, MESSAGE_PLAIN);
		x = y = &shared->read_count;
		sched_may_migrate(1);
	}
}

static void reserve_finish(void)
{
	uint64_t count = lull_load(&shared->write_count);
	uint32_t self;

	sched_check(count == (uint64_t)(seen[0] != 0) + (seen[1] != 0), "a reservation was lost");
	sched_check(!seen[0] || seen[0] != seen[1], "one slot reserved twice");
	for (self = 0; self < 2; self++)
		if (seen[self])
			sched_check(lull_load32(&slots[seen[self] - 1]) == self + 1,
				    "the mark in the slot is not its owner's");
}

/* sched_choose() covers every value; n independent steps of two threads: (2n)! / n!^2. */
static void choose_thread(long kind)
{
	(void)kind;
	lull_store(x, sched_choose(3));
}

static void choose_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("chooser", 0, choose_thread, 0);
}

static void choose_finish(void)
{
	sched_check(lull_load(x) != (uint64_t)scenario->parameter[0], "this value was chosen");
}

static void stepper_thread(long self)
{
	long i;

	for (i = 0; i < 4; i++)
		lull_store(self ? y : x, (uint64_t)i + 1);
}

static void stepper_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("first", 0, stepper_thread, 0);
	sched_thread("second", 1, stepper_thread, 1);
}

/* Tickets again, under a lock; and what goes wrong with locks. */
enum { LOCK_BOTH, LOCK_TRIED, LOCK_NONE, LOCK_CROSSED, LOCK_NOT_TAKEN };
static struct lull_lock *locks;

static void lock_thread(long self)
{
	long kind = scenario->parameter[0], crossed = kind == LOCK_CROSSED && self;

	if (kind == LOCK_TRIED && !lull_lock_try(&locks[0]))
		return;
	if (kind == LOCK_BOTH || kind == LOCK_CROSSED)
		lull_lock_take(&locks[crossed]);
	if (kind == LOCK_CROSSED)
		lull_lock_take(&locks[!crossed]);
	lull_store(x, lull_load(x) + 1);
	if (kind == LOCK_CROSSED)
		lull_lock_release(&locks[!crossed]);
	if (kind != LOCK_NONE)
		lull_lock_release(&locks[crossed]);
}

static void lock_setup(const struct sched_scenario *now)
{
	setup_words(now);
	locks = sched_alloc(2 * sizeof(*locks), 64);
	sched_thread("first", 0, lock_thread, 0);
	sched_thread("second", 1, lock_thread, 1);
}

static void lock_finish(void)
{
	sched_check(lull_load(x) == 2, "one of two was lost, or found the lock busy");
}

/* A sleeper, and the thread that should wake it. */
enum { WAKE_AFTER, WAKE_BEFORE, WAKE_NEVER };

static void waker_thread(long kind)
{
	if (kind == WAKE_BEFORE)
		lull_futex_wake((uint32_t *)x, 1);
	lull_store32((uint32_t *)x, 1);
	if (kind == WAKE_AFTER)
		lull_futex_wake((uint32_t *)x, 1);
}

static void sleeper_thread(long once)
{
	do
		lull_futex_wait((uint32_t *)x, 0);
	while (!once && !lull_load32((uint32_t *)x));
	sched_check(lull_load32((uint32_t *)x), "awake for nothing");
}

static void sleeper_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("waker", 0, waker_thread, now->parameter[0]);
	sched_thread("sleeper", 1, sleeper_thread, now->parameter[1]);
}

/* Dekker with the stores of rcu's read sides. */
static void entering_thread(long self)
{
	unsigned long *own = (unsigned long *)(self ? y : x),
		      *other = (unsigned long *)(self ? x : y);

	if (scenario->parameter[0])
		lull_mem_store_full(own, 1);
	else
		lull_mem_store_release(own, 1);
	seen[self] = 1 + lull_mem_load(other);
}

static void entering_setup(const struct sched_scenario *now)
{
	setup_words(now);
	sched_thread("first", 0, entering_thread, 0);
	sched_thread("second", 1, entering_thread, 1);
}

/* Plain memory belongs to the thread that holds its lock, and no access of it is a step. */
static void plain_thread(long kind)
{
	if (kind) {
		lull_store(x, 1);
		return;
	}
	lull_lock_take(locks);
	++*x;
	lull_lock_release(locks);
}

static void plain_setup(const struct sched_scenario *now)
{
	setup_words(now);
	locks = sched_alloc(sizeof(*locks), 64);
	sched_plain(x, sizeof(*x));
	sched_thread("first", 0, plain_thread, now->parameter[0]);
	sched_thread("second", 1, plain_thread, now->parameter[0]);
}

static void plain_finish(void)
{
	sched_check(*x == 2, "one of two was lost");
}

#define U .preemptions = SCHED_UNBOUNDED

static const struct sched_scenario scenarios[] = {
	{ "message_by_plain_stores_is_seen_out_of_order", message_setup, .memory = SCHED_PSO,
	  .parameter = { MESSAGE_PLAIN }, .expect_failure = 1, U },
	{ "message_by_plain_stores_holds_without_buffers", message_setup, .memory = SCHED_SC,
	  .parameter = { MESSAGE_PLAIN }, U },
	{ "message_by_release_store_is_in_order", message_setup, .memory = SCHED_PSO,
	  .parameter = { MESSAGE_RELEASE }, U },
	{ "message_by_plain_stores_is_in_order_on_tso", message_setup, .memory = SCHED_TSO,
	  .parameter = { MESSAGE_PLAIN }, U },
	{ "light_barrier_is_promoted_by_heavy", message_setup, .memory = SCHED_PSO,
	  .parameter = { MESSAGE_HEAVY }, U },
	{ "heavy_without_light_promises_nothing", message_setup, .memory = SCHED_PSO,
	  .parameter = { MESSAGE_HEAVY_UNORDERED }, .expect_failure = 1, U },
	{ "dekker_fails_with_buffers", dekker_setup, .finish = dekker_finish, .memory = SCHED_PSO,
	  .parameter = { 0, 1 }, .expect_failure = 1, U },
	{ "dekker_fails_on_tso", dekker_setup, .finish = dekker_finish, .memory = SCHED_TSO,
	  .parameter = { 0, 1 }, .expect_failure = 1, U },
	{ "dekker_holds_with_heavy_barriers_on_tso", dekker_setup, .finish = dekker_finish,
	  .memory = SCHED_TSO, .parameter = { 1, 1 }, U },
	{ "dekker_holds_with_heavy_barriers", dekker_setup, .finish = dekker_finish,
	  .memory = SCHED_PSO, .parameter = { 1, 1 }, U },
	{ "dekker_holds_on_one_cpu", dekker_setup, .finish = dekker_finish, .memory = SCHED_PSO,
	  .parameter = { 0, 0 }, U },
	{ "tickets_by_load_and_store_collide", ticket_setup, .finish = ticket_finish,
	  .expect_failure = 1, U },
	{ "tickets_by_add_do_not_collide", ticket_setup, .finish = ticket_finish,
	  .memory = SCHED_PSO, .parameter = { 1 }, U },
	{ "handler_takes_a_ticket_in_between", ticket_setup, .finish = ticket_finish,
	  .parameter = { 1, 1 }, U },
	{ "handler_may_also_not_run", ticket_setup, .finish = ticket_finish,
	  .parameter = { 1, 1, 1 }, .expect_failure = 1, U },
	{ "handler_sees_half_an_update", pair_setup, .memory = SCHED_PSO, .expect_failure = 1, U },
	{ "handler_sees_its_cpu_in_program_order", pair_setup, .memory = SCHED_PSO,
	  .parameter = { 1 }, U },
	{ "writer_may_die_before_publishing", mortal_setup, .finish = mortal_finish,
	  .memory = SCHED_PSO, .crashes = 1, .expect_failure = 1, U },
	{ "dead_writer_leaves_a_claim_only", mortal_setup, .finish = mortal_tolerant_finish,
	  .memory = SCHED_PSO, .crashes = 1, U },
	{ "waiting_is_a_livelock_of_its_own", waiting_setup, .memory = SCHED_PSO,
	  .expect_failure = 1, U },
	{ "waiting_may_be_allowed", waiting_setup, .memory = SCHED_PSO, .cycles_allowed = 1, U },
	{ "waiting_for_who_can_move_is_no_livelock", waiting_setup, .memory = SCHED_PSO,
	  .cycles_allowed = 2, U },
	{ "waiting_for_nobody_is_a_livelock", waiting_setup, .memory = SCHED_PSO,
	  .cycles_allowed = 2, .parameter = { 1 }, .expect_failure = 1, U },
	{ "lock_admits_one_at_a_time", lock_setup, .finish = lock_finish, .memory = SCHED_PSO,
	  .parameter = { LOCK_BOTH }, U },
	{ "without_lock_one_is_lost", lock_setup, .finish = lock_finish, .memory = SCHED_PSO,
	  .parameter = { LOCK_NONE }, .expect_failure = 1, U },
	{ "lock_tried_is_busy_in_some_order", lock_setup, .finish = lock_finish,
	  .memory = SCHED_PSO, .parameter = { LOCK_TRIED }, .expect_failure = 1, U },
	{ "locks_taken_in_two_orders_are_a_deadlock", lock_setup, .memory = SCHED_PSO,
	  .parameter = { LOCK_CROSSED }, .expect_failure = 1, U },
	{ "lock_is_released_by_its_holder", lock_setup, .memory = SCHED_PSO,
	  .parameter = { LOCK_NOT_TAKEN }, .expect_failure = 1, U },
	{ "sleeper_is_woken", sleeper_setup, .memory = SCHED_PSO, .parameter = { WAKE_AFTER }, U },
	{ "sleeper_woken_too_early_is_a_deadlock", sleeper_setup, .memory = SCHED_PSO,
	  .parameter = { WAKE_BEFORE }, .expect_failure = 1, U },
	{ "sleeper_never_woken_is_a_deadlock", sleeper_setup, .memory = SCHED_PSO,
	  .parameter = { WAKE_NEVER }, .expect_failure = 1, U },
	{ "sleeper_may_wake_without_cause", sleeper_setup, .memory = SCHED_PSO, .wakeups = 1,
	  .parameter = { WAKE_AFTER, 1 }, .expect_failure = 1, U },
	{ "sleeper_that_looks_again_does_not_care", sleeper_setup, .memory = SCHED_PSO,
	  .wakeups = 2, .parameter = { WAKE_AFTER }, U },
	{ "dekker_fails_with_release_stores", entering_setup, .finish = dekker_finish,
	  .memory = SCHED_PSO, .expect_failure = 1, U },
	{ "dekker_holds_with_full_stores", entering_setup, .finish = dekker_finish,
	  .memory = SCHED_PSO, .parameter = { 1 }, U },
	{ "dekker_fails_with_release_stores_on_tso", entering_setup, .finish = dekker_finish,
	  .memory = SCHED_TSO, .expect_failure = 1, U },
	{ "dekker_holds_with_full_stores_on_tso", entering_setup, .finish = dekker_finish,
	  .memory = SCHED_TSO, .parameter = { 1 }, U },
	{ "plain_memory_under_a_lock", plain_setup, .finish = plain_finish, .memory = SCHED_PSO,
	  U },
	{ "plain_memory_is_not_the_ports", plain_setup, .memory = SCHED_PSO, .parameter = { 1 },
	  .expect_failure = 1, U },
	{ "intruder_on_owned_bytes_is_a_race", owner_setup, .memory = SCHED_PSO, .parameter = { 1 },
	  .expect_failure = 1, U },
	{ "guarded_reader_does_not_race", owner_setup, .memory = SCHED_PSO, U },
	{ "reservations_do_not_collide", reserve_setup, .finish = reserve_finish,
	  .memory = SCHED_PSO, .refusals = 1, U },
	{ "reservations_survive_migration", reserve_setup, .finish = reserve_finish,
	  .memory = SCHED_PSO, .refusals = 1, .migrations = 1, U },
	{ "choice_reaches_its_last_value", choose_setup, .finish = choose_finish,
	  .parameter = { 2 }, .expect_failure = 1, U },
	{ "choice_stays_below_its_count", choose_setup, .finish = choose_finish, .parameter = { 3 },
	  U },
	{ "handler_needs_no_preemption", pair_setup, .memory = SCHED_PSO, .expect_failure = 1,
	  .preemptions = 0 },
	{ "tickets_do_not_collide_unpreempted", ticket_setup, .finish = ticket_finish,
	  .preemptions = 0 },
	{ "tickets_collide_with_one_preemption", ticket_setup, .finish = ticket_finish,
	  .preemptions = 1, .expect_failure = 1 },
	{ "tickets_do_not_collide_in_whole_slices", ticket_setup, .finish = ticket_finish,
	  .preemptions = SCHED_UNBOUNDED, .slices = 1 },
	{ "tickets_collide_with_two_slices", ticket_setup, .finish = ticket_finish,
	  .preemptions = SCHED_UNBOUNDED, .slices = 2, .expect_failure = 1 },
};

/* 8! / (4! 4!) = 70 interleavings through (4 + 1)^2 = 25 states. */
static int counts_are_exact(void)
{
	const struct sched_scenario steps = { "counts_are_exact", stepper_setup, U };
	struct sched_result result;
	int right;

	sched_explore(&steps, &result, NULL);
	right = result.states == 25 && result.schedules == 70.0 && result.ends == 1 &&
		result.depth == 8;
	printf("%s %s: %llu states, %g schedules\n", right ? "ok  " : "FAIL", steps.name,
	       (unsigned long long)result.states, result.schedules);
	return right;
}

int main(void)
{
	int count = (int)(sizeof(scenarios) / sizeof(scenarios[0]));
	int wrong = sched_run(scenarios, (size_t)count);

	wrong += !counts_are_exact();
	printf("%d passed, %d failed, 0 skipped\n", count + 1 - wrong, wrong);
	return wrong != 0;
}
