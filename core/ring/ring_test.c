/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tests of the ring, one thread: configuration, both modes, losses, overflow of the counters.
 * ring_sched_test.c explores what several writers and the reader do to each other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../check/test.h"
#include "ring_words.h"

#define SUBBUF 4096u
#define COUNT 4u
#define PHYSICAL (2 * COUNT)
#define EVENT_ID 9u

__thread struct rseq *lull_rseq_area;
static struct rseq area; /* not registered: nothing restarts, and nothing interrupts here */

struct bench {
	struct lull_ring ring;
	struct lull_ring_geometry geometry;
	unsigned char *memory;
	void *control;
	uint32_t spare;
};

static const struct lull_ring_writer writer = { .pid = 10, .tid = 11, .name = "writer" };

static void bench_begin(struct bench *bench, uint32_t mode, uint32_t plain, uint64_t start)
{
	*bench = (struct bench){ .geometry = { .subbuf_size_bytes = SUBBUF,
					       .subbuf_count = COUNT,
					       .physical_count = PHYSICAL,
					       .mode = mode,
					       .plain = plain } };
	bench->memory = calloc(PHYSICAL, SUBBUF);
	bench->control = aligned_alloc(64, 4096);
	bench->spare = COUNT;
	lull_ring_attach(&bench->ring, &bench->geometry, bench->control,
			 (struct lull_ring_memory){ bench->memory, NULL });
	lull_ring_reset(&bench->ring, start);
	lull_rseq_area = &area;
}

static void bench_end(struct bench *bench)
{
	free(bench->memory);
	free(bench->control);
}

static int event(struct bench *bench, uint32_t value)
{
	struct lull_ring_slot slot;
	int result = lull_ring_reserve(&bench->ring, &writer, EVENT_ID, sizeof(value), &slot);

	if (result)
		return result;
	memcpy(slot.payload, &value, sizeof(value));
	lull_ring_commit(&slot);
	return 0;
}

/* Read the values of a packet. Return: how many, or -1 when a slot is not what it should be. */
static int packet_values(const struct lull_ring_subbuf *subbuf, uint64_t content, uint32_t *values)
{
	uint64_t at = sizeof(struct lull_packet_header);
	int count = 0;

	while (at < content) {
		uint32_t word, id;
		uint64_t header = 4;

		memcpy(&word, subbuf->data + at, sizeof(word));
		id = word & 0xff;
		if (id == LULL_TAG_EXTENDED) {
			memcpy(&id, subbuf->data + at + 4, sizeof(id));
			header = LULL_EXTENDED_HEADER_BYTES;
		}
		if (id == LULL_EVENT_THREAD) {
			struct lull_thread_record record;

			memcpy(&record, subbuf->data + at + header, sizeof(record));
			if (record.tid != writer.tid || record.pid != writer.pid)
				return -1;
			at += header + sizeof(record);
		} else if (id == EVENT_ID) {
			memcpy(&values[count++], subbuf->data + at + header, 4);
			at += header + 4;
		} else {
			return -1;
		}
	}
	return at == content ? count : -1;
}

static uint64_t packet_content(const struct lull_ring_subbuf *subbuf)
{
	return ((const struct lull_packet_header *)subbuf->data)->content_size_bits / 8;
}

/* Read one sub-buffer; its values continue from *next. Return: values read, or -1. */
static int read_one(struct bench *bench, uint32_t *next)
{
	struct lull_ring_subbuf subbuf;
	uint32_t values[SUBBUF / 8];
	int count;

	if (lull_ring_get(&bench->ring, &bench->spare, &subbuf))
		return 0;
	count = packet_values(&subbuf, packet_content(&subbuf), values);
	for (int i = 0; i < count; i++)
		if (values[i] != (*next)++)
			return -1;
	lull_ring_put(&bench->ring, &subbuf);
	return count;
}

static int ring_with_bad_geometry_is_refused_with_a_reason(void)
{
	struct lull_ring_geometry good = { .subbuf_size_bytes = 4096,
					   .subbuf_count = 2,
					   .physical_count = 4 };
	struct lull_ring_geometry bad[] = { good, good, good, good, good, good,
					    good, good, good, good, good, good };

	bad[0].subbuf_size_bytes = 5000;
	bad[1].subbuf_size_bytes = 2048;
	bad[2].subbuf_size_bytes = 16u << 20;
	bad[3].subbuf_count = 3;
	bad[4].subbuf_count = 1;
	bad[5].physical_count = 2;
	bad[6].mode = 7;
	bad[7].subbuf_size_bytes = 0;
	bad[8].physical_count = 5;
	bad[9].physical_count = 2 * LULL_PHYSICAL_COUNT_MAX;
	bad[10].subbuf_count = 2 * LULL_SUBBUF_COUNT_MAX;
	bad[11].subbuf_count = 4; /* as many as there are physical ones */
	CHECK(lull_ring_check(&good) == NULL);
	good.mode = LULL_MODE_FLIGHT_RECORDER;
	CHECK(lull_ring_check(&good) == NULL);
	good.subbuf_size_bytes = LULL_SUBBUF_BYTES_MAX;
	good.subbuf_count = LULL_SUBBUF_COUNT_MAX;
	good.physical_count = LULL_PHYSICAL_COUNT_MAX;
	CHECK(lull_ring_check(&good) == NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(lull_ring_check(&bad[i]) != NULL && lull_ring_check(&bad[i])[0]);
		for (size_t k = 0; k < i; k++)
			CHECK(k == 0 || i == 7 || i == 11 ||
			      lull_ring_check(&bad[i]) != lull_ring_check(&bad[k]));
	}
	return 0;
}

/* Fill and drain through ten laps from @start; nothing is lost. */
static int laps(uint32_t mode, uint32_t plain, uint64_t start)
{
	struct bench bench;
	uint32_t written = 0, read = 0;

	bench_begin(&bench, mode, plain, start);
	while (written < 10 * COUNT * SUBBUF / 8) {
		int count;

		CHECK(event(&bench, written++) == 0);
		count = read_one(&bench, &read);
		CHECK(count >= 0);
	}
	lull_ring_force_switch(&bench.ring);
	while (read < written)
		CHECK(read_one(&bench, &read) > 0);
	for (int cause = 0; cause < LULL_LOST_CAUSES; cause++)
		CHECK(lull_ring_lost(&bench.ring, cause) == 0);
	bench_end(&bench);
	return 0;
}

static int ring_keeps_every_event_across_counter_overflow(void)
{
	static const uint64_t start[] = { 0, (1ull << 32) - 4 * COUNT * SUBBUF,
					  0ull - 4 * COUNT * SUBBUF };

	for (uint32_t mode = LULL_MODE_DISCARD; mode <= LULL_MODE_FLIGHT_RECORDER; mode++)
		for (uint32_t plain = 0; plain <= 1; plain++)
			for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
				CHECK(laps(mode, plain, start[i]) == 0);
	return 0;
}

static int ring_drops_when_full_and_counts(void)
{
	struct bench bench;
	uint32_t written = 0, lost = 0, read = 0;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	while (event(&bench, written) == 0)
		written++;
	CHECK(lull_ring_poll(&bench.ring) == LULL_RING_URGENT);
	for (lost = 1; lost < 100; lost++)
		CHECK(event(&bench, written) == -ENOBUFS);
	CHECK(lull_ring_lost(&bench.ring, LULL_LOST_FULL) == 100);
	CHECK(read_one(&bench, &read) > 0);
	CHECK(lull_ring_poll(&bench.ring) == LULL_RING_READABLE);
	CHECK(event(&bench, written++) == 0);
	lull_ring_force_switch(&bench.ring);
	CHECK(lull_ring_poll(&bench.ring) == LULL_RING_URGENT);
	while (read < written)
		CHECK(read_one(&bench, &read) > 0);
	CHECK(lull_ring_poll(&bench.ring) == LULL_RING_EMPTY);
	bench_end(&bench);
	return 0;
}

static int flight_recorder_keeps_the_newest(void)
{
	struct bench bench;
	uint32_t written = 0, read, first;
	struct lull_ring_subbuf subbuf;
	uint32_t values[SUBBUF / 8];

	bench_begin(&bench, LULL_MODE_FLIGHT_RECORDER, 0, 0);
	while (written < 20 * SUBBUF / 8)
		CHECK(event(&bench, written++) == 0);
	lull_ring_force_switch(&bench.ring);
	CHECK(lull_ring_get(&bench.ring, &bench.spare, &subbuf) == 0);
	CHECK(packet_values(&subbuf, packet_content(&subbuf), values) > 0);
	first = read = values[0];
	CHECK(first > written - COUNT * SUBBUF / 8);
	lull_ring_put(&bench.ring, &subbuf);
	read += (uint32_t)packet_values(&subbuf, packet_content(&subbuf), values);
	while (read < written)
		CHECK(read_one(&bench, &read) > 0);
	bench_end(&bench);
	return 0;
}

/* A snapshot: what is closed is looked at, again and again, until it is overwritten. */
static int what_is_looked_at_stays(void)
{
	struct lull_ring_subbuf subbuf, open;
	uint32_t values[SUBBUF / 8], next = 0, found = 0;
	uint64_t position, end;
	struct bench bench;

	bench_begin(&bench, LULL_MODE_FLIGHT_RECORDER, 0, 0);
	while (next < 20 * SUBBUF / 8)
		CHECK(event(&bench, next++) == 0);
	for (int times = 0; times < 2; times++) {
		end = bench.ring.shared->write_count & ~(uint64_t)(SUBBUF - 1);
		position = bench.ring.shared->read_count;
		CHECK(lull_ring_look(&bench.ring, end, &subbuf) == -EAGAIN);
		CHECK(lull_ring_look(&bench.ring, end - COUNT * SUBBUF, &subbuf) == -EAGAIN);
		CHECK(lull_ring_look(&bench.ring, position + 4, &subbuf) == -EAGAIN);
		for (found = 0; position < end; position += SUBBUF) {
			CHECK(lull_ring_look(&bench.ring, position, &subbuf) == 0);
			CHECK(subbuf.complete && lull_ring_unchanged(&bench.ring, &subbuf));
			found += (uint32_t)packet_values(&subbuf, packet_content(&subbuf), values);
		}
		CHECK(lull_ring_peek(&bench.ring, &open) == 0 && open.position == end);
		found += (uint32_t)packet_values(&open, open.content_bytes, values);
		CHECK(values[0] < next && found > (COUNT - 1) * 4);
	}
	while (next < 40 * SUBBUF / 8)
		CHECK(event(&bench, next++) == 0);
	CHECK(!lull_ring_unchanged(&bench.ring, &subbuf));
	bench_end(&bench);
	return 0;
}

static int event_that_fits_exactly_ends_the_packet(void)
{
	struct bench bench;
	struct lull_ring_slot slot;
	struct lull_ring_subbuf subbuf;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	CHECK(lull_ring_reserve(&bench.ring, &writer, EVENT_ID, SUBBUF - 112 - 40 - 4, &slot) == 0);
	lull_ring_commit(&slot);
	CHECK(lull_ring_get(&bench.ring, &bench.spare, &subbuf) == 0);
	CHECK(packet_content(&subbuf) == SUBBUF);
	lull_ring_put(&bench.ring, &subbuf);
	CHECK(lull_ring_reserve(&bench.ring, &writer, EVENT_ID, SUBBUF - 112 - 40 - 3, &slot) ==
	      -ENOBUFS);
	CHECK(lull_ring_lost(&bench.ring, LULL_LOST_TOO_BIG) == 1);
	CHECK(event(&bench, 1) == 0);
	bench_end(&bench);
	return 0;
}

static int empty_subbuf_is_not_switched(void)
{
	struct bench bench;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	CHECK(lull_ring_force_switch(&bench.ring) == 0);
	CHECK(event(&bench, 1) == 0);
	CHECK(lull_ring_force_switch(&bench.ring) == 1);
	CHECK(lull_ring_force_switch(&bench.ring) == 0);
	bench_end(&bench);
	return 0;
}

static int peek_shows_what_is_committed_and_only_that(void)
{
	struct bench bench;
	struct lull_ring_subbuf subbuf;
	struct lull_ring_slot slot;
	uint32_t values[SUBBUF / 8];

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	CHECK(lull_ring_peek(&bench.ring, &subbuf) == -EAGAIN);
	for (uint32_t i = 0; i < 5; i++)
		CHECK(event(&bench, i) == 0);
	CHECK(lull_ring_peek(&bench.ring, &subbuf) == 0 && subbuf.complete);
	CHECK(packet_values(&subbuf, subbuf.content_bytes, values) == 5);
	CHECK(subbuf.last_cycles != 0);
	CHECK(lull_ring_reserve(&bench.ring, &writer, EVENT_ID, 4, &slot) == 0);
	CHECK(event(&bench, 6) == 0);
	CHECK(lull_ring_peek(&bench.ring, &subbuf) == 0 && !subbuf.complete);
	lull_ring_commit(&slot);
	CHECK(lull_ring_peek(&bench.ring, &subbuf) == 0 && subbuf.complete);
	CHECK(lull_ring_unchanged(&bench.ring, &subbuf));
	lull_ring_force_switch(&bench.ring);
	CHECK(lull_ring_unchanged(&bench.ring, &subbuf)); /* closed, and still there */
	CHECK(lull_ring_peek(&bench.ring, &subbuf) == -EAGAIN);
	bench_end(&bench);
	return 0;
}

static int subbuf_of_a_dead_writer_is_taken_and_its_late_commit_harms_nothing(void)
{
	struct bench bench;
	struct lull_ring_subbuf subbuf;
	struct lull_ring_slot dead;
	uint32_t hole, read = 100;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	CHECK(event(&bench, 0) == 0);
	CHECK(lull_ring_reserve(&bench.ring, &writer, EVENT_ID, 4, &dead) == 0);
	CHECK(lull_ring_take(&bench.ring, bench.spare, &subbuf) == -EAGAIN); /* still open */
	CHECK(event(&bench, 2) == 0);
	lull_ring_force_switch(&bench.ring);
	CHECK(lull_ring_get(&bench.ring, &bench.spare, &subbuf) == -EAGAIN);
	CHECK(lull_ring_take(&bench.ring, bench.spare, &subbuf) == 0);
	CHECK(subbuf.committed_bytes == SUBBUF - dead.slot_bytes && !subbuf.complete);
	memcpy(&hole, dead.start, sizeof(hole));
	CHECK((hole & 0xff) == LULL_TAG_HOLE && hole >> 8 == dead.slot_bytes);
	lull_ring_put(&bench.ring, &subbuf);
	CHECK(!lull_ring_settled(&bench.ring, &subbuf));
	for (uint32_t i = 0; i < 3 * COUNT * SUBBUF / 8; i++) {
		CHECK(event(&bench, 100 + i) == 0);
		CHECK(read_one(&bench, &read) >= 0);
		if (i == COUNT * SUBBUF / 8)
			lull_ring_commit(&dead); /* not dead after all */
	}
	CHECK(lull_ring_settled(&bench.ring, &subbuf));
	CHECK(lull_ring_lost(&bench.ring, LULL_LOST_OVERFLOW) == 0);
	bench_end(&bench);
	return 0;
}

static int event_without_payload_is_one_word(void)
{
	struct bench bench;
	struct lull_ring_slot slot;
	uint64_t before;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	CHECK(event(&bench, 0) == 0);
	before = bench.ring.shared->write_count;
	CHECK(lull_ring_reserve(&bench.ring, &writer, EVENT_ID, 0, &slot) == 0);
	lull_ring_commit(&slot);
	CHECK(bench.ring.shared->write_count - before == 4);
	CHECK(event(&bench, 0) == 0);
	CHECK(bench.ring.shared->write_count - before == 12); /* an int costs 8 bytes */
	bench_end(&bench);
	return 0;
}

static int discontiguous_memory_serves_as_well(void)
{
	struct bench bench;
	unsigned char *pages[PHYSICAL];
	uint32_t read = 0;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	for (uint32_t p = 0; p < PHYSICAL; p++)
		pages[p] = bench.memory + ((p * 5) % PHYSICAL) * SUBBUF;
	bench.ring.memory = (struct lull_ring_memory){ NULL, pages };
	for (uint32_t i = 0; i < 5 * COUNT * SUBBUF / 8; i++) {
		CHECK(event(&bench, i) == 0);
		CHECK(read_one(&bench, &read) >= 0);
	}
	bench_end(&bench);
	return 0;
}

static int scribbled_reference_stops_nobody_and_reads_nothing(void)
{
	struct bench bench;
	struct lull_ring_subbuf subbuf;

	bench_begin(&bench, LULL_MODE_DISCARD, 0, 0);
	while (event(&bench, 0) == 0)
		;
	for (uint32_t k = 0; k < COUNT; k++)
		bench.ring.reference[k] |= 0xffff;
	CHECK(lull_ring_get(&bench.ring, &bench.spare, &subbuf) == -EAGAIN);
	CHECK(lull_ring_take(&bench.ring, bench.spare, &subbuf) == -EAGAIN);
	CHECK(lull_ring_peek(&bench.ring, &subbuf) == -EAGAIN);
	CHECK(event(&bench, 0) == -ENOBUFS);
	bench_end(&bench);
	return 0;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	RUN(ring_with_bad_geometry_is_refused_with_a_reason);
	RUN(ring_keeps_every_event_across_counter_overflow);
	RUN(ring_drops_when_full_and_counts);
	RUN(flight_recorder_keeps_the_newest);
	RUN(what_is_looked_at_stays);
	RUN(event_that_fits_exactly_ends_the_packet);
	RUN(event_without_payload_is_one_word);
	RUN(empty_subbuf_is_not_switched);
	RUN(peek_shows_what_is_committed_and_only_that);
	RUN(subbuf_of_a_dead_writer_is_taken_and_its_late_commit_harms_nothing);
	RUN(discontiguous_memory_serves_as_well);
	RUN(scribbled_reference_stops_nobody_and_reads_nothing);
	return sums();
}
