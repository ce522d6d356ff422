/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Seeded faults in core, each of which its scenario must catch.
 *
 * Core asks LULL_MUTANT(NAME), which is 0 in every port but this one. One binary holds all
 * of them; the test selects one, runs the scenario named here and fails if it passes. So each
 * is also a proof that its scenario reaches what it claims to. docs/design/11-sched.md.
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
	X(LOST_UNCHECKED, "an event is lost by words read before and after a nested writer",       \
	  "nested_writer_with_room_for_both_loses_nothing")                                        \
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
	X(TAKE_NO_BARRIER, "take has no heavy barrier", "dead_writer_is_taken_from_at_every_step") \
	X(TAKE_ANY_LAP, "take exchanges a reference of any lap",                                   \
	  "writer_laps_the_reader_as_it_takes")                                                    \
	X(PEEK_ONCE, "peek does not look at the write count again",                                \
	  "reader_peeks_at_the_open_subbuf")                                                       \
	X(PEEK_RUN_EARLY, "peek believes last_cycles by a run read before its barrier",            \
	  "reader_peeks_at_the_open_subbuf")                                                       \
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
	X(RUN_AT_END, "a run goes on at the start of a sub-buffer not yet opened",                 \
	  "two_writers_of_one_cpu_and_reader")

/* Tested by core/clock/test: synthetic_sched.c and synthetic_arithmetic.c. */
#define SCHED_MUTANTS_CLOCK(X)                                                  \
	X(CLOCK_ONE_COPY, "the update writes the copy that readers use",        \
	  "nmi_sees_the_only_copy_change")                                      \
	X(CLOCK_INDEX_EARLY, "the index is flipped before the copy is written", \
	  "nmi_sees_an_index_that_came_early")                                  \
	X(CLOCK_NO_FLIP, "the index is not flipped", "synthetic_arithmetic")    \
	X(CLOCK_NO_TOLERANCE, "a small step back counts as a whole period", "synthetic_arithmetic")

#define SCHED_MUTANT_NAME(name, text, scenario) SCHED_MUTANT_##name,

enum sched_mutant {
	SCHED_MUTANT_NONE,
	SCHED_MUTANTS_RING(SCHED_MUTANT_NAME) SCHED_MUTANTS_CLOCK(SCHED_MUTANT_NAME)
		SCHED_MUTANT_COUNT
};

extern enum sched_mutant sched_mutant;

#endif
