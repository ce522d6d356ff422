/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a writer leaves that stops between two steps, what others do then, and what they do when
 * the shared words are damaged.
 *
 * Paper: B 4.3.1, T 8.6.3; who helps whom: docs/design/10-ring.md.
 */
#include "hand_test.h"

/* Where a ring may start, and the commit count of its first sub-buffer once that is full. */
#define LAPS_START (3ull * COUNT * SUBBUF)
#define LAPS_FULL (4ull * SUBBUF)

/* By a first reservation, which writes a thread record, and by a second, which need not. */
/* The common reservation leaves the last slot of a sub-buffer to the other. */
/* The mark tells a recorder where the slots end if the one who closes stops before its header. */
/* The opener has published the new write count, and not yet said that its reference is writing. */
static int reference_that_its_opener_has_not_set_is_set_by_the_next_writer(void)
{
	for (int closes = 0; closes <= 1; closes++) {
		ring_begin(LULL_MODE_DISCARD, 0);
		CHECK(packet() == 0 && event_of(&writer) == 0);
		CHECK(tag(1) == writing(SUBBUF));
		ring.reference[1] = reference_state(&ring, SUBBUF - buffer_bytes(&ring)) | 1;
		if (closes) {
			CHECK(lull_ring_force_switch(&ring) == 1);
			CHECK(tag(1) == reference_state(&ring, SUBBUF));
			CHECK(ring.commit[1].seq == SUBBUF);
		} else {
			CHECK(event_of(&other) == 0 && tag(1) == writing(SUBBUF));
			CHECK(reference_physical(&ring, ring.reference[1]) == 1);
		}
		CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 0);
		ring_end();
	}
	return 0;
}

static int reference_of_another_lap_costs_its_event_and_nothing_else(void)
{
	for (uint32_t plain = 0; plain <= 1; plain++) {
		uint64_t count;

		ring_begin(LULL_MODE_DISCARD, plain);
		CHECK(packet() == 0 && event_of(&writer) == 0);
		ring.reference[1] = writing(5ull * COUNT * SUBBUF) | 1;
		count = ring.shared->write_count;
		memcpy(copy, memory, PHYSICAL * SUBBUF);
		CHECK(event_of(&other) == -ENOBUFS);
		CHECK(lull_ring_force_switch(&ring) == 0);
		CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
		CHECK(ring.shared->write_count == count);
		CHECK(!memcmp(copy, memory, PHYSICAL * SUBBUF));
		ring_end();
	}
	return 0;
}

static int reference_of_another_lap_at_the_next_subbuf_costs_no_more(void)
{
	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(packet() == 0);
	ring.reference[1] = writing(5ull * COUNT * SUBBUF) | 1;
	CHECK(event_of(&writer) == -ENOBUFS);
	CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
	CHECK(ring.shared->write_count == SUBBUF);
	ring_end();
	return 0;
}

/*
 * Fill a ring; then of sub-buffer 0 the state is that of a last writer that stopped after it had
 * committed (@steps 0), or after it had said so in seq as well (1).
 */
static int ring_begin_with_a_stopped_last_writer(uint32_t mode, int steps)
{
	ring_begin(mode, 0);
	lull_ring_reset(&ring, LAPS_START);
	for (uint32_t k = 0; k < COUNT; k++)
		CHECK(packet() == 0);
	CHECK(tag(0) == reference_state(&ring, LAPS_START) && ring.commit[0].seq == LAPS_FULL);
	ring.reference[0] |= LULL_REFERENCE_WRITING;
	ring.commit[0].seq = steps ? LAPS_FULL : LAPS_FULL - SUBBUF;
	return 0;
}

static int writer_that_comes_round_frees_what_the_last_writer_left(void)
{
	for (int steps = 0; steps <= 1; steps++) {
		CHECK(ring_begin_with_a_stopped_last_writer(LULL_MODE_FLIGHT_RECORDER, steps) == 0);
		CHECK(event_of(&writer) == 0);
		CHECK(tag(0) == writing(LAPS_START + COUNT * SUBBUF));
		CHECK(ring.commit[0].seq == LAPS_FULL);
		CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 0);
		ring_end();
	}
	return 0;
}

static int writer_that_helps_overwrites_nothing_unread(void)
{
	for (int steps = 0; steps <= 1; steps++) {
		CHECK(ring_begin_with_a_stopped_last_writer(LULL_MODE_DISCARD, steps) == 0);
		CHECK(event_of(&writer) == -ENOBUFS);
		CHECK(tag(0) == reference_state(&ring, LAPS_START));
		CHECK(lull_ring_lost(&ring, LULL_LOST_FULL) == 1);
		CHECK(ring.shared->write_count == LAPS_START + COUNT * SUBBUF);
		ring_end();
	}
	return 0;
}

static int reader_frees_what_the_last_writer_left(void)
{
	for (uint32_t mode = LULL_MODE_DISCARD; mode <= LULL_MODE_FLIGHT_RECORDER; mode++) {
		for (int steps = 0; steps <= 1; steps++) {
			struct lull_ring_subbuf subbuf;

			CHECK(ring_begin_with_a_stopped_last_writer(mode, steps) == 0);
			CHECK(lull_ring_take(&ring, spare, &subbuf) == -EAGAIN);
			CHECK(lull_ring_get(&ring, &spare, &subbuf) == 0);
			CHECK(subbuf.position == LAPS_START && subbuf.physical == 0 &&
			      subbuf.complete);
			CHECK(ring.commit[0].seq == LAPS_FULL);
			if (mode == LULL_MODE_FLIGHT_RECORDER) {
				CHECK(ring.reference[0] ==
				      (reference_state(&ring, LAPS_START) | COUNT));
				CHECK(spare == 0);
				CHECK(ring.commit[COUNT].count == LAPS_FULL);
				CHECK(ring.commit[COUNT].seq == LAPS_FULL);
			} else {
				CHECK(spare == COUNT);
				CHECK(steps || tag(0) == reference_state(&ring, LAPS_START));
			}
			ring_end();
		}
	}
	return 0;
}

static int writer_that_overwrites_moves_the_reader_past_it(void)
{
	ring_begin(LULL_MODE_FLIGHT_RECORDER, 0);
	for (uint64_t k = 0; k < 3 * COUNT; k++) {
		CHECK(event_of(&writer) == 0);
		CHECK(ring.shared->read_count == (k < COUNT ? 0 : (k + 1 - COUNT) * SUBBUF));
		CHECK(lull_ring_force_switch(&ring) == 1);
	}
	lull_ring_push_reader(&ring, (3ull * COUNT - 2) * SUBBUF); /* one who comes late */
	CHECK(ring.shared->read_count == 2ull * COUNT * SUBBUF);
	ring_end();
	return 0;
}

static int reader_moves_itself_past_what_a_stopped_writer_overwrites(void)
{
	for (int takes = 0; takes <= 1; takes++) {
		struct lull_ring_subbuf subbuf;

		ring_begin(LULL_MODE_FLIGHT_RECORDER, 0);
		for (uint32_t k = 0; k < COUNT + 1; k++)
			CHECK(packet() == 0);
		CHECK(event_of(&writer) == 0);
		CHECK(ring.shared->read_count == 2 * SUBBUF);
		ring.shared->read_count = SUBBUF; /* as before the writer's last step */
		if (takes) {
			CHECK(lull_ring_take(&ring, spare, &subbuf) == -EAGAIN);
			CHECK(ring.shared->read_count == 2 * SUBBUF);
			CHECK(lull_ring_force_switch(&ring) == 1);
			ring.shared->read_count = 0;
			CHECK(lull_ring_take(&ring, spare, &subbuf) == -EAGAIN);
			CHECK(ring.shared->read_count == 2 * SUBBUF);
		} else {
			CHECK(lull_ring_get(&ring, &spare, &subbuf) == 0);
			CHECK(subbuf.position == 2 * SUBBUF && subbuf.physical == 2);
			lull_ring_put(&ring, &subbuf);
			CHECK(ring.shared->read_count == 3 * SUBBUF);
		}
		ring_end();
	}
	return 0;
}

static int reader_keeps_the_oldest_while_nothing_overwrites_it(void)
{
	struct lull_ring_subbuf subbuf;

	ring_begin(LULL_MODE_FLIGHT_RECORDER, 0);
	for (uint32_t k = 0; k < COUNT; k++)
		CHECK(packet() == 0);
	CHECK(lull_ring_get(&ring, &spare, &subbuf) == 0 && subbuf.position == 0);
	CHECK(packet() == 0); /* pushes the reader, in its middle */
	lull_ring_put(&ring, &subbuf);
	CHECK(ring.shared->read_count == SUBBUF);
	ring_end();
	return 0;
}

static int subbuf_that_is_taken_is_replaced_by_one_that_looks_full(void)
{
	for (uint32_t mode = LULL_MODE_DISCARD; mode <= LULL_MODE_FLIGHT_RECORDER; mode++) {
		struct lull_ring_subbuf subbuf;
		struct lull_ring_slot stopped;

		ring_begin(mode, 0);
		CHECK(packet() == 0);
		CHECK(lull_ring_get(&ring, &spare, &subbuf) == 0);
		lull_ring_put(&ring, &subbuf);
		CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &stopped) == 0);
		CHECK(lull_ring_take(&ring, 5, &subbuf) == -EAGAIN); /* it is open */
		CHECK(lull_ring_force_switch(&ring) == 1);
		CHECK(lull_ring_get(&ring, &spare, &subbuf) == -EAGAIN);
		CHECK(lull_ring_take(&ring, 5, &subbuf) == 0);
		CHECK(subbuf.position == SUBBUF && subbuf.physical == 1);
		CHECK(subbuf.data == memory + SUBBUF && subbuf.content_bytes == SUBBUF);
		CHECK(subbuf.committed_bytes == SUBBUF - stopped.slot_bytes && !subbuf.complete);
		CHECK(ring.reference[1] == (reference_state(&ring, SUBBUF) | 5));
		CHECK(ring.commit[5].count == SUBBUF && ring.commit[5].seq == SUBBUF);
		CHECK(!lull_ring_settled(&ring, &subbuf));
		lull_ring_put(&ring, &subbuf);
		CHECK(ring.shared->read_count == 2 * SUBBUF);
		lull_ring_commit(&stopped);
		CHECK(lull_ring_settled(&ring, &subbuf));
		CHECK(ring.reference[1] == (reference_state(&ring, SUBBUF) | 5));
		ring_end();
	}
	return 0;
}

static int damaged_count_says_no_more_than_a_whole_subbuf(void)
{
	struct lull_ring_subbuf subbuf;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(packet() == 0);
	ring.commit[0].seq = ring.commit[0].count = SUBBUF + 4;
	CHECK(lull_ring_stuck(&ring, &subbuf) == 0 && subbuf.committed_bytes == SUBBUF);
	ring.commit[0].count = SUBBUF - 4;
	CHECK(lull_ring_stuck(&ring, &subbuf) == 0 && subbuf.committed_bytes == SUBBUF - 4);
	ring_end();
	return 0;
}

static int look_at_what_is_not_the_open_subbuf_of_this_lap_is_refused(void)
{
	struct lull_ring_subbuf subbuf;
	uint64_t reference;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0 && lull_ring_peek(&ring, &subbuf) == 0);
	CHECK(lull_ring_unchanged(&ring, &subbuf));
	reference = ring.reference[0];
	ring.reference[0] = reference ^ LULL_REFERENCE_WRITING; /* closed */
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN && lull_ring_unchanged(&ring, &subbuf));
	ring.reference[0] = reference + (LULL_REFERENCE_WRITING << 1);
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN && !lull_ring_unchanged(&ring, &subbuf));
	ring.reference[0] = reference | 5; /* of this lap, and another place */
	CHECK(!lull_ring_unchanged(&ring, &subbuf));
	ring.reference[0] = reference;
	subbuf.physical = 5;
	CHECK(!lull_ring_unchanged(&ring, &subbuf));
	ring_end();
	return 0;
}

static int look_at_the_open_subbuf_is_refused_while_an_older_one_is_not_whole(void)
{
	struct lull_ring_subbuf subbuf;
	struct lull_ring_slot stopped;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &stopped) == 0);
	CHECK(lull_ring_force_switch(&ring) == 1 && event_of(&writer) == 0);
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN);
	ring_end();
	return 0;
}

/* An event is lost at the first look: the clock is read once. */
static int lost_events_are_counted_by_their_cause_at_once(void)
{
	struct lull_ring_slot stopped;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &stopped) == 0);
	CHECK(lull_ring_force_switch(&ring) == 1);
	for (uint32_t k = 1; k < COUNT; k++)
		CHECK(packet() == 0);
	now_cycles = BEGIN_CYCLES;
	CHECK(event_of(&writer) == -ENOBUFS && now_cycles == BEGIN_CYCLES + 1);
	CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
	CHECK(lull_ring_lost(&ring, LULL_LOST_FULL) == 0);
	lull_ring_commit(&stopped);
	CHECK(event_of(&writer) == -ENOBUFS && now_cycles == BEGIN_CYCLES + 2);
	CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
	CHECK(lull_ring_lost(&ring, LULL_LOST_FULL) == 1);
	ring_end();
	return 0;
}

/* The top bits of a commit count are of laps that no count can name; the others all count. */
/* The count of rounds is the bound: each is one more event of the writer that interrupts. */
static int writer_that_is_always_interrupted_gives_up_and_is_counted(void)
{
	for (uint32_t plain = 0; plain <= 1; plain++) {
		const unsigned int rounds = plain ? LULL_ROUNDS_PLAIN_MAX : LULL_ROUNDS_MAX;

		ring_begin(LULL_MODE_FLIGHT_RECORDER, plain);
		CHECK(event_of(&other) == 0);
		interruptions = 10000;
		CHECK(event_of(&writer) == -ENOBUFS);
		CHECK(interrupted == rounds);
		CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
		interruptions = interrupted = 0;
		CHECK(event_of(&writer) == 0);
		interruptions = rounds; /* the common reservation takes the first of them */
		CHECK(event_of(&writer) == (plain ? -ENOBUFS : 0));
		CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1 + plain);
		CHECK(lull_ring_lost(&ring, LULL_LOST_FULL) == 0);
		ring_end();
	}
	return 0;
}

static int interrupted_writer_reads_the_clock_again(void)
{
	struct lull_ring_slot slot;

	for (uint32_t plain = 0; plain <= 1; plain++) {
		ring_begin(LULL_MODE_DISCARD, plain);
		CHECK(event_of(&writer) == 0);
		interruptions = 3;
		CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &slot) == 0);
		CHECK(interrupted == 3 && slot.slot_bytes == 40 + SLOT_BYTES);
		lull_ring_commit(&slot);
		CHECK(word_at(slot.payload - 4) == (EVENT_ID | (uint32_t)now_cycles << 8));
		ring_end();
	}
	return 0;
}

/* One that a nested writer closes is not closed again. */
static int interrupted_switch_leaves_what_the_other_opened(void)
{
	struct lull_ring_slot slot;
	uint64_t position;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, SUBBUF - 112 - 40 - 16, &slot) == 0);
	lull_ring_commit(&slot);
	CHECK(ring.shared->write_count == SUBBUF - 4);
	interruptions = 1;
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &slot) == 0);
	position = SUBBUF + sizeof(struct lull_packet_header) + 40 + SLOT_BYTES;
	CHECK(interrupted == 1 && slot.position == position);
	CHECK(ring.commit[0].count == SUBBUF && ring.commit[0].seq == SUBBUF);
	ring_end();
	return 0;
}

/* The other's event still fits where ours does not. */
static int interrupted_switch_begins_anew_from_where_the_other_left(void)
{
	struct lull_ring_slot slot;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, SUBBUF - 500, &slot) == 0);
	lull_ring_commit(&slot);
	interruptions = 1;
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 500, &slot) == 0);
	CHECK(interrupted == 1 && slot.position == SUBBUF + sizeof(struct lull_packet_header));
	CHECK(ring.commit[0].seq == SUBBUF && tag(0) == reference_state(&ring, 0));
	ring_end();
	return 0;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN(reference_that_its_opener_has_not_set_is_set_by_the_next_writer);
	RUN(reference_of_another_lap_costs_its_event_and_nothing_else);
	RUN(reference_of_another_lap_at_the_next_subbuf_costs_no_more);
	RUN(writer_that_comes_round_frees_what_the_last_writer_left);
	RUN(writer_that_helps_overwrites_nothing_unread);
	RUN(reader_frees_what_the_last_writer_left);
	RUN(writer_that_overwrites_moves_the_reader_past_it);
	RUN(reader_moves_itself_past_what_a_stopped_writer_overwrites);
	RUN(reader_keeps_the_oldest_while_nothing_overwrites_it);
	RUN(subbuf_that_is_taken_is_replaced_by_one_that_looks_full);
	RUN(damaged_count_says_no_more_than_a_whole_subbuf);
	RUN(look_at_what_is_not_the_open_subbuf_of_this_lap_is_refused);
	RUN(look_at_the_open_subbuf_is_refused_while_an_older_one_is_not_whole);
	RUN(lost_events_are_counted_by_their_cause_at_once);
	RUN(writer_that_is_always_interrupted_gives_up_and_is_counted);
	RUN(interrupted_writer_reads_the_clock_again);
	RUN(interrupted_switch_leaves_what_the_other_opened);
	RUN(interrupted_switch_begins_anew_from_where_the_other_left);
	return sums();
}
