// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The reader of the ring's scenarios: get, take, peek, force a switch and look at what is stuck, as
 * a consumer does.
 *
 * It owns what get returns until put (race flags). What take returns may be written
 * meanwhile, so it copies twice with a heavy barrier in between: a slot counts as committed
 * if its first word was committed in the first copy, and is believed as of the second. The
 * recorder's walk (tools/consumer) does the same.
 * Paper: B 4.3.2, 4.4.
 */
#include "ring_sched_test.h"

static int __attribute__((noinline)) consume_full(void)
{
	struct lull_ring_subbuf subbuf;
	uint8_t bytes[SUBBUF_BYTES];
	uint32_t spare = books->spare;

	if (lull_ring_get(&ring, &spare, &subbuf))
		return 0;
	books->spare = (uint8_t)spare;
	sched_own(subbuf.data, SUBBUF_BYTES);
	if (LULL_MUTANT(PUT_EARLY))
		lull_ring_put(&ring, &subbuf);
	sched_read(bytes, subbuf.data, SUBBUF_BYTES);
	audit_full(&subbuf, bytes);
	sched_disown(subbuf.data, SUBBUF_BYTES);
	lull_ring_put(&ring, &subbuf);
	return 1;
}

static int __attribute__((noinline)) consume_taken(void)
{
	struct lull_ring_subbuf subbuf;
	uint8_t early[SUBBUF_BYTES], late[SUBBUF_BYTES];
	uint32_t spare = SUBBUF_COUNT + 1u + books->spares_used;

	if (books->spares_used == parameter[SPARES] || lull_ring_take(&ring, spare, &subbuf))
		return 0;
	books->spares_used++;
	sched_read_racing(early, subbuf.data, SUBBUF_BYTES);
	lull_barrier_heavy();
	sched_read_racing(late, subbuf.data, SUBBUF_BYTES);
	audit_taken(&subbuf, early, late);
	lull_ring_put(&ring, &subbuf);
	return 1;
}

/* The end of a recording, when no spare is left: what is stuck is read where it is. */
static void __attribute__((noinline)) look_at_stuck(void)
{
	struct lull_ring_subbuf subbuf;
	uint8_t early[SUBBUF_BYTES], late[SUBBUF_BYTES];

	if (lull_ring_stuck(&ring, &subbuf))
		return;
	sched_read_racing(early, subbuf.data, SUBBUF_BYTES);
	lull_barrier_heavy();
	sched_read_racing(late, subbuf.data, SUBBUF_BYTES);
	audit_stuck(&subbuf, early, late);
}

static void __attribute__((noinline)) look(void)
{
	struct lull_ring_subbuf subbuf;
	uint8_t bytes[SUBBUF_BYTES];

	if (lull_ring_peek(&ring, &subbuf) || !subbuf.complete)
		return;
	if (ring.geometry.mode == LULL_MODE_DISCARD) {
		sched_read(bytes, subbuf.data,
			   offsetof(struct lull_packet_header, timestamp_end_cycles));
		sched_read(bytes + LULL_HEADER_BYTES, subbuf.data + LULL_HEADER_BYTES,
			   subbuf.content_bytes - LULL_HEADER_BYTES);
	} else {
		sched_read_racing(bytes, subbuf.data, SUBBUF_BYTES);
		if (!lull_ring_unchanged(&ring, &subbuf))
			return;
	}
	audit_peeked(&subbuf, bytes);
}

/* A snapshot of a flight recorder: all that is closed, from the oldest on; nothing is taken. */
static void __attribute__((noinline)) look_at_closed(void)
{
	struct lull_ring_subbuf subbuf;
	uint8_t early[SUBBUF_BYTES], late[SUBBUF_BYTES];
	uint64_t position = lull_load(&ring.shared->read_count);
	uint32_t count;

	for (count = 0; count < SUBBUF_COUNT; count++, position += SUBBUF_BYTES) {
		if (lull_ring_look(&ring, position, &subbuf))
			continue;
		sched_read_racing(early, subbuf.data, SUBBUF_BYTES);
		if (!subbuf.complete) {
			lull_barrier_heavy();
			sched_read_racing(late, subbuf.data, SUBBUF_BYTES);
		}
		if (!lull_ring_unchanged(&ring, &subbuf))
			continue;
		if (subbuf.complete)
			audit_looked(&subbuf, early);
		else
			audit_stuck(&subbuf, early, late);
	}
}

void reader_thread(long program)
{
	for (; program; program /= 10) {
		switch (program % 10) {
		case 1:
			consume_full();
			break;
		case 2:
			if (!consume_full())
				consume_taken();
			break;
		case 3:
			look();
			break;
		case 4:
			lull_ring_force_switch(&ring);
			break;
		case 5:
			look_at_stuck();
			break;
		case 6:
			look_at_closed();
			break;
		}
	}
}

/* After all threads: read what is left, as a consumer does when its session ends. */
void drain(void)
{
	uint32_t round;

	for (round = 0; round < 12; round++)
		if (!consume_full() && !consume_taken() && lull_ring_force_switch(&ring) != 1)
			break;
	sched_check(round < 12, "the ring does not run dry");
}
