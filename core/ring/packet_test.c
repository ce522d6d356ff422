/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What packets say: the time of each event, the packet's own times and sizes, and the losses
 * before its end. The clock is the test's: a time stamp is right or wrong, never nearly right.
 *
 * Paper: B 4.3.1 (EndSwitchCurrent, SwitchOldSubBuf), T 4.6.3.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../check/test.h"
#include "ring_words.h"

#define SUBBUF 4096u
#define COUNT 4u
#define PHYSICAL (2 * COUNT)
#define EVENT_ID 9u
#define EVENTS_MAX 4096u
#define COMPACT (1ull << LULL_COMPACT_TIMESTAMP_BITS)
#define BEGIN_CYCLES (1ull << 41)

__thread struct rseq *lull_rseq_area;
static struct rseq area = { .cpu_id = 3 }; /* not registered: nothing restarts */

static const struct lull_ring_writer writers[] = { { .pid = 10, .tid = 11, .name = "first" },
						   { .pid = 10, .tid = 12, .name = "second" } };
static const struct lull_ring_writer *writer = &writers[0]; /* who records now */

static struct lull_ring ring;
static unsigned char *memory;
static void *control;
static uint32_t spare;
static uint64_t now_cycles; /* what the clock says */
static uint64_t stamped[EVENTS_MAX], found[EVENTS_MAX]; /* times of events: wanted, read */
static uint32_t wanted_tid[EVENTS_MAX], found_tid[EVENTS_MAX]; /* and their threads */
static uint32_t stamped_count, found_count;

/* The clock counts nanoseconds: the kind that liblull reads before it has chosen another. */
static int clock_read(int32_t clock, void *time)
{
	struct timespec *now = time;

	(void)clock;
	now->tv_sec = (time_t)(now_cycles / 1000000000u);
	now->tv_nsec = (long)(now_cycles % 1000000000u);
	return 0;
}

static void ring_begin_mode(uint32_t mode, uint32_t plain)
{
	struct lull_ring_geometry geometry = { .subbuf_size_bytes = SUBBUF,
					       .subbuf_count = COUNT,
					       .physical_count = PHYSICAL,
					       .mode = mode,
					       .plain = plain,
					       .cpu_id = 3,
					       .stream_id = 7,
					       .uuid = "0123456789abcde" };

	memory = malloc(PHYSICAL * SUBBUF);
	memset(memory, plain ? 0 : 0xa5, PHYSICAL * SUBBUF); /* plain rings begin with zeros */
	control = aligned_alloc(64, 4096);
	spare = COUNT;
	lull_ring_attach(&ring, &geometry, control, (struct lull_ring_memory){ memory, NULL });
	lull_ring_reset(&ring, 0);
	lull_rseq_area = &area;
	lull_clock.gettime = clock_read;
	now_cycles = BEGIN_CYCLES;
	stamped_count = found_count = 0;
	writer = &writers[0];
	area.cpu_id = 3;
}

static void ring_begin(uint32_t plain)
{
	ring_begin_mode(LULL_MODE_DISCARD, plain);
}

static void ring_end(void)
{
	free(memory);
	free(control);
}

/* Record an event of @payload_bytes; its time stamp should be @cycles. */
static int event(uint32_t id, uint32_t payload_bytes, uint64_t cycles)
{
	struct lull_ring_slot slot;
	int result;

	memset(&slot, 0xff, sizeof(slot)); /* what reserve leaves unset is wrong */
	result = lull_ring_reserve(&ring, writer, id, payload_bytes, &slot);
	if (result)
		return result;
	memset(slot.payload, 0, payload_bytes);
	lull_ring_commit(&slot);
	wanted_tid[stamped_count] = writer->tid;
	stamped[stamped_count++] = cycles;
	return 0;
}

/* Note times and threads of a packet's 4-byte events, as a reader tells them. Return: 0 or -1. */
static int packet_walk(const unsigned char *data, uint64_t begin_cycles, uint64_t content_bytes)
{
	uint64_t at = sizeof(struct lull_packet_header), cycles = begin_cycles;
	struct lull_thread_record thread = { 0 };

	while (at < content_bytes) {
		uint32_t word, id;
		uint64_t bytes = LULL_COMPACT_HEADER_BYTES;

		memcpy(&word, data + at, sizeof(word));
		id = word & 0xff;
		if (id == LULL_TAG_EXTENDED) {
			memcpy(&id, data + at + 4, sizeof(id));
			memcpy(&cycles, data + at + 8, sizeof(cycles));
			bytes = LULL_EXTENDED_HEADER_BYTES;
		} else {
			cycles += ((word >> 8) - cycles) & (COMPACT - 1);
		}
		if (id == LULL_EVENT_THREAD) {
			memcpy(&thread, data + at + bytes, sizeof(thread));
			at += bytes + sizeof(thread);
			continue;
		}
		if (found_count == EVENTS_MAX)
			return -1;
		found_tid[found_count] = thread.tid;
		found[found_count++] = cycles;
		at += bytes + 4;
	}
	return at == content_bytes ? 0 : -1;
}

/* Take one packet: its header, and the times of its events. Return: 0, -EAGAIN or -1. */
static int packet_read(struct lull_packet_header *header)
{
	struct lull_ring_subbuf subbuf;
	int result = lull_ring_get(&ring, &spare, &subbuf);

	if (result)
		return result;
	if (subbuf.complete != 1 || subbuf.content_bytes != SUBBUF ||
	    subbuf.committed_bytes != SUBBUF || subbuf.position % SUBBUF != 0 ||
	    subbuf.data != memory + subbuf.physical * SUBBUF)
		return -1;
	memcpy(header, subbuf.data, sizeof(*header));
	result = packet_walk(subbuf.data, header->timestamp_begin_cycles,
			     header->content_size_bits / 8);
	lull_ring_put(&ring, &subbuf);
	return result;
}

static int events_are_right(void)
{
	struct lull_packet_header header;

	lull_ring_force_switch(&ring);
	while (packet_read(&header) == 0)
		;
	CHECK(found_count == stamped_count);
	for (uint32_t i = 0; i < stamped_count; i++)
		CHECK(found[i] == stamped[i] && found_tid[i] == wanted_tid[i]);
	return 0;
}

static int time_of_each_event_is_told_whatever_the_step_before_it(void)
{
	static const uint64_t steps[] = { 0,	       1,
					  COMPACT - 1, COMPACT,
					  COMPACT + 1, COMPACT * 2 - 1,
					  COMPACT * 2, 1ull << 32,
					  3,	       (1ull << 32) + 5,
					  1ull << 40,  COMPACT - 1 };
	const uint32_t step_count = sizeof(steps) / sizeof(steps[0]);

	for (uint32_t plain = 0; plain <= 1; plain++) {
		ring_begin(plain);
		for (uint32_t i = 0; i < step_count * step_count; i++) {
			now_cycles += steps[i % step_count];
			CHECK(event(EVENT_ID, 4, now_cycles) == 0);
			now_cycles += steps[i / step_count];
			CHECK(event(EVENT_ID + 1000 * (i % 7 == 0), 4, now_cycles) == 0);
		}
		CHECK(events_are_right() == 0);
		ring_end();
	}
	return 0;
}

/* The event header is short exactly where 24 bits of time are enough. */
static int event_costs_an_extended_header_only_when_24_bits_are_not_enough(void)
{
	static const struct {
		uint64_t step;
		uint32_t bytes;
	} costs[] = { { COMPACT - 1, 8 }, { COMPACT, 20 }, { COMPACT * 2 - 1, 20 }, { 1, 8 } };

	ring_begin(0);
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		uint64_t before = ring.shared->write_count;

		now_cycles += costs[i].step;
		CHECK(event(EVENT_ID, 4, now_cycles) == 0);
		CHECK(ring.shared->write_count - before == costs[i].bytes);
	}
	ring_end();
	return 0;
}

static int each_event_is_its_threads_however_they_take_turns(void)
{
	for (uint32_t plain = 0; plain <= 1; plain++) {
		ring_begin(plain);
		for (uint32_t i = 0; i < 256; i++) {
			writer = &writers[(i >> (i / 64)) & 1]; /* turns of 1, 2, 4, 8 events */
			CHECK(event(EVENT_ID, 4, ++now_cycles) == 0);
		}
		CHECK(events_are_right() == 0);
		ring_end();
	}
	return 0;
}

/* On a plain ring the clock is ordered instead, and last_cycles is not kept. */
static int clock_that_steps_back_takes_no_event_back(void)
{
	static const uint64_t backs[] = { 1, COMPACT - 1, COMPACT, 1ull << 32, BEGIN_CYCLES - 1 };

	for (size_t i = 0; i < sizeof(backs) / sizeof(backs[0]); i++) {
		ring_begin(0);
		CHECK(event(EVENT_ID, 4, BEGIN_CYCLES) == 0);
		now_cycles -= backs[i];
		for (uint32_t k = 0; k < 2 * SUBBUF / 8; k++)
			CHECK(event(EVENT_ID, 4, BEGIN_CYCLES) == 0);
		now_cycles = BEGIN_CYCLES + 5;
		CHECK(event(EVENT_ID, 4, now_cycles) == 0);
		CHECK(events_are_right() == 0);
		ring_end();
	}
	return 0;
}

/* Whoever closes a packet: an event that needs the next one, or a switch that was asked for. */
static int packet_ends_no_earlier_than_its_last_event(void)
{
	for (uint32_t asked = 0; asked <= 1; asked++) {
		struct lull_packet_header first, second;
		uint32_t in_first = 1;

		ring_begin(0);
		CHECK(event(EVENT_ID, 4, now_cycles) == 0);
		now_cycles -= 1000;
		if (asked)
			CHECK(lull_ring_force_switch(&ring) == 1);
		else
			while (ring.shared->write_count <= SUBBUF)
				CHECK(event(EVENT_ID, 4, BEGIN_CYCLES) == 0);
		CHECK(event(EVENT_ID, 4, BEGIN_CYCLES) == 0);
		CHECK(lull_ring_force_switch(&ring) == 1);
		CHECK(packet_read(&first) == 0);
		in_first = found_count;
		CHECK(packet_read(&second) == 0 && found_count > in_first);
		CHECK(first.timestamp_begin_cycles == BEGIN_CYCLES);
		CHECK(first.timestamp_end_cycles == BEGIN_CYCLES);
		CHECK(second.timestamp_begin_cycles == BEGIN_CYCLES);
		CHECK(second.timestamp_end_cycles == BEGIN_CYCLES);
		ring_end();
	}
	return 0;
}

static int packets_carry_their_names_sizes_and_numbers(void)
{
	struct lull_packet_header header;

	ring_begin(0);
	for (uint64_t packet = 0; packet < 2 * COUNT; packet++) {
		for (uint64_t i = 0; i < packet + 1; i++)
			CHECK(event(EVENT_ID, 4, ++now_cycles) == 0);
		now_cycles++;
		CHECK(lull_ring_force_switch(&ring) == 1);
		CHECK(packet_read(&header) == 0);
		CHECK(header.magic == LULL_PACKET_MAGIC);
		CHECK(!memcmp(header.uuid, "0123456789abcde", sizeof(header.uuid)));
		CHECK(header.stream_id == 7 && header.cpu_id == 3 && header.flags == 0);
		CHECK(header.content_size_bits ==
		      8 * (sizeof(header) + LULL_EXTENDED_HEADER_BYTES +
			   sizeof(struct lull_thread_record) + (packet + 1) * 8));
		CHECK(header.packet_size_bits == 8 * SUBBUF);
		CHECK(header.packet_seq_num == packet);
		CHECK(header.timestamp_end_cycles == now_cycles);
	}
	ring_end();
	return 0;
}

/* Read all packets. Return: 0 when each one's losses add up, with the last one's in @header. */
static int read_to_last(struct lull_packet_header *header)
{
	while (packet_read(header) == 0) {
		uint64_t sum = 0;

		for (int cause = 0; cause < LULL_LOST_CAUSES; cause++)
			sum += header->lost[cause];
		CHECK(header->events_discarded == sum);
	}
	return 0;
}

static int packet_says_what_was_lost_before_its_end(void)
{
	struct lull_packet_header header;

	ring_begin(0);
	while (event(EVENT_ID, 4, now_cycles) == 0)
		;
	CHECK(event(EVENT_ID, 4, 0) == -ENOBUFS && event(EVENT_ID, 4, 0) == -ENOBUFS);
	CHECK(event(EVENT_ID, SUBBUF, 0) == -ENOBUFS && event(EVENT_ID, SUBBUF, 0) == -ENOBUFS);
	lull_ring_count_lost(&ring, LULL_LOST_IN_FLIGHT, 4);
	lull_ring_count_lost(&ring, LULL_LOST_OVERFLOW, 5);
	CHECK(read_to_last(&header) == 0);
	CHECK(header.events_discarded == 0); /* these were closed before anything was lost */
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	CHECK(lull_ring_force_switch(&ring) == 1);
	CHECK(read_to_last(&header) == 0);
	CHECK(header.lost[LULL_LOST_FULL] == 3);
	CHECK(header.lost[LULL_LOST_TOO_BIG] == 2);
	CHECK(header.lost[LULL_LOST_IN_FLIGHT] == 4);
	CHECK(header.lost[LULL_LOST_OVERFLOW] == 5);
	ring_end();
	return 0;
}

static int ring_of_another_cpu_is_left_alone(void)
{
	struct lull_ring_slot slot;
	uint64_t count;

	ring_begin(0);
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	count = ring.shared->write_count;
	for (area.cpu_id = 2; area.cpu_id <= 4; area.cpu_id += 2) {
		CHECK(lull_ring_reserve(&ring, writer, EVENT_ID, 5000, &slot) == -EAGAIN);
		CHECK(lull_ring_reserve(&ring, &writers[1], EVENT_ID, 4, &slot) == -EAGAIN);
		CHECK(lull_ring_force_switch(&ring) == -EAGAIN);
		CHECK(ring.shared->write_count == count);
	}
	CHECK(lull_ring_lost(&ring, LULL_LOST_TOO_BIG) == 0);
	area.cpu_id = 3;
	CHECK(lull_ring_force_switch(&ring) == 1);
	ring_end();
	ring_begin(1);
	area.cpu_id = 2; /* plain rings are for threads of any */
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	CHECK(events_are_right() == 0);
	ring_end();
	return 0;
}

/* Not the first sub-buffer, so that no default is right by chance. */
static int look_at_an_open_packet_shows_what_it_holds(void)
{
	struct lull_ring_subbuf subbuf;
	struct lull_packet_header header;

	ring_begin(0);
	CHECK(event(EVENT_ID, 4, now_cycles) == 0 && lull_ring_force_switch(&ring) == 1);
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN); /* an older one is unread */
	CHECK(packet_read(&header) == 0);
	CHECK(lull_ring_peek(&ring, &subbuf) == -EAGAIN); /* none is open */
	now_cycles += 77;
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	CHECK(lull_ring_peek(&ring, &subbuf) == 0);
	CHECK(subbuf.physical == 1 && subbuf.data == memory + SUBBUF && subbuf.position == SUBBUF);
	CHECK(subbuf.complete == 1 && subbuf.last_cycles == now_cycles);
	CHECK(subbuf.content_bytes == ring.shared->write_count - SUBBUF);
	CHECK(subbuf.committed_bytes == subbuf.content_bytes);
	for (int i = -1; i <= 1; i += 2) {
		ring.shared->run += (uint64_t)(int64_t)i * 4; /* an interrupted reservation's */
		CHECK(lull_ring_peek(&ring, &subbuf) == 0 && subbuf.last_cycles == 0);
		ring.shared->run -= (uint64_t)(int64_t)i * 4;
	}
	ring_end();
	return 0;
}

/* A writer stopped within the oldest packet: the reader is told, and no writer overwrites it. */
static int packet_that_is_not_whole_is_kept_and_said_to_be_stuck(void)
{
	struct lull_ring_subbuf subbuf;
	struct lull_ring_slot stopped;

	ring_begin_mode(LULL_MODE_FLIGHT_RECORDER, 0);
	CHECK(lull_ring_stuck(&ring, &subbuf) == -EAGAIN); /* it is open still */
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	CHECK(lull_ring_reserve(&ring, writer, EVENT_ID, 4, &stopped) == 0);
	CHECK(lull_ring_force_switch(&ring) == 1);
	for (uint32_t packet = 1; packet < COUNT; packet++) {
		CHECK(event(EVENT_ID, 4, now_cycles) == 0);
		CHECK(lull_ring_overwrites_next(&ring) == (packet == COUNT - 1));
		CHECK(lull_ring_force_switch(&ring) == 1);
	}
	CHECK(lull_ring_stuck(&ring, &subbuf) == 0);
	CHECK(subbuf.position == 0 && subbuf.physical == 0 && subbuf.data == memory);
	CHECK(subbuf.content_bytes == SUBBUF && !subbuf.complete);
	CHECK(subbuf.committed_bytes == SUBBUF - stopped.slot_bytes);
	CHECK(event(EVENT_ID, 4, now_cycles) == -ENOBUFS);
	CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
	CHECK(ring.shared->write_count == (uint64_t)COUNT * SUBBUF);
	lull_ring_commit(&stopped);
	CHECK(event(EVENT_ID, 4, now_cycles) == 0);
	CHECK(lull_ring_lost(&ring, LULL_LOST_OVERFLOW) == 1);
	ring_end();
	return 0;
}

static int control_words_take_as_many_bytes_as_are_used(void)
{
	ring_begin(0);
	CHECK(lull_ring_control_bytes(&ring.geometry) ==
	      sizeof(struct lull_ring_shared) + COUNT * sizeof(uint64_t) +
		      PHYSICAL * sizeof(struct lull_commit));
	CHECK((unsigned char *)(ring.commit + PHYSICAL) - (unsigned char *)control ==
	      (ptrdiff_t)lull_ring_control_bytes(&ring.geometry));
	ring_end();
	return 0;
}

/* Equation (2) is first asked of commit.seq: it says so as soon as the last slot is committed. */
static int last_commit_says_that_the_packet_is_whole(void)
{
	struct lull_ring_slot slot;
	uint64_t whole;

	ring_begin(0);
	CHECK(lull_ring_reserve(&ring, writer, EVENT_ID, 4, &slot) == 0);
	CHECK(lull_ring_force_switch(&ring) == 1);
	CHECK(ring.commit[0].seq == 0);
	lull_ring_commit(&slot);
	whole = ring.commit[0].count;
	CHECK(ring.commit[0].seq == whole && whole == SUBBUF);
	CHECK(reference_tag(ring.reference[0]) == reference_state(&ring, 0));
	lull_ring_deliver(&ring, 0, 0, whole - SUBBUF); /* one who helps comes late */
	CHECK(ring.commit[0].seq == whole);
	lull_ring_deliver(&ring, 0, 0, whole + SUBBUF); /* one of the next lap */
	CHECK(ring.commit[0].seq == whole + SUBBUF);
	ring_end();
	return 0;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN(time_of_each_event_is_told_whatever_the_step_before_it);
	RUN(event_costs_an_extended_header_only_when_24_bits_are_not_enough);
	RUN(each_event_is_its_threads_however_they_take_turns);
	RUN(clock_that_steps_back_takes_no_event_back);
	RUN(packet_ends_no_earlier_than_its_last_event);
	RUN(packets_carry_their_names_sizes_and_numbers);
	RUN(packet_says_what_was_lost_before_its_end);
	RUN(ring_of_another_cpu_is_left_alone);
	RUN(look_at_an_open_packet_shows_what_it_holds);
	RUN(packet_that_is_not_whole_is_kept_and_said_to_be_stuck);
	RUN(control_words_take_as_many_bytes_as_are_used);
	RUN(last_commit_says_that_the_packet_is_whole);
	return sums();
}
