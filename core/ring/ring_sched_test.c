// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The ring's writers and reader through every interleaving, within bounds.
 *
 * Two sub-buffers of 256 bytes hold two to four events each, so that a handful of events
 * wraps the buffer. Time is a function of the write count, so a slot has exactly one right
 * time stamp and the clock adds no states. port/sched/sched.h says how the search works.
 * Paper: T 8.6.1 (two sub-buffers, race flags, nested contexts, counter overflow).
 */
#include "ring_sched_test.h"

struct lull_ring ring;
struct books *books;
const long *parameter;

uint64_t clock_at(uint64_t count)
{
	return CLOCK_BASE + ((count - (uint64_t)parameter[START]) << parameter[CLOCK_SHIFT]);
}

static uint64_t clock_now(void)
{
	return clock_at(sched_newest(&ring.shared->write_count));
}

uint32_t subbuf_number(uint64_t position)
{
	return (uint32_t)((position - (uint64_t)parameter[START]) / SUBBUF_BYTES);
}

static void names(void)
{
	static const char *const data[] = { "data[0]", "data[1]", "data[2]", "data[3]",
					    "data[4]", "data[5]", "data[6]", "data[7]" };
	static const char *const count[] = { "commit[0].count", "commit[1].count",
					     "commit[2].count", "commit[3].count",
					     "commit[4].count", "commit[5].count",
					     "commit[6].count", "commit[7].count" };
	static const char *const seq[] = { "commit[0].seq", "commit[1].seq", "commit[2].seq",
					   "commit[3].seq", "commit[4].seq", "commit[5].seq",
					   "commit[6].seq", "commit[7].seq" };
	uint32_t p;

	sched_name(&ring.shared->write_count, 8, "write_count");
	sched_name(&ring.shared->run, 8, "run");
	sched_name(&ring.shared->last_cycles, 8, "last_cycles");
	sched_name(&ring.shared->read_count, 8, "read_count");
	sched_name(ring.shared->lost, sizeof(ring.shared->lost), "lost");
	sched_name(&ring.reference[0], 8, "reference[0]");
	sched_name(&ring.reference[1], 8, "reference[1]");
	for (p = 0; p < ring.geometry.physical_count; p++) {
		sched_name(&ring.commit[p].count, 8, count[p]);
		sched_name(&ring.commit[p].seq, 8, seq[p]);
		sched_name(ring.memory.base + p * SUBBUF_BYTES, SUBBUF_BYTES, data[p]);
	}
}

static void ring_make(const struct sched_scenario *scenario)
{
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = SUBBUF_BYTES,
		.subbuf_count = SUBBUF_COUNT,
		.physical_count = scenario->parameter[SPARES] > 1 ? PHYSICAL_MAX : 4,
		.mode = (uint32_t)scenario->parameter[MODE],
		.plain = (uint32_t)scenario->parameter[PLAIN],
		.stream_id = 3,
	};
	struct lull_ring_memory memory = { NULL, NULL };
	void *control = sched_alloc(lull_ring_control_bytes(&geometry), 64);

	memory.base = sched_alloc(geometry.physical_count * SUBBUF_BYTES, 64);
	lull_ring_attach(&ring, &geometry, control, memory);
	lull_ring_reset(&ring, (uint64_t)scenario->parameter[START]);
}

static void setup(const struct sched_scenario *scenario)
{
	int writer, reader, host;

	parameter = scenario->parameter;
	ring_make(scenario);
	names();
	books = sched_ghost(sizeof(*books));
	books->spare = SUBBUF_COUNT;
	write_events(2, 0, (uint32_t)parameter[PREFILL]);
	writer = sched_thread("writer A", 0, writer_thread, 0);
	sched_may_die(writer);
	sched_may_migrate(writer);
	if (parameter[EVENTS_B])
		sched_may_die(
			sched_thread("writer B", (uint32_t)parameter[CPU_B], writer_thread, 1));
	reader = sched_thread("reader", !parameter[READER_ON_CPU_0], reader_thread,
			      parameter[READER]);
	host = parameter[NESTED_IN_READER] ? reader : writer;
	if (parameter[NESTED])
		sched_handler("nested", host, (uint32_t)parameter[NESTED], nested_thread, 2);
}

#define ON(machine, scenario_name, slices_, ...)                                                  \
	{                                                                                         \
		.name = scenario_name, .setup = setup, .finish = audit_end, .clock = clock_now,   \
		.memory = machine, .preemptions = SCHED_UNBOUNDED, .slices = slices_, __VA_ARGS__ \
	}
#define SCENARIO(...) ON(SCHED_PSO, __VA_ARGS__)
#define STALE(...) ON(SCHED_STALE, __VA_ARGS__)
#define DISCARD [MODE] = LULL_MODE_DISCARD
#define FLIGHT [MODE] = LULL_MODE_FLIGHT_RECORDER
#define EXACT 28 /* bytes of payload with which two first events of a run fill a sub-buffer */
#define SMALL 8 /* two first events of a run fit, or a run of more */
#define LARGE 92 /* one event fits */
#define WHOLE 100 /* a first event of a run fills a sub-buffer */
#define BEFORE_32 ((1l << 32) - 512)
#define BEFORE_64 (-512l)

static const struct sched_scenario scenarios[] = {
	/* loads of old values */
	STALE("get_and_put_beside_a_writer_by_old_values", 1,
	      .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 6, [READER] = 1111 }),
	STALE("get_beside_two_writers_of_one_cpu_by_old_values", 3,
	      .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 1, [EVENTS_B] = 1,
			     [READER] = 1 }),
	STALE("take_from_a_dead_writer_by_old_values", 1, .crashes = 1,
	      .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 3, [READER] = 22,
			     [SPARES] = 3 }),
	STALE("take_from_a_live_writer_by_old_values", 1,
	      .parameter = { DISCARD, [PAYLOAD] = EXACT, [PREFILL] = 1, [EVENTS_A] = 1,
			     [READER] = 22, [SPARES] = 3 }),
	STALE("stuck_subbuf_is_walked_by_old_values", 1, .crashes = 1, .publish_releases = 1,
	      .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 3, [READER] = 5,
			     [SPARES] = 3 }),
	STALE("writer_leaves_its_cpu_and_returns_by_old_values", 2, .migrations = 2, .refusals = 1,
	      .publish_releases = 1,
	      .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 1 }),
	STALE("peek_by_old_values", 1,
	      .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [READER] = 33 }),
	STALE("forced_switch_by_old_values", 0,
	      .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 3, [READER_ON_CPU_0] = 1,
			     [READER] = 141 }),
	STALE("flight_recorder_laps_get_by_old_values", 1,
	      .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 2,
			     [READER] = 11 }),
	STALE("flight_recorder_laps_take_by_old_values", 1,
	      .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 2, [READER] = 2,
			     [SPARES] = 1 }),
	STALE("flight_recorder_is_peeked_at_by_old_values", 1,
	      .parameter = { FLIGHT, [PAYLOAD] = SMALL, [PREFILL] = 5, [EVENTS_A] = 2,
			     [READER] = 3 }),
	STALE("flight_recorder_is_looked_at_by_old_values", 1,
	      .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 1,
			     [READER] = 6 }),
	STALE("plain_ring_by_old_values", 0,
	      .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = LARGE, [EVENTS_A] = 1,
			     [EVENTS_B] = 1, [CPU_B] = 2, [READER] = 1 }),
	STALE("plain_ring_whose_writer_dies_by_old_values", 0, .crashes = 1,
	      .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = LARGE, [EVENTS_A] = 3, [READER] = 22,
			     [SPARES] = 3 }),

	/* discard mode */
	SCENARIO("one_writer_fills_the_ring_and_counts_the_rest_lost", 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 5, [LOSSES] = 1 + 3 }),
	SCENARIO("small_events_fill_the_ring_and_the_rest_is_lost", 1,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 8, [LOSSES] = 1 + 2 }),
	SCENARIO("reader_frees_room_for_a_writer", 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 6, [READER] = 1111 }),
	SCENARIO("events_that_fill_a_subbuf_exactly_reach_the_reader", 1,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 7, [READER] = 111 }),
	SCENARIO("counts_overflow_32_bits", 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 6, [READER] = 1111,
				[START] = BEFORE_32 }),
	SCENARIO("counts_overflow_64_bits", 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 6, [READER] = 1111,
				[START] = BEFORE_64 }),
	SCENARIO("time_that_jumps_is_written_in_full", 1,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 5, [READER] = 11,
				[CLOCK_SHIFT] = 21 }),
	SCENARIO("two_writers_of_one_cpu_and_reader", 0,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 2, [EVENTS_B] = 2,
				[READER] = 1 }),
	SCENARIO("two_writers_of_one_cpu_race_for_the_last_subbuf", 0,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 2, [EVENTS_B] = 2,
				[PREFILL] = 1, [READER] = 1 }),
	SCENARIO("reservation_is_interrupted_at_every_store", 3, .refusals = 1,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 1,
				[READER] = 1 }),
	SCENARIO("reservation_is_interrupted_far_in_time", 4, .refusals = 1,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 1,
				[READER] = 1, [CLOCK_SHIFT] = 21 }),
	SCENARIO("nested_writer_with_room_for_both_loses_nothing", 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 1, [NESTED] = 1,
				[LOSSES] = 1 }),
	SCENARIO("nested_writer_at_every_step", 1,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 2, [NESTED] = 2,
				[READER] = 1 }),
	SCENARIO("nested_writer_at_every_step_of_a_wrap", 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 3, [NESTED] = 2,
				[READER] = 111 }),
	SCENARIO("nested_writer_at_every_step_of_the_reader", 3,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 2, [NESTED] = 3,
				[NESTED_IN_READER] = 1, [READER_ON_CPU_0] = 1, [READER] = 1411 }),
	SCENARIO("writer_commits_from_another_cpu", 2, .migrations = 1,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 2, [EVENTS_B] = 2,
				[READER] = 11 }),
	SCENARIO("dead_writer_is_taken_from_at_every_step", 1, .crashes = 1,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 3, [READER] = 22,
				[SPARES] = 3 }),
	SCENARIO("dead_writer_costs_others_nothing", 2, .crashes = 1,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 3,
				[READER] = 22, [SPARES] = 3 }),
	SCENARIO("live_writer_is_taken_from_at_every_step", 2,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [PREFILL] = 1, [EVENTS_A] = 1,
				[EVENTS_B] = 1, [READER] = 22, [SPARES] = 3 }),
	SCENARIO("opener_is_taken_from_before_it_writes_the_header", 2,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 1, [EVENTS_B] = 2,
				[READER] = 2, [SPARES] = 2 }),
	SCENARIO("reader_peeks_at_the_open_subbuf", 3,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 1,
				[READER] = 313 }),
	SCENARIO("forced_switch_between_writers", 0,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 3, [READER_ON_CPU_0] = 1,
				[READER] = 141 }),

	/* flight-recorder mode; what was prefilled lets the reader start in the middle */
	SCENARIO("writer_laps_the_reader", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [EVENTS_A] = 6, [READER] = 111,
				[LOSSES] = 1 }),
	SCENARIO("writer_laps_the_reader_where_subbufs_end", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = WHOLE, [EVENTS_A] = 5, [READER] = 11,
				[LOSSES] = 1 }),
	SCENARIO("writer_laps_the_reader_as_it_takes", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [EVENTS_A] = 5, [READER] = 2,
				[SPARES] = 1 }),
	SCENARIO("two_writers_of_one_cpu_lap_the_reader", 3,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 2,
				[EVENTS_B] = 1, [READER] = 1 }),
	SCENARIO("nested_writer_laps_at_every_step", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 1,
				[NESTED] = 2, [READER] = 1 }),
	SCENARIO("flight_recorder_counts_overflow_64_bits", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [EVENTS_A] = 6, [READER] = 111,
				[START] = BEFORE_64 }),
	SCENARIO("dead_writer_in_flight_recorder", 2, .crashes = 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 1,
				[EVENTS_B] = 1, [READER] = 2, [SPARES] = 3 }),
	SCENARIO("flight_recorder_is_peeked_at", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = SMALL, [EVENTS_A] = 6, [READER] = 33 }),

	SCENARIO("flight_recorder_is_looked_at_twice", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 3,
				[READER] = 66 }),
	SCENARIO("flight_recorder_of_two_writers_is_looked_at", 2,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 1,
				[EVENTS_B] = 1, [READER] = 6 }),
	SCENARIO("flight_recorder_is_looked_at_and_taken_from", 2, .crashes = 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 2,
				[READER] = 626, [SPARES] = 3 }),

	/* plain rings: writers on several CPUs */
	SCENARIO("plain_ring_with_writers_on_two_cpus", 0,
		 .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = EXACT, [EVENTS_A] = 2,
				[EVENTS_B] = 1, [CPU_B] = 2, [READER] = 1 }),
	SCENARIO("plain_ring_is_lapped", 0,
		 .parameter = { FLIGHT, [PLAIN] = 1, [PAYLOAD] = LARGE, [PREFILL] = 2,
				[EVENTS_A] = 1, [EVENTS_B] = 1, [CPU_B] = 2, [READER] = 1 }),
	SCENARIO("plain_ring_whose_writer_dies", 0, .crashes = 1,
		 .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = LARGE, [EVENTS_A] = 3,
				[READER] = 22, [SPARES] = 3 }),
	SCENARIO("plain_ring_goes_on_after_a_death", 0, .crashes = 1,
		 .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = LARGE, [EVENTS_A] = 1,
				[EVENTS_B] = 1, [CPU_B] = 2, [READER] = 1, [SPARES] = 3 }),
};

/* The long form: the same with larger bounds; minutes, and up to 2 GiB. */
static const struct sched_scenario scenarios_long[] = {
	SCENARIO("reservation_is_interrupted_in_any_slices", 0, .refusals = 1,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 1,
				[READER] = 1 }),
	SCENARIO("writer_migrates_in_any_slices", 0, .migrations = 1,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 2, [EVENTS_B] = 2,
				[READER] = 11 }),
	SCENARIO("nested_writer_between_two_of_one_cpu", 3,
		 .parameter = { DISCARD, [PAYLOAD] = LARGE, [EVENTS_A] = 1, [EVENTS_B] = 1,
				[PREFILL] = 1, [NESTED] = 2, [READER] = 11 }),
	SCENARIO("live_writers_are_taken_from_at_every_step", 2,
		 .parameter = { DISCARD, [PAYLOAD] = EXACT, [EVENTS_A] = 2, [EVENTS_B] = 2,
				[READER] = 22, [SPARES] = 3 }),
	SCENARIO("dead_writer_and_a_lap", 2, .crashes = 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [EVENTS_A] = 2, [EVENTS_B] = 3,
				[READER] = 2, [SPARES] = 3 }),
	SCENARIO("two_dead_writers", 3, .crashes = 2,
		 .parameter = { DISCARD, [PAYLOAD] = SMALL, [EVENTS_A] = 2, [EVENTS_B] = 2,
				[READER] = 22, [SPARES] = 5 }),
	SCENARIO("two_writers_lap_in_more_slices", 4,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 2,
				[EVENTS_B] = 1, [READER] = 1 }),
	SCENARIO("nested_writer_laps_twice", 1,
		 .parameter = { FLIGHT, [PAYLOAD] = LARGE, [PREFILL] = 2, [EVENTS_A] = 2,
				[NESTED] = 2, [READER] = 1 }),
	SCENARIO("plain_ring_with_more_events", 0,
		 .parameter = { DISCARD, [PLAIN] = 1, [PAYLOAD] = EXACT, [EVENTS_A] = 2,
				[EVENTS_B] = 2, [CPU_B] = 2, [READER] = 1 }),
};

static const struct sched_fault faults[] = { SCHED_MUTANTS_RING(SCHED_FAULT) };

/* ring_sched_test [scenarios | mutants | long [NAME]] */
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
