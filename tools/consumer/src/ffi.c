// SPDX-License-Identifier: MIT
/*
 * What Rust needs beside ring.h: the clock, which is inline in C, and proof that ffi.rs and
 * session::abi describe the same bytes as the headers.
 */
#include "lull/abi/packet.h"
#include "lull/abi/session.h"
#include "lull_port.h"
#include "ring.h"

/* The structures C fills in for Rust: a change must not compile before ffi.rs follows it. */
_Static_assert(sizeof(struct lull_ring) == 128, "RingView in ffi.rs");
_Static_assert(sizeof(struct lull_ring_subbuf) == 48, "Subbuf in ffi.rs");

/* The recorder never writes events; tests point this at their thread's area. */
__thread struct rseq *lull_rseq_area;

uint64_t lull_consumer_cycles(void);
void lull_consumer_rseq(void *area);

uint64_t lull_consumer_cycles(void)
{
	return lull_clock_cycles_ordered();
}

void lull_consumer_rseq(void *area)
{
	lull_rseq_area = area;
}

const size_t lull_consumer_layout[] = {
	sizeof(struct lull_packet_header),
	offsetof(struct lull_packet_header, lost),
	offsetof(struct lull_packet_header, flags),
	sizeof(struct lull_session_control),
	offsetof(struct lull_session_control, ring_stride_bytes),
	offsetof(struct lull_session_control, arena_bytes),
	offsetof(struct lull_session_control, arena_used_bytes),
	offsetof(struct lull_session_control, refused_count),
	offsetof(struct lull_session_control, own_offset_bytes),
	sizeof(struct lull_own_events),
	sizeof(struct lull_event_entry),
	offsetof(struct lull_event_entry, offset_bytes),
	sizeof(struct lull_ring_shared),
	offsetof(struct lull_ring_shared, active),
	offsetof(struct lull_ring_shared, read_count),
	offsetof(struct lull_ring_shared, recorded_index),
	offsetof(struct lull_ring_shared, recorded_packets),
	offsetof(struct lull_ring_shared, lost),
	offsetof(struct lull_ring_shared, taken),
	sizeof(struct lull_commit),
	sizeof(struct lull_ring),
	offsetof(struct lull_ring, geometry),
	offsetof(struct lull_ring, buffer_bits),
	sizeof(struct lull_ring_geometry),
	offsetof(struct lull_ring_geometry, uuid),
	sizeof(struct lull_ring_subbuf),
	offsetof(struct lull_ring_subbuf, last_cycles),
};

const size_t lull_consumer_layout_count =
	sizeof(lull_consumer_layout) / sizeof(lull_consumer_layout[0]);
