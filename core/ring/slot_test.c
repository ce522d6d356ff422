/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slots and marks, word by word: what a reservation leaves in memory until it is committed, and
 * what closes a packet.
 *
 * Paper: B 3.2, 4.3.1; core/include/lull/abi/packet.h.
 */
#include "hand_test.h"

static int fresh_ring_names_each_subbuf_once_and_calls_it_empty(void)
{
	const uint64_t starts[] = { 0, 6ull * COUNT * SUBBUF };

	for (int i = 0; i < 2; i++) {
		ring_begin(LULL_MODE_DISCARD, 0);
		memset(ring.shared, 0xff, lull_ring_control_bytes(&ring.geometry));
		lull_ring_reset(&ring, starts[i]);
		CHECK(ring.shared->write_count == starts[i] && ring.shared->run == 0);
		CHECK(ring.shared->read_count == starts[i]);
		for (uint32_t k = 0; k < COUNT; k++)
			CHECK(ring.reference[k] ==
			      (reference_state(&ring, starts[i] - COUNT * SUBBUF) | k));
		for (uint32_t p = 0; p < PHYSICAL; p++)
			CHECK(ring.commit[p].count == starts[i] / COUNT &&
			      ring.commit[p].seq == starts[i] / COUNT);
		CHECK(lull_ring_poll(&ring) == LULL_RING_EMPTY);
		ring_end();
	}
	return 0;
}

static int slot_is_a_hole_of_its_size_and_thread_until_it_is_committed(void)
{
	for (uint32_t plain = 0; plain <= 1; plain++) {
		ring_begin(LULL_MODE_DISCARD, plain);
		for (uint32_t second = 0; second <= 1; second++) {
			struct lull_ring_slot slot;
			uint64_t before = second ? ring.shared->write_count :
						   sizeof(struct lull_packet_header);
			int thread_is_known = second && !plain;

			CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &slot) == 0);
			CHECK(slot.slot_bytes == (thread_is_known ? SLOT_BYTES : 40 + SLOT_BYTES));
			CHECK(slot.position == before && slot.start == memory + before);
			CHECK(slot.payload == slot.start + slot.slot_bytes - 4);
			CHECK(ring.shared->write_count == before + slot.slot_bytes);
			CHECK(word_at(slot.start) == (uint32_t)LULL_HOLE(slot.slot_bytes, 0));
			CHECK(!thread_is_known || word_at(slot.start + 4) == writer.tid);
			CHECK(ring.shared->last_cycles == (plain ? 0 : now_cycles));
			lull_ring_commit(&slot);
			CHECK((word_at(slot.start) & 0xff) ==
			      (thread_is_known ? EVENT_ID : LULL_TAG_EXTENDED));
			CHECK(ring.commit[0].count == ring.shared->write_count);
		}
		ring_end();
	}
	return 0;
}

static int slot_that_ends_where_its_subbuf_does_is_a_hole_too(void)
{
	struct lull_ring_slot slot;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, SUBBUF - 112 - 40 - 2 * SLOT_BYTES - 4,
				&slot) == 0);
	lull_ring_commit(&slot);
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, 4, &slot) == 0);
	CHECK(slot.slot_bytes == SLOT_BYTES && slot.start == memory + SUBBUF - SLOT_BYTES);
	CHECK(word_at(slot.start) == (uint32_t)LULL_HOLE(SLOT_BYTES, 0));
	CHECK(word_at(slot.start + 4) == writer.tid);
	ring_end();
	return 0;
}

static int slot_of_one_word_is_whole_as_soon_as_it_is_reserved(void)
{
	struct lull_ring_slot slot;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	now_cycles += 5ull << 24; /* the common reservation is left, and comes to the other */
	ring.shared->last_cycles = now_cycles;
	interruptions = 1;
	CHECK(lull_ring_reserve(&ring, &other, EVENT_ID, 0, &slot) == 0);
	CHECK(slot.slot_bytes == 4 &&
	      word_at(slot.start) == (EVENT_ID | (uint32_t)now_cycles << 8));
	ring_end();
	return 0;
}

static int identifiers_above_the_compact_ones_are_written_in_full(void)
{
	const uint32_t ids[] = { LULL_TAG_COMPACT_MAX, LULL_TAG_COMPACT_MAX + 1, 0x12345678 };
	struct lull_ring_slot slot;

	for (uint32_t first = 0; first <= 1; first++) {
		for (int i = 0; i < 3; i++) {
			unsigned char *header;
			uint64_t cycles;

			ring_begin(LULL_MODE_DISCARD, 0);
			CHECK(first || event_of(&writer) == 0);
			CHECK(lull_ring_reserve(&ring, &writer, ids[i], 4, &slot) == 0);
			lull_ring_commit(&slot);
			header = slot.payload -
				 (i ? LULL_EXTENDED_HEADER_BYTES : LULL_COMPACT_HEADER_BYTES);
			CHECK(header == slot.start + (first ? 40 : 0));
			if (i) {
				memcpy(&cycles, header + 8, sizeof(cycles));
				CHECK(word_at(header) == LULL_TAG_EXTENDED);
				CHECK(word_at(header + 4) == ids[i] && cycles == now_cycles);
			} else {
				CHECK(word_at(header) == (ids[i] | (uint32_t)now_cycles << 8));
			}
			ring_end();
		}
	}
	return 0;
}

static int event_that_no_subbuf_can_hold_is_counted_too_big(void)
{
	const uint32_t sizes[] = { SUBBUF, 0xfffffff0u, 0xffffffffu };
	struct lull_ring_slot slot;

	ring_begin(LULL_MODE_DISCARD, 0);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(event_of(&writer) == 0);
		CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, sizes[i], &slot) == -ENOBUFS);
		CHECK(lull_ring_lost(&ring, LULL_LOST_TOO_BIG) == i + 1);
	}
	CHECK(ring.shared->write_count == 112 + 40 + 3 * SLOT_BYTES);
	ring_end();
	return 0;
}

static int packet_that_an_event_fills_ends_with_that_event(void)
{
	struct lull_packet_header header;
	struct lull_ring_slot slot;
	uint32_t rest = SUBBUF - 112 - 40 - SLOT_BYTES - 4;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	ring.shared->lost[LULL_LOST_IN_FLIGHT] = 6;
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, rest, &slot) == 0);
	lull_ring_commit(&slot);
	memcpy(&header, memory, sizeof(header));
	CHECK(header.timestamp_end_cycles == now_cycles && header.packet_seq_num == 0);
	CHECK(header.content_size_bits == 8 * SUBBUF && header.events_discarded == 6);
	CHECK(header.lost[LULL_LOST_IN_FLIGHT] == 6);
	CHECK(ring.shared->write_count == SUBBUF && tag(0) == reference_state(&ring, 0));
	CHECK(event_of(&writer) == 0 && tag(1) == writing(SUBBUF));
	ring_end();
	return 0;
}

static int closed_packet_holds_the_mark_of_who_closed_it(void)
{
	struct lull_packet_header header;
	uint64_t end;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	end = ring.shared->write_count;
	CHECK(lull_ring_force_switch(&ring) == 1);
	CHECK(word_at(memory + end) == LULL_END(0));
	CHECK(ring.shared->write_count == SUBBUF && ring.shared->run == 0);
	CHECK(ring.shared->last_cycles == now_cycles);
	do {
		end = ring.shared->write_count;
		CHECK(event_of(&writer) == 0);
	} while (ring.shared->write_count <= 2 * SUBBUF);
	end = 2 * SUBBUF - (2 * SUBBUF - 112 - SUBBUF - 40) % SLOT_BYTES;
	memcpy(&header, memory + SUBBUF, sizeof(header));
	CHECK(header.content_size_bits / 8 + SUBBUF == end);
	CHECK(end == 2 * SUBBUF || word_at(memory + end) == LULL_END(writer.tid));
	ring_end();
	return 0;
}

static int packet_without_room_for_the_next_event_is_closed_by_its_writer(void)
{
	struct lull_ring_slot slot;
	uint64_t end;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0);
	end = ring.shared->write_count;
	CHECK(lull_ring_reserve(&ring, &writer, EVENT_ID, SUBBUF - 500, &slot) == 0);
	lull_ring_commit(&slot);
	end = ring.shared->write_count;
	CHECK(end < SUBBUF);
	CHECK(lull_ring_reserve(&ring, &other, EVENT_ID, 500, &slot) == 0);
	CHECK(word_at(memory + end) == LULL_END(other.tid));
	CHECK(((struct lull_packet_header *)memory)->content_size_bits == 8 * end);
	CHECK(slot.position == SUBBUF + sizeof(struct lull_packet_header));
	CHECK(tag(0) == reference_state(&ring, 0) && tag(1) == writing(SUBBUF));
	CHECK(ring.commit[0].count == SUBBUF && ring.commit[0].seq == SUBBUF);
	CHECK(ring.commit[1].count == sizeof(struct lull_packet_header));
	ring_end();
	return 0;
}

static int subbuf_that_is_given_back_is_zeroed_where_marks_may_be_missing(void)
{
	for (uint32_t plain = 0; plain <= 1; plain++) {
		struct lull_ring_subbuf subbuf;

		ring_begin(LULL_MODE_DISCARD, plain);
		CHECK(packet() == 0 && packet() == 0);
		CHECK(lull_ring_get(&ring, &spare, &subbuf) == 0);
		memset(memory, 0x77, SUBBUF);
		memcpy(copy, memory, PHYSICAL * SUBBUF);
		if (plain)
			memset(copy, 0, SUBBUF);
		lull_ring_put(&ring, &subbuf);
		CHECK(!memcmp(copy, memory, PHYSICAL * SUBBUF));
		lull_ring_put(&ring, &subbuf); /* again: it is the reader's no more */
		CHECK(ring.shared->read_count == SUBBUF);
		ring_end();
	}
	return 0;
}

static int commit_counts_of_laps_far_apart_are_told_apart(void)
{
	ring_begin(LULL_MODE_DISCARD, 0); /* of 4 sub-buffers: 2 bits */
	for (uint32_t bit = 0; bit < 62; bit++)
		CHECK(commit_bytes(&ring, 1ull << bit, 0) == 1ull << bit);
	CHECK(commit_bytes(&ring, 1ull << 62, 0) == 0 && commit_bytes(&ring, 1ull << 63, 0) == 0);
	CHECK(commit_bytes(&ring, SUBBUF + 8, COUNT * SUBBUF) == 8);
	CHECK(equation_subbuf_ready(&ring, SUBBUF, 0) && !equation_subbuf_ready(&ring, 0, 0));
	CHECK(!equation_subbuf_ready(&ring, SUBBUF + (1ull << 40), 0));
	CHECK(equation_fully_committed(&ring, SUBBUF, COUNT * SUBBUF));
	CHECK(!equation_fully_committed(&ring, SUBBUF + (1ull << 40), COUNT * SUBBUF));
	ring_end();
	return 0;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN(fresh_ring_names_each_subbuf_once_and_calls_it_empty);
	RUN(slot_is_a_hole_of_its_size_and_thread_until_it_is_committed);
	RUN(slot_that_ends_where_its_subbuf_does_is_a_hole_too);
	RUN(slot_of_one_word_is_whole_as_soon_as_it_is_reserved);
	RUN(identifiers_above_the_compact_ones_are_written_in_full);
	RUN(event_that_no_subbuf_can_hold_is_counted_too_big);
	RUN(packet_that_an_event_fills_ends_with_that_event);
	RUN(closed_packet_holds_the_mark_of_who_closed_it);
	RUN(packet_without_room_for_the_next_event_is_closed_by_its_writer);
	RUN(subbuf_that_is_given_back_is_zeroed_where_marks_may_be_missing);
	RUN(commit_counts_of_laps_far_apart_are_told_apart);
	return sums();
}
