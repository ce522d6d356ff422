/* SPDX-License-Identifier: MIT */
/*
 * Pairs: which events are two ends of a call that is drawn once, and that an exit does as its entry
 * did: nested, recursive, in forked children, with signal handlers in between, in several sessions.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "../check/test.h"
#include "sampling.h"

#define CAPACITY 16u
#define DEPTH 63u /* calls of a pair in each other of which all are known */

static uint32_t states[CAPACITY];
static uint32_t throttles[CAPACITY], counts[CAPACITY];
static struct lull_session_filter filters[8];
static struct lull_rule rules[8];
static struct session session = { .filters = (const unsigned char *)filters,
				  .filter_states = states,
				  .rules = rules,
				  .event_capacity = CAPACITY };

/* A session that asks for this; rule i samples one in rates[i], where that is not 0. */
static void session_ask(const char *patterns, const uint32_t *rates)
{
	uint32_t count = 0;

	session.rule_count = lull_rules_read(patterns, rules, 8);
	for (uint32_t rule = 0; rule < session.rule_count; rule++)
		if (rates[rule])
			filters[count++] = (struct lull_session_filter){ rule, 0, rates[rule], 0 };
	session.filters_bytes = count * (uint32_t)sizeof(*filters);
	memset(states, 0, sizeof(states));
	memset(session.fixed.uuid, 7, sizeof(session.fixed.uuid));
	lull_process.sessions[0] = session;
}

static struct lull_note note_of(const char *name, uint32_t level)
{
	return (struct lull_note){ .type = LULL_NOTE_PROBE,
				   .name = name,
				   .name_bytes = strlen(name),
				   .level = level,
				   .description = "a:a\n6\n:\n",
				   .description_bytes = 8 };
}

static struct pair_end end_of(const char *name, uint32_t sample)
{
	struct lull_note note = note_of(name, LULL_LEVEL_INFO);

	return lull_pair_find(&session, &note, sample);
}

/* What a session is told of an event that is to be sampled. */
static uint32_t told(const char *name)
{
	struct lull_probe_record record = { .filter = LULL_RECORD_ASKS, .id = { 3 } };
	struct lull_note note = note_of(name, LULL_LEVEL_INFO);
	int rule = lull_rules_decide(rules, session.rule_count, name, note.name_bytes, note.level);

	states[3] = 0;
	lull_filter_enable(&record, 0, rule, &note);
	return states[3];
}

static int ends_of_a_call_at_one_rate_are_a_pair_and_the_session_is_told(void)
{
	static const char *const names[][2] = {
		{ "a:b_entry", "a:b_exit" }, { "a:b_enter", "a:b_exit" },
		{ "a:b_begin", "a:b_end" },  { "a:b_start", "a:b_stop" },
		{ "a:b_req", "a:b_acq" },    { "a:entry", "a:exit" },
		{ "a:enter", "a:exit" },     { "a:begin", "a:end" },
	};

	session_ask("a:*", (uint32_t[]){ 10 });
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct pair_end entry = end_of(names[i][0], 10), exit = end_of(names[i][1], 10);

		CHECK(entry.pair && entry.pair == exit.pair);
		CHECK(!entry.is_exit && exit.is_exit);
		CHECK(told(names[i][0]) == LULL_FILTER_STATE_PAIRS);
		CHECK(told(names[i][1]) == LULL_FILTER_STATE_PAIRS);
	}
	CHECK(end_of("a:b_entry", 10).pair != end_of("a:c_entry", 10).pair);
	CHECK(!end_of("a:b", 10).pair && !end_of("a:entrya", 10).pair &&
	      !end_of("_entry", 10).pair);
	CHECK(told("a:b") == LULL_FILTER_STATE_SAMPLES);
	return 0;
}

static int end_whose_partner_is_recorded_otherwise_draws_for_itself(void)
{
	static const struct {
		const char *patterns;
		uint32_t rates[3];
	} given[] = {
		{ "a:b_entry\n", { 10 } },
		{ "a:*\na:*_exit\n", { 10, 0 } },
		{ "a:*\na:*_exit\n", { 10, 11 } },
		{ "a:*\n!a:*_exit\n", { 10 } },
	};
	struct lull_note note;

	for (uint32_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		session_ask(given[i].patterns, given[i].rates);
		CHECK(told("a:b_entry") == LULL_FILTER_STATE_SAMPLES);
	}
	session_ask("a:*\na:*_exit\n", (uint32_t[]){ 10, 10 });
	CHECK(told("a:b_entry") == LULL_FILTER_STATE_PAIRS);
	/* A filter, which takes 8 bytes here, of the partner's. */
	filters[1].bytes = 8;
	session.filters_bytes += 8;
	lull_process.sessions[0] = session;
	CHECK(told("a:b_entry") == LULL_FILTER_STATE_SAMPLES);
	/* Throttles. */
	session_ask("a:*", (uint32_t[]){ 10 });
	lull_process.sessions[0].budget = (struct budget){ throttles, counts, 0 };
	CHECK(told("a:b_entry") == LULL_FILTER_STATE_SAMPLES);
	/* The rate for another level. */
	session_ask("a:*\na:*@error\n", (uint32_t[]){ 10, 20 });
	note = note_of("a:b_exit", LULL_LEVEL_ERROR);
	CHECK(lull_pair_find(&session, &note, 20).pair != end_of("a:b_entry", 10).pair);
	return 0;
}

/* One end of the pair of a number, which is taken always or never. */
static struct sampling end(uint64_t pair, int is_exit, int is_taken)
{
	return (struct sampling){ .chance = is_taken ? SAMPLING_WHOLE : 0,
				  .end = { pair, (uint64_t)is_exit } };
}

static int enter(uint64_t pair, int is_taken)
{
	struct sampling entry = end(pair, 0, is_taken);

	return sampling_draw(&entry) == is_taken;
}

/* What becomes of an exit; one of which no entry is known would be as @is_taken says. */
static int leave(uint64_t pair, int is_taken)
{
	struct sampling exit = end(pair, 1, is_taken);

	return sampling_draw(&exit);
}

/* This thread has not recorded yet. */
static void begin(void)
{
	memset(lull_thread.pairs, 0, sizeof(lull_thread.pairs));
	lull_thread.pairs_oldest = lull_thread.pairs_forgotten = 0;
}

static int exit_does_as_its_own_entry_did(void)
{
	begin();
	for (int outer = 0; outer < 2; outer++)
		for (int inner = 0; inner < 2; inner++) {
			CHECK(enter(5, outer) && enter(5, inner) && enter(6, !inner));
			CHECK(leave(5, !inner) == inner && leave(6, inner) == !inner);
			CHECK(leave(5, !outer) == outer);
		}
	/* Its entry was before the recording, or in another thread. */
	CHECK(leave(5, 1) == 1 && leave(5, 0) == 0 && leave(7, 1) == 1);
	return 0;
}

static int share_of_calls_is_as_asked(void)
{
	struct sampling entry = { .end = { 9, 0 } }, exit = { .end = { 9, 1 } };
	uint32_t taken = 0;

	begin();
	lull_sampling_set(&entry, 4);
	lull_sampling_set(&exit, 4);
	for (uint32_t i = 0; i < 100000; i++) {
		int is_taken = sampling_draw(&entry);

		taken += (uint32_t)is_taken;
		CHECK(sampling_draw(&exit) == is_taken);
	}
	/* 25000 are expected: these bounds are seven standard deviations away. */
	CHECK(taken > 24000 && taken < 26000);
	for (uint32_t i = taken = 0; i < 100000; i++)
		taken += (uint32_t)sampling_draw(&exit);
	CHECK(taken > 24000 && taken < 26000);
	return 0;
}

/* @depth calls in each other, of which each @nth is taken. Return: how many exits were wrong. */
static uint32_t recurse(uint32_t depth, uint32_t nth, uint32_t *taken)
{
	uint32_t wrong = 0;

	*taken = 0;
	for (uint32_t i = 0; i < depth; i++)
		if (!enter(5, i % nth == 0))
			return depth;
	for (uint32_t i = depth; i--;) {
		int is_taken = leave(5, 1);

		*taken += (uint32_t)is_taken;
		wrong += is_taken && i % nth != 0;
	}
	return wrong;
}

static int recursion_is_known_to_its_depth_and_beyond_it_no_wrong_exit_is_recorded(void)
{
	uint32_t taken;

	for (uint32_t nth = 1; nth < 5; nth++) {
		begin();
		CHECK(!recurse(DEPTH, nth, &taken) && taken == (DEPTH + nth - 1) / nth);
		CHECK(!lull_thread.pairs_forgotten);
		for (uint32_t depth = DEPTH + 1; depth < 300; depth++) {
			CHECK(!recurse(depth, nth, &taken));
			CHECK(taken >= DEPTH / nth - 1 && taken <= (DEPTH + nth) / nth);
			CHECK(!recurse(DEPTH, nth, &taken) && taken == (DEPTH + nth - 1) / nth);
		}
		CHECK(!leave(5, 1));
	}
	return 0;
}

static int more_pairs_than_there_are_places_for_lose_the_oldest(void)
{
	uint32_t found = 0;

	begin();
	for (uint64_t pair = 1; pair <= PAIRS_OPEN; pair++)
		CHECK(enter(pair << 32 | 1, 1));
	CHECK(!lull_thread.pairs_forgotten);
	CHECK(enter(99, 0) && enter(98, 1));
	CHECK(leave(98, 0) == 1 && leave(99, 1) == 0);
	for (uint64_t pair = PAIRS_OPEN; pair; pair--)
		found += (uint32_t)leave(pair << 32 | 1, 1);
	CHECK(found == PAIRS_OPEN - 2);
	/* Places that are free again are taken, without the draws of pairs that have gone. */
	for (uint64_t pair = 200; pair < 200 + PAIRS_OPEN; pair++)
		CHECK(enter(pair, 0));
	for (uint64_t pair = 200; pair < 200 + PAIRS_OPEN; pair++)
		CHECK(!leave(pair, 1));
	return 0;
}

static int sessions_draw_apart_and_what_is_left_of_one_is_no_other_ones(void)
{
	uint64_t first, second;

	begin();
	session_ask("a:*", (uint32_t[]){ 10 });
	first = end_of("a:b_entry", 10).pair;
	session.fixed.uuid[15]++;
	second = end_of("a:b_entry", 10).pair;
	CHECK(first != second);
	CHECK(enter(first, 1) && enter(second, 0) && leave(second, 1) == 0 && leave(first, 0) == 1);
	/* The first one ends while this thread is in a call. */
	CHECK(enter(first, 1) && leave(second, 0) == 0);
	CHECK(enter(second, 0) && leave(second, 1) == 0);
	/* As many as there are places end so: what comes later finds room. */
	for (uint64_t stale = 1000; stale < 1000 + PAIRS_OPEN; stale++)
		CHECK(enter(stale, 1));
	for (uint32_t round = 0; round < 2 * PAIRS_OPEN; round++) {
		CHECK(enter(second, 1) && enter(5, 0));
		leave(5, 1);
		leave(second, 1);
	}
	CHECK(enter(second, 1) && enter(5, 0) && leave(5, 1) == 0 && leave(second, 0) == 1);
	return 0;
}

static int child_goes_on_with_the_calls_of_its_parent(void)
{
	pid_t child;
	int status;

	begin();
	CHECK(enter(5, 1) && enter(6, 0));
	child = fork();
	if (!child)
		_exit(leave(6, 1) || leave(5, 0) != 1 || !enter(5, 0) || leave(5, 1));
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
	CHECK(leave(6, 1) == 0 && leave(5, 0) == 1);
	return 0;
}

static void *leave_elsewhere(void *unused)
{
	(void)unused;
	return leave(5, 0) || leave(5, 1) != 1 ? "wrong" : NULL;
}

static int threads_are_in_calls_of_their_own(void)
{
	pthread_t thread;
	void *wrong;

	begin();
	CHECK(enter(5, 1));
	CHECK(!pthread_create(&thread, NULL, leave_elsewhere, NULL));
	pthread_join(thread, &wrong);
	CHECK(!wrong && leave(5, 0) == 1);
	return 0;
}

#if defined(__x86_64__)
#define TRAP 0x100ull /* of the flags: a signal behind each instruction */

static volatile uint32_t steps, wrong_steps, traced;

/* Calls of the pair that is interrupted, and of one that looks for room at the same place. */
static void step(int signal, siginfo_t *information, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal;
	(void)information;
	steps++;
	wrong_steps += !enter(5, 1) || leave(5, 0) != 1;
	wrong_steps += !enter(5 + PAIRS_OPEN, 1) || !enter(5, 0) || leave(5, 1) != 0 ||
		       leave(5 + PAIRS_OPEN, 0) != 1;
	if (!traced)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP;
}

static void trace(int is_on)
{
	traced = (uint32_t)is_on;
	if (is_on)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static int handler_at_any_instruction_leaves_the_calls_that_it_interrupts(void)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
	int first, second, third;

	begin();
	CHECK(!sigaction(SIGTRAP, &action, NULL));
	for (int is_taken = 0; is_taken < 2; is_taken++) {
		steps = 0;
		trace(1);
		first = enter(5, is_taken);
		second = enter(5, !is_taken);
		third = leave(5, is_taken);
		trace(0);
		CHECK(first && second && third == !is_taken);
		trace(1);
		first = leave(5, !is_taken);
		second = enter(5, is_taken);
		third = leave(5, !is_taken);
		trace(0);
		CHECK(first == is_taken && second && third == is_taken);
		CHECK(steps > 100 && !wrong_steps && !lull_thread.pairs_forgotten);
	}
	return 0;
}
#endif

int main(void)
{
	lull_identity_start();
	RUN(ends_of_a_call_at_one_rate_are_a_pair_and_the_session_is_told);
	RUN(end_whose_partner_is_recorded_otherwise_draws_for_itself);
	RUN(exit_does_as_its_own_entry_did);
	RUN(share_of_calls_is_as_asked);
	RUN(recursion_is_known_to_its_depth_and_beyond_it_no_wrong_exit_is_recorded);
	RUN(more_pairs_than_there_are_places_for_lose_the_oldest);
	RUN(sessions_draw_apart_and_what_is_left_of_one_is_no_other_ones);
	RUN(child_goes_on_with_the_calls_of_its_parent);
	RUN(threads_are_in_calls_of_their_own);
#if defined(__x86_64__)
	RUN(handler_at_any_instruction_leaves_the_calls_that_it_interrupts);
#else
	skip("handler_at_any_instruction_leaves_the_calls_that_it_interrupts",
	     "a thread cannot step itself on this architecture");
#endif
	return sums();
}
