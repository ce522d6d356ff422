// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the parts of a session of the kernel's lie.
 *
 * The layout is that of abi/session.h, with two choices of the kernel's own: a ring's control words
 * begin on a page, so that they come from its CPU's node too; and there are no plain rings, because
 * every probe can hold off preemption. Paper: B 4.1 (powers of two), 4.5.
 */
#include "layout.h"
#include "lull/abi/kernel.h"

/* The same as in tools/session: more events than any kernel has, and room to describe them. */
#define EVENT_CAPACITY 8192u
#define ARENA_BYTES (1u << 20)
#define LINE_BYTES 64u

static uint64_t round_up_to(uint64_t bytes, uint64_t power)
{
	return (bytes + power - 1) & ~(power - 1);
}

struct lull_ring_geometry lull_layout_geometry(const struct lull_session_control *layout,
					       uint32_t cpu)
{
	struct lull_ring_geometry geometry = {
		.subbuf_size_bytes = layout->subbuf_size_bytes,
		.subbuf_count = layout->subbuf_count,
		.physical_count = layout->physical_count,
		.mode = layout->mode,
		.cpu_id = cpu,
		.stream_id = layout->stream_id,
	};

	__builtin_memcpy(geometry.uuid, layout->uuid, sizeof(geometry.uuid));
	return geometry;
}

/* Everything before the rings. */
static void head_place(struct lull_session_control *layout, uint32_t page_bytes)
{
	layout->own_offset_bytes = sizeof(struct lull_session_control);
	layout->patterns_offset_bytes = layout->own_offset_bytes + sizeof(struct lull_own_events);
	layout->events_offset_bytes = (uint32_t)round_up_to(
		layout->patterns_offset_bytes + layout->patterns_bytes, LINE_BYTES);
	layout->event_capacity = EVENT_CAPACITY;
	layout->arena_offset_bytes = layout->events_offset_bytes +
				     EVENT_CAPACITY * (uint32_t)sizeof(struct lull_event_entry);
	layout->arena_bytes = ARENA_BYTES;
	layout->control_bytes =
		(uint32_t)round_up_to(layout->arena_offset_bytes + layout->arena_bytes, page_bytes);
}

int lull_layout_make(struct lull_session_control *layout, uint32_t physical_least,
		     uint32_t page_bytes)
{
	struct lull_ring_geometry geometry;

	if (layout->subbuf_count > LULL_SUBBUF_COUNT_MAX ||
	    physical_least > LULL_PHYSICAL_COUNT_MAX || !layout->cpu_count ||
	    layout->cpu_count > LULL_CPU_COUNT_MAX ||
	    layout->patterns_bytes > LULL_KERNEL_PATTERNS_MAX)
		return 0;
	layout->physical_count = 1;
	/* Bound: LULL_PHYSICAL_COUNT_MAX is a power of two. */
	while (layout->physical_count < physical_least)
		layout->physical_count *= 2;
	geometry = lull_layout_geometry(layout, 0);
	if (lull_ring_check(&geometry) || layout->subbuf_size_bytes % page_bytes)
		return 0;
	head_place(layout, page_bytes);
	layout->rings_offset_bytes = layout->control_bytes;
	layout->ring_stride_bytes = round_up_to(lull_ring_control_bytes(&geometry), page_bytes);
	layout->data_offset_bytes =
		layout->rings_offset_bytes + layout->cpu_count * layout->ring_stride_bytes;
	layout->data_stride_bytes = layout->physical_count * layout->subbuf_size_bytes;
	layout->memory_bytes =
		layout->data_offset_bytes + layout->cpu_count * layout->data_stride_bytes;
	return 1;
}

uint64_t lull_range_ring(const struct lull_session_control *layout, const struct lull_range *range,
			 uint64_t ring)
{
	uint64_t begin = range->page_bytes + layout->data_offset_bytes;

	if (ring >= layout->cpu_count)
		return 0;
	begin += ring * range->given_count * layout->subbuf_size_bytes;
	return begin + layout->data_stride_bytes <= range->bytes ? begin : 0;
}

uint64_t lull_range_at(const struct lull_session_control *layout, const struct lull_range *range,
		       uint64_t at)
{
	uint64_t in_data, data;

	if (at < layout->data_offset_bytes)
		return range->page_bytes + at;
	in_data = at - layout->data_offset_bytes;
	data = lull_range_ring(layout, range, in_data / layout->data_stride_bytes);
	return data ? data + in_data % layout->data_stride_bytes : 0;
}
