/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The words of a ring and the equations on them, for ring.c and reader.c.
 *
 * Counts are free-running 64-bit byte counts. A count names a sub-buffer (index) and how often
 * the buffer went round before it (lap). All comparisons are modulo arithmetic, so that every
 * counter may overflow at its own time. Paper: B 4.2, equations 1-4, figures 5 and 6.
 */
#ifndef LULL_RING_WORDS_H
#define LULL_RING_WORDS_H

#include "lull_port.h"
#include "ring.h"

#define LULL_REFERENCE_WRITING (1ull << 16)
#define LULL_HEADER_BYTES ((uint64_t)sizeof(struct lull_packet_header))

static inline uint64_t subbuf_bytes(const struct lull_ring *ring)
{
	return ring->subbuf_mask + 1;
}

static inline uint64_t buffer_bytes(const struct lull_ring *ring)
{
	return 1ull << ring->buffer_bits;
}

static inline uint64_t count_offset(const struct lull_ring *ring, uint64_t count)
{
	return count & ring->subbuf_mask;
}

/*
 * Where a slot may begin: count_offset() of any count that this code made, which is a multiple of
 * LULL_SLOT_ALIGN, and a place inside the sub-buffer whatever another process made of the count.
 */
static inline uint64_t slot_offset(const struct lull_ring *ring, uint64_t count)
{
	return count & (LULL_MUTANT(SLOT_UNALIGNED) ? ring->subbuf_mask : ring->slot_mask);
}

static inline uint64_t count_begin(const struct lull_ring *ring, uint64_t count)
{
	return count & ~ring->subbuf_mask;
}

static inline uint32_t count_index(const struct lull_ring *ring, uint64_t count)
{
	return (uint32_t)(count >> ring->subbuf_bits) & (ring->geometry.subbuf_count - 1);
}

/* The value of commit[].count, in lap arithmetic, while the sub-buffer of @count is empty. */
static inline uint64_t count_commit_empty(const struct lull_ring *ring, uint64_t count)
{
	return (count >> ring->buffer_bits) << ring->subbuf_bits;
}

/* How many top bits of a commit count have no meaning: they belong to laps that no count has. */
static inline uint32_t commit_lap_bits(const struct lull_ring *ring)
{
	return ring->buffer_bits - ring->subbuf_bits;
}

/* Bytes committed in the sub-buffer of @count: the masked difference of equations (2), (3). */
static inline uint64_t commit_bytes(const struct lull_ring *ring, uint64_t commit, uint64_t count)
{
	uint32_t lap_bits = commit_lap_bits(ring);

	return ((commit - count_commit_empty(ring, count)) << lap_bits) >> lap_bits;
}

/*
 * A reference: physical index (16 bits), writing flag (1 bit), lap (47 bits). Its states, for
 * the sub-buffer of a count: previous lap and free -> this lap and writing -> this lap and free.
 * The lap makes each state occur once, so a late compare-and-swap cannot succeed.
 */
static inline uint64_t reference_state(const struct lull_ring *ring, uint64_t count)
{
	return (count >> ring->buffer_bits) << 17;
}

/* The mask changes no reference of ours; it makes any other name a sub-buffer of this ring. */
static inline uint32_t reference_physical(const struct lull_ring *ring, uint64_t reference)
{
	return (uint32_t)(LULL_MUTANT(PHYSICAL_UNMASKED) ? reference & 0xffff :
							   reference & ring->physical_mask);
}

static inline uint64_t reference_tag(uint64_t reference)
{
	return reference & ~0xffffull;
}

/* shared->run of a thread that goes on at @count: never 0, for counts are multiples of 4. */
static inline uint64_t run_word(uint32_t tid, uint64_t count)
{
	return ((uint64_t)tid << 32) + (uint32_t)count + 1;
}

/* Equation (1), Buffer Full: a whole buffer lies between the two sub-buffer positions. */
static inline int equation_buffer_full(const struct lull_ring *ring, uint64_t write_begin,
				       uint64_t read_count)
{
	uint64_t limit = buffer_bytes(ring);

	if (LULL_MUTANT(EQUATION_1))
		limit += subbuf_bytes(ring);
	return write_begin - count_begin(ring, read_count) >= limit;
}

/* Equation (2), Sub-buffer Ready: @commit is one whole sub-buffer ahead of the read count. */
static inline int equation_subbuf_ready(const struct lull_ring *ring, uint64_t commit,
					uint64_t read_count)
{
	if (LULL_MUTANT(EQUATION_2))
		return count_offset(ring, commit) == 0;
	return commit_bytes(ring, commit, read_count) == subbuf_bytes(ring);
}

/* Equation (3), Fully Committed: no slot of the lap before @count's is still being written. */
static inline int equation_fully_committed(const struct lull_ring *ring, uint64_t commit,
					   uint64_t count)
{
	if (LULL_MUTANT(EQUATION_3))
		return 1;
	return commit_bytes(ring, commit, count) == 0;
}

/* Equation (4), Sub-buffer Written: the write count is still in the read count's sub-buffer. */
static inline int equation_subbuf_written(const struct lull_ring *ring, uint64_t write_count,
					  uint64_t read_count)
{
	if (LULL_MUTANT(EQUATION_4))
		return 0;
	return count_begin(ring, write_count) == count_begin(ring, read_count);
}

static inline unsigned char *physical_data(const struct lull_ring *ring, uint32_t physical)
{
	if (ring->memory.pages)
		return ring->memory.pages[physical];
	return ring->memory.base + ((uint64_t)physical << ring->subbuf_bits);
}

/* Flight recorder: move the reader past the sub-buffer opened at @begin. B 4.3.1 PushReader. */
void lull_ring_push_reader(const struct lull_ring *ring, uint64_t begin);

/* Raise commit.seq to @count and free the reference: the end of one sub-buffer's writing. */
void lull_ring_deliver(const struct lull_ring *ring, uint64_t position, uint32_t physical,
		       uint64_t count);

#endif
