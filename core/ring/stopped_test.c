/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a writer leaves that stops between two steps, what others do then, and what they do when
 * the shared words are damaged. One thread makes each state by hand; the clock is the test's, and
 * whoever reads it may be interrupted by another writer.
 *
 * Paper: B 4.3.1, T 8.6.3; who helps whom: docs/design/10-ring.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ring_words.h"

#define SUBBUF 4096u
#define COUNT 4u
#define PHYSICAL (2 * COUNT)
#define EVENT_ID 9u
#define SLOT_BYTES 8u /* of an event of 4 bytes whose thread goes on */
#define BEGIN_CYCLES 1000u

__thread struct rseq *lull_rseq_area;
static struct rseq area = { .cpu_id = 3 }; /* not registered: nothing restarts */
static unsigned int passed, failed;

static const struct lull_ring_writer writer = { .pid = 10, .tid = 11, .name = "writer" };
static const struct lull_ring_writer other = { .pid = 10, .tid = 12, .name = "other" };

static struct lull_ring ring;
static unsigned char *memory, *copy;
static uint32_t spare;
static uint64_t now_cycles; /* what the clock says */
static unsigned int interruptions, interrupted; /* of who reads the clock: to come, so far */

#define CHECK(condition)                                                         \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("  %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			return 1;                                                \
		}                                                                \
	} while (0)

static int event_of(const struct lull_ring_writer *who)
{
	struct lull_ring_slot slot;
	int result = lull_ring_reserve(&ring, who, EVENT_ID, 4, &slot);

	if (result)
		return result;
	memset(slot.payload, 0x11, 4);
	lull_ring_commit(&slot);
	return 0;
}

/* An event in the open sub-buffer, which is closed then. */
static int packet(void)
{
	CHECK(event_of(&writer) == 0);
	return lull_ring_force_switch(&ring) != 1;
}

static int clock_read(int32_t clock, void *time)
{
	struct timespec *now = time;

	(void)clock;
	if (interruptions) {
		unsigned int rest = interruptions - 1;

		interruptions = 0;
		interrupted += event_of(&other) == 0;
		interruptions = rest;
	}
	now_cycles++;
	now->tv_sec = 0;
	now->tv_nsec = (long)now_cycles;
	return 0;
}

static void ring_begin(uint32_t mode, uint32_t plain)
{
	struct lull_ring_geometry geometry = { .subbuf_size_bytes = SUBBUF,
					       .subbuf_count = COUNT,
					       .physical_count = PHYSICAL,
					       .mode = mode,
					       .plain = plain,
					       .cpu_id = 3 };

	memory = calloc(PHYSICAL, SUBBUF);
	copy = calloc(PHYSICAL, SUBBUF);
	spare = COUNT;
	lull_ring_attach(&ring, &geometry, aligned_alloc(64, 4096),
			 (struct lull_ring_memory){ memory, NULL });
	lull_ring_reset(&ring, 0);
	lull_rseq_area = &area;
	lull_clock.gettime = clock_read;
	now_cycles = BEGIN_CYCLES;
	interruptions = interrupted = 0;
}

static void ring_end(void)
{
	free(ring.shared);
	free(memory);
	free(copy);
}

static uint64_t tag(uint32_t index)
{
	return reference_tag(ring.reference[index]);
}

static uint64_t writing(uint64_t position)
{
	return reference_state(&ring, position) | LULL_REFERENCE_WRITING;
}

static uint32_t word_at(const void *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static int fresh_ring_names_each_subbuf_once_and_calls_it_empty(void)
{
	const uint64_t starts[] = { 0, 6ull * COUNT * SUBBUF };

	for (int i = 0; i < 2; i++) {
		ring_begin(LULL_MODE_DISCARD, 0);
		memset(ring.shared, 0xff, lull_ring_control_bytes(&ring.geometry));
		lull_ring_reset(&ring, starts[i]);
		CHECK(ring.shared->write_count == starts[i] && ring.shared->run == 0);
		CHECK(ring.shared->read_count == starts[i]);
		CHECK(ring.shared->start_count == starts[i]);
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

/* By a first reservation, which writes a thread record, and by a second, which need not. */
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

/* The mark tells a recorder where the slots end if the one who closes stops before its header. */
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
	for (uint32_t k = 0; k < COUNT; k++)
		CHECK(packet() == 0);
	CHECK(tag(0) == reference_state(&ring, 0) && ring.commit[0].seq == SUBBUF);
	ring.reference[0] |= LULL_REFERENCE_WRITING;
	ring.commit[0].seq = steps ? SUBBUF : 0;
	return 0;
}

static int writer_that_comes_round_frees_what_the_last_writer_left(void)
{
	for (int steps = 0; steps <= 1; steps++) {
		CHECK(ring_begin_with_a_stopped_last_writer(LULL_MODE_FLIGHT_RECORDER, steps) == 0);
		CHECK(event_of(&writer) == 0);
		CHECK(tag(0) == writing((uint64_t)COUNT * SUBBUF));
		CHECK(ring.commit[0].seq == SUBBUF);
		CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 0);
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
			CHECK(subbuf.position == 0 && subbuf.physical == 0 && subbuf.complete);
			CHECK(ring.commit[0].seq == SUBBUF);
			if (mode == LULL_MODE_FLIGHT_RECORDER) {
				CHECK(ring.reference[0] == (reference_state(&ring, 0) | COUNT));
				CHECK(spare == 0);
				CHECK(ring.commit[COUNT].count == SUBBUF);
				CHECK(ring.commit[COUNT].seq == SUBBUF);
			} else {
				CHECK(spare == COUNT);
				CHECK(steps || tag(0) == reference_state(&ring, 0));
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

static int look_at_what_is_not_the_open_subbuf_of_this_lap_is_refused(void)
{
	struct lull_ring_subbuf subbuf;
	uint64_t reference;

	ring_begin(LULL_MODE_DISCARD, 0);
	CHECK(event_of(&writer) == 0 && lull_ring_peek(&ring, &subbuf) == 0);
	CHECK(lull_ring_unchanged(&ring, &subbuf));
	reference = ring.reference[0];
	ring.reference[0] = reference ^ LULL_REFERENCE_WRITING;
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN && !lull_ring_unchanged(&ring, &subbuf));
	ring.reference[0] = reference + (LULL_REFERENCE_WRITING << 1);
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN && !lull_ring_unchanged(&ring, &subbuf));
	ring.reference[0] = reference | 5; /* of this lap, and another place */
	CHECK(!lull_ring_unchanged(&ring, &subbuf));
	ring_end();
	return 0;
}

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

#define RUN(test)                                                \
	do {                                                     \
		int bad = test();                                \
		printf("%s %s\n", bad ? "FAIL" : "ok  ", #test); \
		bad ? failed++ : passed++;                       \
	} while (0)

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN(fresh_ring_names_each_subbuf_once_and_calls_it_empty);
	RUN(slot_is_a_hole_of_its_size_and_thread_until_it_is_committed);
	RUN(slot_of_one_word_is_whole_as_soon_as_it_is_reserved);
	RUN(identifiers_above_the_compact_ones_are_written_in_full);
	RUN(event_that_no_subbuf_can_hold_is_counted_too_big);
	RUN(packet_that_an_event_fills_ends_with_that_event);
	RUN(closed_packet_holds_the_mark_of_who_closed_it);
	RUN(packet_without_room_for_the_next_event_is_closed_by_its_writer);
	RUN(reference_that_its_opener_has_not_set_is_set_by_the_next_writer);
	RUN(reference_of_another_lap_costs_its_event_and_nothing_else);
	RUN(reference_of_another_lap_at_the_next_subbuf_costs_no_more);
	RUN(writer_that_comes_round_frees_what_the_last_writer_left);
	RUN(reader_frees_what_the_last_writer_left);
	RUN(writer_that_overwrites_moves_the_reader_past_it);
	RUN(reader_moves_itself_past_what_a_stopped_writer_overwrites);
	RUN(reader_keeps_the_oldest_while_nothing_overwrites_it);
	RUN(subbuf_that_is_taken_is_replaced_by_one_that_looks_full);
	RUN(damaged_count_says_no_more_than_a_whole_subbuf);
	RUN(subbuf_that_is_given_back_is_zeroed_where_marks_may_be_missing);
	RUN(look_at_what_is_not_the_open_subbuf_of_this_lap_is_refused);
	RUN(writer_that_is_always_interrupted_gives_up_and_is_counted);
	RUN(interrupted_writer_reads_the_clock_again);
	RUN(interrupted_switch_leaves_what_the_other_opened);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
