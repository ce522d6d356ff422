/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The fast paths of reserve and commit, inlined into the probe; ring.c holds everything else.
 *
 * Paper: B 4.3.1, algorithms 1 and 2; the invariants I1..I5 are ring.c's.
 */
#ifndef LULL_RING_FAST_H
#define LULL_RING_FAST_H

#include "ring_words.h"

/* ring.c: every other reservation. Return: as lull_ring_reserve(). */
int lull_ring_reserve_slow(struct lull_ring *ring, const struct lull_ring_writer *writer,
			   uint32_t id, uint32_t payload_bytes, struct lull_ring_slot *slot);

/* Who reserves, and where: what the probe knows already. */
struct caller {
	uint32_t tid;
	uint32_t cpu; /* the ring's */
	long place; /* lull_place() */
	uint64_t (*clock)(void); /* a constant: lull_clock_cycles(), or what it comes down to */
};

static inline uint32_t compact_header(uint32_t id, uint64_t cycles)
{
	return id | (uint32_t)(cycles << 8);
}

/*
 * The common reservation, and only that: the thread's run goes on, the slot fits into the open
 * sub-buffer with room to spare, and 24 bits of time are enough. All other cases, and those that
 * this function cannot tell, go to lull_ring_reserve_slow(). A valid run says not only which thread
 * wrote last, but also that no sub-buffer was switched since (I4): so the sub-buffer is open and
 * lies where shared->physical says. A slot that ends at the end of its sub-buffer ends the run too.
 * The ring's memory is contiguous.
 *
 * Return: 1 when reserved, 0 when not.
 */
static inline __attribute__((always_inline)) int reserve_fast(struct lull_ring *ring,
							      const struct caller *caller,
							      uint32_t id, uint32_t payload_bytes,
							      struct lull_ring_slot *slot)
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
	uint64_t tid = run_word(caller->tid, 0);

	if (__builtin_expect(run != tid + (uint32_t)count, 0) ||
	    __builtin_expect(offset + slot_bytes > ring->slot_mask, 0) ||
	    __builtin_expect(id > LULL_TAG_COMPACT_MAX, 0))
		return 0;
	physical = reference_physical(ring, lull_load(&shared->physical));
	start = ring->memory.base + ((uint64_t)physical << ring->subbuf_bits) + offset;
	slot->start = start;
	slot->payload = start + LULL_COMPACT_HEADER_BYTES;
	slot->ring = ring;
	slot->position = count;
	slot->commit = &ring->commit[physical];
	slot->slot_bytes = (uint32_t)slot_bytes;
	/* The clock last, because it takes longest: the stores above proceed meanwhile. */
	cycles = caller->clock();
	if (__builtin_expect((cycles - last) >> LULL_COMPACT_TIMESTAMP_BITS, 0))
		return 0;
	slot->header = compact_header(id, cycles);
	return lull_publish(&(struct lull_reservation){
		.shared = shared,
		.expect = count,
		.until = count + slot_bytes,
		.run = tid + (uint32_t)(count + slot_bytes),
		.physical = physical,
		.cycles = cycles,
		.slot_low = start,
		.slot_high = start + sizeof(uint32_t),
		.mark_low = (uint32_t)LULL_HOLE(slot_bytes, 0),
		.mark_high = caller->tid,
		.cpu = caller->cpu,
		.place = caller->place,
	});
}

/* Add a slot's bytes to those committed in its sub-buffer. Return: the count then. */
static inline uint64_t commit_count(struct lull_commit *commit, uint64_t bytes)
{
	/*
	 * [ring.commit:B] add, release. Pairs with [ring.get:A], [ring.open:B], [ring.take:B].
	 * Orders: the stores of header and payload before the addition of the slot's bytes.
	 * Else: the reader finds the sub-buffer full and reads bytes that are not written yet.
	 * Mutant: COMMIT_EARLY.
	 */
	return lull_add(&commit->count, bytes);
}

/* Make a slot readable. Return: 1 when its sub-buffer is full and @count is to be delivered. */
static inline __attribute__((always_inline)) int commit_fast(struct lull_ring_slot *slot,
							     uint64_t *count)
{
	/*
	 * [ring.commit:A] light barrier, then the header word. Pairs with [ring.walk:A].
	 * Orders: the stores of the payload before that of the word that turns the hole into an
	 * event; the second barrier, that word before the addition, as [ring.commit:B].
	 * Else: a reader that walks an incomplete sub-buffer takes a half-written slot for an
	 * event. Mutant: HEADER_EARLY.
	 */
	if (!LULL_MUTANT(HEADER_EARLY))
		lull_barrier_light();
	lull_store32((uint32_t *)slot->start, slot->header);
	lull_barrier_light();
	*count = commit_count(slot->commit, slot->slot_bytes);
	return count_offset(slot->ring, *count) == 0 || LULL_MUTANT(SEQ_EARLY);
}

#endif
