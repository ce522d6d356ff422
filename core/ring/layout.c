/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A ring's geometry and first state: check, size, attach, reset.
 *
 * Paper: B 3.2 (configuration is fixed before tracing starts), 4.1 (powers of two), 4.5.
 */
#include "ring_words.h"

_Static_assert(sizeof(struct lull_packet_header) == 112, "the packet header reaches disk");
_Static_assert(LULL_SUBBUF_BYTES_MAX <= LULL_SLOT_BYTES_MAX,
	       "a hole can name the size of every slot that a sub-buffer holds");

static int power_of_two(uint64_t value)
{
	return value && (value & (value - 1)) == 0;
}

const char *lull_ring_check(const struct lull_ring_geometry *geometry)
{
	if (!power_of_two(geometry->subbuf_size_bytes))
		return "the sub-buffer size is not a power of two";
	if (geometry->subbuf_size_bytes < LULL_SUBBUF_BYTES_MIN)
		return "the sub-buffer size is under 4 KiB";
	if (geometry->subbuf_size_bytes > LULL_SUBBUF_BYTES_MAX)
		return "the sub-buffer size is over 8 MiB";
	if (!power_of_two(geometry->subbuf_count))
		return "the number of sub-buffers is not a power of two";
	if (geometry->subbuf_count < LULL_SUBBUF_COUNT_MIN)
		return "there are fewer than 2 sub-buffers";
	if (geometry->subbuf_count > LULL_SUBBUF_COUNT_MAX)
		return "there are more than 1024 sub-buffers";
	if (!power_of_two(geometry->physical_count))
		return "the number of physical sub-buffers is not a power of two";
	if (geometry->physical_count <= geometry->subbuf_count)
		return "no physical sub-buffer is left for the reader";
	if (geometry->physical_count > LULL_PHYSICAL_COUNT_MAX)
		return "there are more than 2048 physical sub-buffers";
	if (geometry->mode != LULL_MODE_DISCARD && geometry->mode != LULL_MODE_FLIGHT_RECORDER)
		return "the mode is neither discard nor flight recorder";
	return NULL;
}

size_t lull_ring_control_bytes(const struct lull_ring_geometry *geometry)
{
	return sizeof(struct lull_ring_shared) + geometry->subbuf_count * sizeof(uint64_t) +
	       geometry->physical_count * sizeof(struct lull_commit);
}

void lull_ring_attach(struct lull_ring *ring, const struct lull_ring_geometry *geometry,
		      void *control, struct lull_ring_memory memory)
{
	uint32_t subbuf_bits = (uint32_t)__builtin_ctzll(geometry->subbuf_size_bytes);

	*ring = (struct lull_ring){
		.shared = control,
		.reference = (uint64_t *)((struct lull_ring_shared *)control + 1),
		.memory = memory,
		.geometry = *geometry,
		.subbuf_mask = geometry->subbuf_size_bytes - 1,
		.slot_mask = geometry->subbuf_size_bytes - LULL_SLOT_ALIGN,
		.physical_mask = geometry->physical_count - 1,
		.subbuf_bits = subbuf_bits,
		.buffer_bits = subbuf_bits + (uint32_t)__builtin_ctz(geometry->subbuf_count),
	};
	ring->commit = (struct lull_commit *)(ring->reference + geometry->subbuf_count);
}

void lull_ring_reset(struct lull_ring *ring, uint64_t start_bytes)
{
	struct lull_ring_shared *shared = ring->shared;
	uint64_t before = reference_state(ring, start_bytes - buffer_bytes(ring));

	lull_zero(shared, lull_ring_control_bytes(&ring->geometry));
	lull_store(&shared->write_count, start_bytes);
	lull_store(&shared->read_count, start_bytes);
	for (uint32_t k = 0; k < ring->geometry.subbuf_count; k++)
		lull_store(&ring->reference[k], before | k);
	for (uint32_t p = 0; p < ring->geometry.physical_count; p++) {
		lull_store(&ring->commit[p].count, count_commit_empty(ring, start_bytes));
		lull_store(&ring->commit[p].seq, count_commit_empty(ring, start_bytes));
	}
}
