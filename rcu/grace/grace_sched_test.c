// SPDX-License-Identifier: MIT
/*
 * Grace periods through every interleaving of readers and updaters, within bounds.
 *
 * What is explored is the shipped grace.c and the shipped read sides of lull/rcu/domain.h. No
 * section may see an element reclaimed, no store of a section may land after that, every thread
 * ends: no wake-up is lost. The driver never spins (RCU_SPINS is 0), so that it sleeps wherever
 * it can. Built a second time with RCU_TWO_PHASES.
 * Paper: T 6.4.2-6.4.4; 6.4.3 (two grace periods beside one section).
 */
#include "grace_sched_test.h"

struct rcu_domain *domain;
struct rcu_grace *grace;
struct rcu_reader *readers;
unsigned long *pointers;
struct element *elements;
unsigned long *updates_left;
struct books *books;
const long *parameter;

static void plain_links(const struct rcu_reader *reader)
{
	sched_plain(&reader->next, sizeof(reader->next) + sizeof(reader->previous));
}

static void names(void)
{
	static const char *const word[] = { "A.word", "B.word", "U.word" };
	static const char *const waited[] = { "A.waited", "B.waited", "U.waited" };
	uint32_t i;

	sched_name(&domain->counter, 8, "counter");
	sched_name(&grace->lock, 8, "lock");
	sched_name(&grace->seq, 8, "seq");
	sched_name(&grace->left, 4, "left");
	sched_name(&grace->ended, 4, "ended");
	sched_name(updates_left, 8, "updates left");
	sched_name(pointers, 8, "pointer A");
	sched_name(pointers + 1, 8, "pointer B");
	sched_name(elements, UPDATERS_MAX * ELEMENTS * sizeof(*elements), "elements");
	for (i = 0; i < READERS_MAX; i++) {
		sched_name(&readers[i].word, 8, word[i]);
		sched_name(&readers[i].waited, 4, waited[i]);
	}
}

static void memory_make(void)
{
	static const enum rcu_kind kind[] = { [FLAVOUR_LIGHT] = RCU_KIND_MEMBARRIER,
					      [FLAVOUR_FULL] = RCU_KIND_FULL,
					      [FLAVOUR_QSBR] = RCU_KIND_QSBR,
					      [FLAVOUR_AUTO] = RCU_KIND_MEMBARRIER };
	uint32_t i;

	domain = sched_alloc(sizeof(*domain), 64);
	grace = sched_alloc(sizeof(*grace), 64);
	readers = sched_alloc(READERS_MAX * sizeof(*readers), 64);
	pointers = sched_alloc(UPDATERS_MAX * sizeof(*pointers), 64);
	elements = sched_alloc(UPDATERS_MAX * ELEMENTS * sizeof(*elements), 64);
	updates_left = sched_alloc(sizeof(*updates_left), 64);
	books = sched_ghost(sizeof(*books));
	*updates_left = 1u + !!parameter[UPDATER_B] + !!parameter[UPDATER_C];
	domain->counter = 1;
	domain->grace = grace;
	domain->kind = kind[parameter[FLAVOUR]];
	domain->self_registering = parameter[FLAVOUR] == FLAVOUR_AUTO;
	*grace = (struct rcu_grace)RCU_GRACE_INITIALIZER(*grace, domain);
	plain_links(&grace->readers);
	plain_links(&grace->pending);
	sched_plain(&grace->reader_count, sizeof(grace->reader_count));
	sched_plain(&grace->phase, 4 * sizeof(uint32_t)); /* to sleepers */
	for (i = 0; i < READERS_MAX; i++) {
		plain_links(&readers[i]);
		sched_plain(&readers[i].tid, 8); /* and registered */
		if (parameter[FLAVOUR] == FLAVOUR_AUTO)
			readers[i].word = RCU_UNREGISTERED;
	}
	for (i = 0; i < UPDATERS_MAX; i++) {
		pointers[i] = i * ELEMENTS;
		elements[i * ELEMENTS].value = VALUE + i * ELEMENTS;
	}
}

static void setup(const struct sched_scenario *scenario)
{
	int thread[4] = { -1, -1, -1, -1 };
	uint32_t i;

	parameter = scenario->parameter;
	memory_make();
	names();
	for (i = 0; i < READERS_MAX; i++) {
		if (parameter[UNREGISTERED] >> i & 1 ||
		    (i < 2 ? !parameter[READER_A + i] : parameter[HANDLER] != HANDLER_IN_UPDATER))
			continue;
		reader_register(i);
		if (parameter[OFFLINE] >> i & 1)
			rcu_reader_offline(domain, &readers[i]);
	}
	thread[0] = sched_thread("updater A", 0, updater_thread, 0);
	if (parameter[READER_A])
		thread[1] = sched_thread("reader A", 1, reader_thread, 0);
	if (parameter[READER_B])
		sched_thread("reader B", 2, reader_thread, 1);
	if (parameter[UPDATER_B])
		sched_thread("updater B", 2, updater_thread, 1);
	if (parameter[UPDATER_C])
		sched_thread("updater C", 1, updater_thread, 2);
	if (parameter[HANDLER])
		sched_handler("handler", thread[parameter[HANDLER] == HANDLER_IN_READER],
			      (uint32_t)parameter[HANDLER_RUNS], handler_thread,
			      parameter[HANDLER] == HANDLER_IN_READER ? 0 : 2);
}

/* I2, seen whenever nobody is in the middle of a change. */
static void invariant(void)
{
	if (sched_newest(&grace->lock.holder) || (sched_newest((uint64_t *)&grace->seq) & 1))
		return;
	sched_check(grace->pending.next == &grace->pending,
		    "no grace period, but a reader waited for");
}

static void finish(void)
{
	sched_check(!grace->driven && !grace->asleep && !grace->sleepers,
		    "everyone has ended, but someone drives or sleeps");
}

#define ON(machine, scenario_name, ...)                                                          \
	{                                                                                        \
		.name = scenario_name, .setup = setup, .invariant = invariant, .finish = finish, \
		.memory = machine, .preemptions = SCHED_UNBOUNDED, __VA_ARGS__                   \
	}
#define SCENARIO(...) ON(SCHED_PSO, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, __VA_ARGS__)
#define LIGHT [FLAVOUR] = FLAVOUR_LIGHT
#define FULL [FLAVOUR] = FLAVOUR_FULL
#define QSBR [FLAVOUR] = FLAVOUR_QSBR
#define AUTO [FLAVOUR] = FLAVOUR_AUTO

static const struct sched_scenario scenarios[] = {
	/* barriers forced on readers: signal, memb */
	SCENARIO("light_section_beside_one_update",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1 }),
	SCENARIO("light_section_stores_beside_one_update",
		 .parameter = { LIGHT, [READER_A] = 2, [UPDATER_A] = 1 }),
	SCENARIO("light_sections_follow_each_other",
		 .parameter = { LIGHT, [READER_A] = 0x232, [UPDATER_A] = 1 }),
	SCENARIO("light_section_beside_two_updates",
		 .parameter = { LIGHT, [READER_A] = 0x13, [UPDATER_A] = 0x11 }),
	SCENARIO("light_section_beside_two_updaters",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1, [UPDATER_B] = 1 }),
	SCENARIO("light_section_beside_a_driver_a_sleeper_and_a_poll",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 5, [UPDATER_B] = 1,
				[UPDATER_C] = 6 }),
	SCENARIO("light_section_beside_three_updates", .wakeups = 1,
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 0x11, [UPDATER_B] = 5 }),
	SCENARIO("two_light_readers_beside_one_update",
		 .parameter = { LIGHT, [READER_A] = 2, [READER_B] = 1, [UPDATER_A] = 1 }),
	SCENARIO("light_handler_at_every_step_of_a_reader",
		 .parameter = { LIGHT, [READER_A] = 3, [UPDATER_A] = 1,
				[HANDLER] = HANDLER_IN_READER, [HANDLER_RUNS] = 1 }),
	SCENARIO("light_handlers_beside_two_updates",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 0x11,
				[HANDLER] = HANDLER_IN_READER, [HANDLER_RUNS] = 2 }),
	SCENARIO("light_handler_at_every_step_of_an_updater",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 0x11,
				[HANDLER] = HANDLER_IN_UPDATER, [HANDLER_RUNS] = 2 }),
	SCENARIO("light_section_beside_a_poll", .cycles_allowed = 2,
		 .parameter = { LIGHT, [READER_A] = 0x11, [UPDATER_A] = 0x34 }),
	SCENARIO("light_sections_beside_a_driver_and_a_poll",
		 .parameter = { LIGHT, [READER_A] = 0x11, [UPDATER_A] = 1, [UPDATER_B] = 4 }),
	SCENARIO("light_section_beside_an_expedited_update", .cycles_allowed = 2,
		 .parameter = { LIGHT, [READER_A] = 0x11, [UPDATER_A] = 0x22 }),
	SCENARIO("light_section_beside_a_driver_and_an_expedited_update", .cycles_allowed = 2,
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1, [UPDATER_B] = 2 }),
	SCENARIO("light_reader_registers_and_unregisters",
		 .parameter = { LIGHT, [READER_A] = 0x81787, [UPDATER_A] = 0x11,
				[UNREGISTERED] = 1 }),
	SCENARIO("light_reader_registers_beside_another",
		 .parameter = { LIGHT, [READER_A] = 0x817, [READER_B] = 1, [UPDATER_A] = 1,
				[UNREGISTERED] = 1 }),
	SCENARIO("light_reader_ends_within_a_section",
		 .parameter = { LIGHT, [READER_A] = 9, [READER_B] = 8, [UPDATER_A] = 1 }),

	/* barriers in the reader: mb */
	SCENARIO("full_section_beside_one_update",
		 .parameter = { FULL, [READER_A] = 1, [UPDATER_A] = 1 }),
	SCENARIO("full_section_stores_beside_one_update",
		 .parameter = { FULL, [READER_A] = 2, [UPDATER_A] = 1 }),
	SCENARIO("full_sections_beside_two_updates",
		 .parameter = { FULL, [READER_A] = 0x132, [UPDATER_A] = 0x11 }),
	SCENARIO("full_section_beside_two_updaters",
		 .parameter = { FULL, [READER_A] = 3, [UPDATER_A] = 1, [UPDATER_B] = 1 }),
	SCENARIO("two_full_readers_beside_one_update",
		 .parameter = { FULL, [READER_A] = 2, [READER_B] = 1, [UPDATER_A] = 1 }),
	SCENARIO("full_handler_at_every_step_of_a_reader",
		 .parameter = { FULL, [READER_A] = 3, [UPDATER_A] = 0x11,
				[HANDLER] = HANDLER_IN_READER, [HANDLER_RUNS] = 2 }),
	SCENARIO("full_handler_at_every_step_of_an_updater",
		 .parameter = { FULL, [READER_A] = 1, [UPDATER_A] = 1,
				[HANDLER] = HANDLER_IN_UPDATER, [HANDLER_RUNS] = 2 }),
	SCENARIO("full_sections_beside_a_driver_and_a_poll",
		 .parameter = { FULL, [READER_A] = 0x11, [UPDATER_A] = 1, [UPDATER_B] = 4 }),

	/* barriers in quiescent states: qsbr */
	SCENARIO("qsbr_reader_beside_one_update",
		 .parameter = { QSBR, [READER_A] = 0x5142, [UPDATER_A] = 1 }),
	SCENARIO("qsbr_reader_beside_two_updates",
		 .parameter = { QSBR, [READER_A] = 0x541414, [UPDATER_A] = 0x11 }),
	SCENARIO("qsbr_reader_beside_two_updaters",
		 .parameter = { QSBR, [READER_A] = 0x5142, [UPDATER_A] = 1, [UPDATER_B] = 1 }),
	SCENARIO("two_qsbr_readers_beside_one_update",
		 .parameter = { QSBR, [READER_A] = 0x542, [READER_B] = 0x541, [UPDATER_A] = 1 }),
	SCENARIO("qsbr_reader_goes_offline",
		 .parameter = { QSBR, [READER_A] = 0x51652, [UPDATER_A] = 1 }),
	SCENARIO("qsbr_reader_is_offline_at_first",
		 .parameter = { QSBR, [READER_A] = 0x5416, [UPDATER_A] = 0x11, [OFFLINE] = 1 }),
	SCENARIO("qsbr_reader_registers_and_unregisters",
		 .parameter = { QSBR, [READER_A] = 0x81787, [UPDATER_A] = 0x11,
				[UNREGISTERED] = 1 }),
	SCENARIO("qsbr_handler_at_every_step_of_a_reader",
		 .parameter = { QSBR, [READER_A] = 0x5414, [UPDATER_A] = 0x11,
				[HANDLER] = HANDLER_IN_READER, [HANDLER_RUNS] = 2 }),
	SCENARIO("qsbr_reader_stays_online", .cycles_allowed = 2,
		 .parameter = { QSBR, [READER_A] = 0xa1, [UPDATER_A] = 0x11 }),
	SCENARIO("qsbr_reader_beside_a_driver_and_a_poll",
		 .parameter = { QSBR, [READER_A] = 0x5414, [UPDATER_A] = 1, [UPDATER_B] = 4 }),

	/* threads that register as they first read: bp */
	SCENARIO("auto_reader_registers_beside_two_updates",
		 .parameter = { AUTO, [READER_A] = 0x813, [UPDATER_A] = 0x11, [UNREGISTERED] = 1 }),
	SCENARIO("visitor_beside_one_update",
		 .parameter = { AUTO, [READER_A] = 0x31, [UPDATER_A] = 1, [UNREGISTERED] = 1,
				[VISITS] = 1 }),
	SCENARIO("visitor_beside_two_updates",
		 .parameter = { AUTO, [READER_A] = 0x12, [UPDATER_A] = 0x11, [UNREGISTERED] = 1,
				[VISITS] = 1 }),
	SCENARIO("visitor_beside_a_driver_and_a_poll",
		 .parameter = { AUTO, [READER_A] = 0x1, [UPDATER_A] = 1, [UPDATER_B] = 4,
				[UNREGISTERED] = 1, [VISITS] = 1 }),

	/* loads of old values */
	STALE("light_section_beside_one_update_by_old_values",
	      .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1 }),
	STALE("light_section_stores_by_old_values",
	      .parameter = { LIGHT, [READER_A] = 2, [UPDATER_A] = 1 }),
	STALE("light_section_beside_two_updates_by_old_values",
	      .parameter = { LIGHT, [READER_A] = 0x13, [UPDATER_A] = 0x11 }),
	STALE("light_section_beside_two_updaters_by_old_values",
	      .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1, [UPDATER_B] = 1 }),
	STALE("light_section_stores_beside_a_poll_by_old_values", .cycles_allowed = 2,
	      .parameter = { LIGHT, [READER_A] = 2, [UPDATER_A] = 3 }),
	STALE("light_section_stores_beside_polls_by_old_values", .cycles_allowed = 2,
	      .parameter = { LIGHT, [READER_A] = 2, [UPDATER_A] = 3, [UPDATER_B] = 6 }),
	STALE("full_section_stores_by_old_values",
	      .parameter = { FULL, [READER_A] = 2, [UPDATER_A] = 1 }),
	STALE("full_section_beside_two_updates_by_old_values",
	      .parameter = { FULL, [READER_A] = 1, [UPDATER_A] = 0x11 }),
	STALE("qsbr_reader_beside_one_update_by_old_values",
	      .parameter = { QSBR, [READER_A] = 0x5142, [UPDATER_A] = 1 }),
	STALE("qsbr_reader_goes_offline_by_old_values",
	      .parameter = { QSBR, [READER_A] = 0x51651, [UPDATER_A] = 1 }),
};

/* The long form: more of each; minutes, and up to 2 GiB. */
static const struct sched_scenario scenarios_long[] = {
	SCENARIO("two_light_readers_beside_two_updaters",
		 .parameter = { LIGHT, [READER_A] = 1, [READER_B] = 1, [UPDATER_A] = 1,
				[UPDATER_B] = 1 }),
	SCENARIO("two_light_readers_beside_two_updates",
		 .parameter = { LIGHT, [READER_A] = 0x13, [READER_B] = 2, [UPDATER_A] = 0x11 }),
	SCENARIO(
		"light_sections_beside_four_updates", .wakeups = 1,
		.parameter = { LIGHT, [READER_A] = 0x113, [UPDATER_A] = 0x11, [UPDATER_B] = 0x11 }),
	SCENARIO("light_handlers_beside_two_updaters",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1, [UPDATER_B] = 1,
				[HANDLER] = HANDLER_IN_READER, [HANDLER_RUNS] = 2 }),
	SCENARIO("light_handlers_in_one_of_two_updaters",
		 .parameter = { LIGHT, [READER_A] = 1, [UPDATER_A] = 1, [UPDATER_B] = 1,
				[HANDLER] = HANDLER_IN_UPDATER, [HANDLER_RUNS] = 2 }),
	SCENARIO("light_readers_beside_a_driver_and_a_poll",
		 .parameter = { LIGHT, [READER_A] = 1, [READER_B] = 1, [UPDATER_A] = 1,
				[UPDATER_B] = 4 }),
	SCENARIO("light_readers_register_and_unregister",
		 .parameter = { LIGHT, [READER_A] = 0x8178, [READER_B] = 0x817, [UPDATER_A] = 0x11,
				[UNREGISTERED] = 2 }),
	SCENARIO("two_full_readers_beside_two_updaters",
		 .parameter = { FULL, [READER_A] = 1, [READER_B] = 1, [UPDATER_A] = 1,
				[UPDATER_B] = 1 }),
	SCENARIO("two_qsbr_readers_beside_two_updaters",
		 .parameter = { QSBR, [READER_A] = 0x541, [READER_B] = 0x541, [UPDATER_A] = 1,
				[UPDATER_B] = 1 }),
	SCENARIO("qsbr_handlers_beside_two_updaters",
		 .parameter = { QSBR, [READER_A] = 0x5414, [UPDATER_A] = 1, [UPDATER_B] = 1,
				[HANDLER] = HANDLER_IN_READER, [HANDLER_RUNS] = 2 }),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_GRACE(SCHED_FAULT)
#if RCU_PHASES == 2
						     SCHED_MUTANTS_GRACE_PHASES(SCHED_FAULT)
#else
						     SCHED_MUTANTS_GRACE_NUMBER(SCHED_FAULT)
#endif
};

/* grace_sched_test [scenarios | mutants | long [NAME]] */
int main(int count, char **argument)
{
	static const struct sched_suite suite = {
		.scenarios = SCHED_TABLE(scenarios),
		.longer = SCHED_TABLE(scenarios_long),
		.fault = faults,
		.fault_count = SCHED_COUNT(faults),
	};

	return sched_main(&suite, count, argument);
}
