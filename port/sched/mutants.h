/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Seeded faults in core, each of which its scenario must catch.
 *
 * Core asks LULL_MUTANT(NAME), which is 0 in every port but this one; where the answer would need
 * statements of its own, a patch in port/sched/faults asks. One binary holds all of them; the test
 * selects one, runs the scenario named here, and fails if the scenario passes. So each fault also
 * proves that its scenario reaches the code that it claims to check. docs/design/11-sched.md.
 */
#ifndef LULL_SCHED_MUTANTS_H
#define LULL_SCHED_MUTANTS_H

/* X(name, what is wrong, the scenario that must fail) */
#define SCHED_MUTANTS_RING(X)                                                                      \
	X(EQUATION_1, "the buffer counts as full one sub-buffer too late",                         \
	  "one_writer_fills_the_ring_and_counts_the_rest_lost")                                    \
	X(EQUATION_2, "a sub-buffer full in any lap counts as ready",                              \
	  "reader_frees_room_for_a_writer")                                                        \
	X(EQUATION_3, "a sub-buffer still being written counts as committed",                      \
	  "nested_writer_laps_at_every_step")                                                      \
	X(EQUATION_4, "the open sub-buffer counts as closed",                                      \
	  "dead_writer_is_taken_from_at_every_step")                                               \
	X(LOST_UNCHECKED, "an event is lost because of words read before and after a handler",     \
	  "nested_writer_with_room_for_both_loses_nothing")                                        \
	X(REFERENCE_ONCE,                                                                          \
	  "an event is lost by the count of a sub-buffer that the reader took meanwhile",          \
	  "writer_laps_the_reader_where_subbufs_end")                                              \
	X(COMMIT_EARLY, "the commit count is added before the header word is written",             \
	  "two_writers_of_one_cpu_and_reader")                                                     \
	X(HEADER_EARLY, "nothing keeps the payload before the header word",                        \
	  "live_writer_is_taken_from_at_every_step")                                               \
	X(ADD_RELAXED, "the port's add does not keep earlier stores before it",                    \
	  "reader_frees_room_for_a_writer")                                                        \
	X(SEQ_EARLY, "a sub-buffer is delivered at each commit",                                   \
	  "one_writer_fills_the_ring_and_counts_the_rest_lost")                                    \
	X(OPEN_UNREAD, "a sub-buffer is opened whether it was read or not",                        \
	  "reader_frees_room_for_a_writer")                                                        \
	X(PUT_EARLY, "the reader gives a sub-buffer back before it has read it",                   \
	  "reader_frees_room_for_a_writer")                                                        \
	X(NO_MARK, "the port leaves no mark with a reservation",                                   \
	  "dead_writer_is_taken_from_at_every_step")                                               \
	X(NO_PHYSICAL, "the port does not store where the slots of a run lie",                     \
	  "two_writers_of_one_cpu_and_reader")                                                     \
	X(TAKE_NO_BARRIER, "take has no heavy barrier", "dead_writer_is_taken_from_at_every_step") \
	X(TAKE_ANY_LAP, "take exchanges a reference of any lap",                                   \
	  "writer_laps_the_reader_as_it_takes")                                                    \
	X(PEEK_ONCE, "peek does not look at the write count again",                                \
	  "reader_peeks_at_the_open_subbuf")                                                       \
	X(PEEK_RUN_EARLY, "peek believes last_cycles because of a run read before its barrier",    \
	  "reader_peeks_at_the_open_subbuf")                                                       \
	X(LOOK_ANY_LAP, "what was looked at is believed although it was overwritten",              \
	  "flight_recorder_is_looked_at_twice")                                                    \
	X(REFERENCE_NOT_SET, "an open sub-buffer's reference is not set to writing",               \
	  "writer_laps_the_reader")                                                                \
	X(EXCHANGE_WRITING, "the reader exchanges a reference that is being written",              \
	  "writer_laps_the_reader")                                                                \
	X(FILL_LATE, "the reader's sub-buffer is made to look full after it is handed in",         \
	  "writer_laps_the_reader")                                                                \
	X(PUSH_NOT_HELPED, "the reader leaves it to writers to push it",                           \
	  "dead_writer_in_flight_recorder")                                                        \
	X(DELIVER_NOT_HELPED, "get waits for a dead writer to free a full sub-buffer",             \
	  "dead_writer_in_flight_recorder")                                                        \
	X(TIME_ONCE, "the clock is read once, before the reserve loop",                            \
	  "two_writers_of_one_cpu_and_reader")                                                     \
	X(RUN_FIRST, "the fast path reads run before last_cycles, which run makes valid",          \
	  "reservation_is_interrupted_far_in_time")                                                \
	X(RUN_AT_END, "a run goes on at the start of a sub-buffer not yet opened",                 \
	  "two_writers_of_one_cpu_and_reader")

/* Tested by core/ring/hostile_sched_test.c. */
#define SCHED_MUTANTS_HOSTILE(X)                                                              \
	X(PHYSICAL_UNMASKED, "a reference may name a sub-buffer that the ring does not have", \
	  "hostile_stores_at_any_step_of_an_opener")                                          \
	X(SLOT_UNALIGNED, "a slot begins where the write count says, multiple of 4 or not",   \
	  "hostile_stores_at_any_step_of_an_opener")                                          \
	X(ROUNDS_UNBOUNDED, "reserve does not count its rounds",                              \
	  "hostile_counters_beside_an_opener")                                                \
	X(COMMITTED_UNBOUNDED, "more bytes are committed than a sub-buffer has",              \
	  "hostile_stores_beside_a_reader_alone")

/* Tested by core/ring/close_sched_test.c. */
#define SCHED_MUTANTS_CLOSE(X)                                                           \
	X(CLOSED_FROM_AFAR, "the flag is stored after the ring was looked at",           \
	  "ring_is_closed_from_another_cpu")                                             \
	X(FLAG_FIRST, "a reservation looks at the flag before it loads the write count", \
	  "ring_is_closed_between_two_writers")

/* Tested by user/events_sched_test.c. */
#define SCHED_MUTANTS_EVENTS(X)                                                  \
	X(CLAIM_STORED, "an identifier is claimed by a load and a store",        \
	  "processes_register_in_opposite_orders")                               \
	X(ARENA_STORED, "a place in the arena is claimed by a load and a store", \
	  "processes_register_in_opposite_orders")                               \
	X(OFFSET_EARLY, "a description is published before it is written",       \
	  "processes_register_in_the_same_order")

/* Tested by core/clock/test: synthetic_sched.c and synthetic_arithmetic.c. */
#define SCHED_MUTANTS_CLOCK(X)                                                  \
	X(CLOCK_ONE_COPY, "the update writes the copy that readers use",        \
	  "nmi_sees_the_only_copy_change")                                      \
	X(CLOCK_INDEX_EARLY, "the index is flipped before the copy is written", \
	  "nmi_sees_an_index_that_came_early")                                  \
	X(CLOCK_NO_FLIP, "the index is not flipped", "synthetic_arithmetic")    \
	X(CLOCK_NO_TOLERANCE, "a small step back counts as a whole period", "synthetic_arithmetic")

/*
 * Tested by rcu/grace/grace_sched_test.c. Those of the read side in lull/rcu/domain.h are seeded
 * in port/sched/rcu/rcu_port.c, by function.
 */
#define SCHED_MUTANTS_GRACE(X)                                                                   \
	X(BEGIN_NO_FENCE, "no barrier is forced on readers as a grace period begins",            \
	  "light_section_beside_one_update")                                                     \
	X(CLEAR_LATE, "a reader that left clears waited after the driver may have looked",       \
	  "qsbr_reader_beside_two_updates")                                                      \
	X(END_EARLY, "a grace period ends while readers are missing",                            \
	  "light_section_beside_one_update")                                                     \
	X(SLEEP_NO_FENCE, "the driver sleeps without a barrier forced on readers",               \
	  "light_section_beside_one_update")                                                     \
	X(END_NO_WAKE, "a poll that ends a grace period does not wake the driver",               \
	  "light_sections_beside_a_driver_and_a_poll")                                           \
	X(DRIVE_NO_WAKE, "the driver, when it is done, does not wake the other callers",         \
	  "light_section_beside_a_driver_a_sleeper_and_a_poll")                                  \
	X(VISITOR_CLEARED, "the driver takes from a visitor what has it unregister",             \
	  "visitor_beside_one_update")                                                           \
	X(UNLINK_NO_WAKE, "a thread that ends within a section does not wake the driver",        \
	  "light_reader_ends_within_a_section")                                                  \
	X(SNAP_NO_FENCE, "the caller's removal may be later than its look at seq",               \
	  "light_section_beside_two_updaters")                                                   \
	X(SNAP_RUNNING, "a grace period that runs already counts for a new caller",              \
	  "light_section_beside_two_updaters")                                                   \
	X(ENTER_NO_LIGHT, "the word of a section is not ordered before its reads",               \
	  "light_section_beside_one_update")                                                     \
	X(LEAVE_NO_LIGHT, "the word that ends a section is not ordered before waited",           \
	  "light_section_beside_one_update")                                                     \
	X(LEAVE_RELAXED, "a section's stores may be later than the word that ends it",           \
	  "light_section_stores_beside_one_update")                                              \
	X(ENTER_NESTED_PLAIN, "a handler's mb section relies on the barrier that it interrupts", \
	  "full_handler_at_every_step_of_a_reader")                                              \
	X(ENTER_FULL_LIGHT, "the mb reader enters by a light barrier",                           \
	  "full_section_beside_one_update")                                                      \
	X(LEAVE_FULL_LIGHT, "the mb reader leaves by a light barrier",                           \
	  "full_section_beside_one_update")                                                      \
	X(LEAVE_FULL_RELAXED, "a section's stores may be later than the mb reader's leave",      \
	  "full_section_stores_beside_one_update")                                               \
	X(QUIESCENT_LIGHT, "a quiescent state has a light barrier", "qsbr_reader_stays_online")  \
	X(ONLINE_LIGHT, "coming online has a light barrier", "qsbr_reader_goes_offline")         \
	X(OFFLINE_LIGHT, "going offline has a light barrier", "qsbr_reader_goes_offline")

/* The same, where the counter is a number: with two phases the second would hide the fault. */
#define SCHED_MUTANTS_GRACE_NUMBER(X)                                                     \
	X(FLIP_EARLY, "the counter changes before readers are forced to see the removal", \
	  "light_section_beside_two_updaters")

/* The same, where a grace period has two phases. */
#define SCHED_MUTANTS_GRACE_PHASES(X)                                                    \
	X(ONE_PHASE, "the second phase is left out", "light_section_beside_two_updates") \
	X(PHASE_NO_WAKE, "a poll begins the second phase and does not wake the driver",  \
	  "light_sections_beside_a_driver_and_a_poll")

/* Tested by rcu/qdo/qdo_sched_test.c. QDO_LEAVE_RELAXED is seeded in port/sched/memory.c. */
#define SCHED_MUTANTS_QDO(X)                                                                       \
	X(QDO_ENTER_NO_LIGHT, "an operation's count is not ordered before its reads",              \
	  "snapshot_waits_for_the_other_cpu")                                                      \
	X(QDO_TAKE_NO_FENCE, "requests are taken without a heavy fence",                           \
	  "snapshot_waits_for_the_other_cpu")                                                      \
	X(QDO_FENCE_LATE, "generations are read before the heavy fence",                           \
	  "snapshot_beside_another_that_judges")                                                   \
	X(QDO_LEAVE_RELAXED, "an operation's stores may be later than its count of leaving",       \
	  "snapshot_waits_for_the_other_cpu")                                                      \
	X(QDO_LEAVE_HERE, "an operation is counted as left where it leaves",                       \
	  "operation_leaves_on_another_cpu")                                                       \
	X(QDO_ENTERED_FIRST, "entries are read before leavings", "snapshot_beside_two_operations") \
	X(QDO_ONE_GENERATION, "one generation is enough", "snapshot_beside_an_operation")          \
	X(QDO_TWO_GENERATIONS, "two generations are enough, even if another CPU judged the first", \
	  "snapshot_beside_another_that_judges")                                                   \
	X(QDO_GENERATION_STORE, "a generation is stored, whatever it is by now",                   \
	  "snapshot_beside_another_that_judges")                                                   \
	X(QDO_SNAPSHOT_FIRST, "the first CPU of the set stands for all",                           \
	  "snapshot_waits_for_the_other_cpu")                                                      \
	X(QDO_PUSH_STORE, "a request is pushed by a store", "lock_free_submission")                \
	X(QDO_TAKE_STORE, "a list is read, then emptied by a store", "lock_free_submission")       \
	X(QDO_NO_LOCK, "requests are pushed without the lock", "locked_submission")                \
	X(QDO_STEPPED_SAME, "a request has the same word in the list whenever it comes",           \
	  "same_memory_is_submitted_again")                                                        \
	X(QDO_TOKEN_KEPT, "the CPU that passes the token keeps it", "token_beside_an_operation")   \
	X(QDO_TOKEN_FIRST, "the token's first arrival is enough",                                  \
	  "token_that_left_before_an_operation")                                                   \
	X(QDO_PASS_RELAXED, "the token may arrive before it was given away",                       \
	  "token_beside_an_operation")                                                             \
	X(QDO_NO_WAKE, "the first request does not prompt the CPU that has the token",             \
	  "token_beside_an_operation")                                                             \
	X(QDO_ARRIVE_KEPT, "a request is compared with the generation of the CPU before",          \
	  "multi_token_beside_an_operation")                                                       \
	X(QDO_RING_SHORT, "a request is done after one CPU", "multi_token_beside_an_operation")    \
	X(QDO_TREE_NO_CHILD, "a batch ends without the children",                                  \
	  "tree_beside_an_operation_late_in_a_batch")                                              \
	X(QDO_TREE_ONE_BATCH, "the end of the batch under way is enough",                          \
	  "tree_beside_an_operation_late_in_a_batch")                                              \
	X(QDO_RESET_COUNTS, "a child keeps the parent's operations", "fork_while_others_run")

/* Tested by rcu/call/call_sched_test.c. */
#define SCHED_MUTANTS_CALL(X)                                                        \
	X(CALL_TAKE_STORE, "a worker takes a callback by a load and a store",        \
	  "fork_beside_a_batch")                                                     \
	X(CALL_FORK_STORE, "a fork takes the rest of a batch by a load and a store", \
	  "fork_beside_a_batch")

/* Tested by rcu/call/defer_sched_test.c. */
#define SCHED_MUTANTS_DEFER(X)                                                               \
	X(DEFER_TAKE_STORE, "a deferred call is taken by a load and a store, closed or not", \
	  "fork_beside_a_call")                                                              \
	X(DEFER_CLOSE_STORE, "a fork closes a queue by a load and a store", "fork_beside_a_call")

/*
 * Faults of an order that x86 keeps by itself: an exploration for TSO must not see them. The
 * release stores and light barriers that they remove are for other machines.
 */
#define SCHED_MUTANTS_HIDDEN_BY_TSO                                                       \
	"HEADER_EARLY", "ADD_RELAXED", "TAKE_NO_BARRIER", "PEEK_RUN_EARLY", "FLIP_EARLY", \
		"LEAVE_RELAXED", "LEAVE_FULL_RELAXED", "QDO_LEAVE_RELAXED", "QDO_PASS_RELAXED"

#define SCHED_MUTANT_NAME(name, text, scenario) SCHED_MUTANT_##name,

enum sched_mutant {
	SCHED_MUTANT_NONE,
	SCHED_MUTANTS_EVENTS(SCHED_MUTANT_NAME) SCHED_MUTANTS_RING(SCHED_MUTANT_NAME)
		SCHED_MUTANTS_HOSTILE(SCHED_MUTANT_NAME) SCHED_MUTANTS_CLOSE(SCHED_MUTANT_NAME)
			SCHED_MUTANTS_CLOCK(SCHED_MUTANT_NAME) SCHED_MUTANTS_GRACE(
				SCHED_MUTANT_NAME) SCHED_MUTANTS_GRACE_NUMBER(SCHED_MUTANT_NAME)
				SCHED_MUTANTS_GRACE_PHASES(SCHED_MUTANT_NAME) SCHED_MUTANTS_QDO(
					SCHED_MUTANT_NAME) SCHED_MUTANTS_CALL(SCHED_MUTANT_NAME)
					SCHED_MUTANTS_DEFER(SCHED_MUTANT_NAME) SCHED_MUTANT_COUNT
};

extern enum sched_mutant sched_mutant;

#endif
