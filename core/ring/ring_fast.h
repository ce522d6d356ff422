/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The fast path of reserve, inlined into the probe; ring.c holds everything else.
 *
 * Paper: B 4.3.1, algorithms 1 and 2; the invariants I1..I5 are ring.c's.
 */
#ifndef LULL_RING_FAST_H
#define LULL_RING_FAST_H

#include "ring_words.h"

/* ring.c: every other reservation. Return: as lull_ring_reserve(). */
int lull_ring_reserve_slow(struct lull_ring *ring, const struct lull_ring_writer *writer,
			   uint32_t id, uint32_t payload_bytes, struct lull_ring_slot *slot);

static inline uint64_t run_word(const struct lull_ring_writer *writer, uint64_t count)
{
	return (uint64_t)writer->tid << 32 | (uint32_t)count;
}

static inline uint32_t compact_header(uint32_t id, uint64_t cycles)
{
	return id | (uint32_t)(cycles << 8);
}

/*
 * The common reservation, and only that: the thread's run goes on, the slot fits into the open
 * sub-buffer with room to spare, and 24 bits of time are enough. All other cases, and those that
 * this function cannot tell, go to lull_ring_reserve_slow(). A valid run says not only which thread
 * wrote last, but also that no sub-buffer was switched since (I4): so the sub-buffer is open and
 * its reference is writing, unless the run's last slot ended at the end of its sub-buffer and the
 * next one is not open yet.
 *
 * Return: 1 when reserved, 0 when not.
 */
static inline int reserve_fast(struct lull_ring *ring, const struct lull_ring_writer *writer,
			       uint32_t id, uint32_t payload_bytes, struct lull_ring_slot *slot)
{
	struct lull_ring_shared *shared = ring->shared;
	/*
	 * [ring.reserve:B] acquire. Pairs with [ring.publish:A].
	 * Orders: the load of write_count before those of last_cycles and run.
	 * Else: a writer that loads them on another CPU, and is back on the ring's CPU when it
	 * publishes, takes the run that its own interrupted attempt left for the valid one. Its
	 * event then lacks a thread record, and belongs to the thread that wrote there meanwhile.
	 */
	uint64_t count = lull_load_acquire(&shared->write_count);
	uint64_t offset = slot_offset(ring, count);
	uint64_t slot_bytes =
		((uint64_t)payload_bytes + LULL_COMPACT_HEADER_BYTES + LULL_SLOT_ALIGN - 1) &
		~(uint64_t)(LULL_SLOT_ALIGN - 1);
	unsigned char *start;
	uint32_t physical;
	/*
	 * [ring.reserve:A] acquire. Pairs with [ring.publish:A].
	 * Orders: the load of last_cycles before that of run. A reservation under way stores run
	 * first, so while run is still valid last_cycles is the last slot's.
	 * Else: the time of a writer that was interrupted, and then moved or died, is taken for
	 * that of the last slot, and the event gets 24 bits of time where it needs 64.
	 * Mutant: RUN_FIRST.
	 */
	uint64_t last = lull_load_acquire(&shared->last_cycles);
	uint64_t cycles, run = lull_load(&shared->run);

	if (__builtin_expect(run != run_word(writer, count), 0) ||
	    __builtin_expect(!offset && !LULL_MUTANT(RUN_AT_END), 0) ||
	    __builtin_expect(offset + slot_bytes > ring->slot_mask, 0) ||
	    __builtin_expect(id > LULL_TAG_COMPACT_MAX, 0))
		return 0;
	physical = reference_physical(ring, lull_load(&ring->reference[count_index(ring, count)]));
	start = physical_data(ring, physical) + offset;
	slot->start = start;
	slot->payload = start + LULL_COMPACT_HEADER_BYTES;
	slot->ring = ring;
	slot->position = count;
	slot->commit = &ring->commit[physical];
	slot->slot_bytes = (uint32_t)slot_bytes;
	/* The clock last, because it takes longest: the stores above proceed meanwhile. */
	cycles = lull_clock_cycles();
	if (__builtin_expect((cycles - last) >> LULL_COMPACT_TIMESTAMP_BITS, 0))
		return 0;
	slot->header = compact_header(id, cycles);
	return lull_publish(&(struct lull_reservation){
		.shared = shared,
		.expect = count,
		.until = count + slot_bytes,
		.run = run - (uint32_t)count + (uint32_t)(count + slot_bytes),
		.cycles = cycles,
		.slot_low = start,
		.slot_high = start + sizeof(uint32_t),
		.mark_low = (uint32_t)LULL_HOLE(slot_bytes, 0),
		.mark_high = (uint32_t)(run >> 32),
		.cpu = ring->geometry.cpu_id,
	});
}

#endif
