/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Packet bytes: what a probe writes into a sub-buffer and what reaches disk unchanged.
 *
 * A sub-buffer is one CTF 1.8 packet: this header, then slots. A slot starts on a 4-byte
 * boundary with a one-byte tag. Everything is in native byte order.
 *
 *	 +--------+------------+--------+-----------+--------+- - -+---------+
 *	 | packet | thread     | event  | payload   | event  |     | padding |
 *	 | header | record     | header |           | header |     |         |
 *	 +--------+------------+--------+-----------+--------+- - -+---------+
 *	 0       112                                         content_size   packet_size
 *
 * Paper: B 3.2 (slots, sub-buffer header, lost counters); docs/design/10-ring.md.
 */
#ifndef LULL_ABI_PACKET_H
#define LULL_ABI_PACKET_H

#include <stdint.h>

#define LULL_PACKET_MAGIC 0xC1FC1FC1u

/* Why an event was not recorded. The order is that of the header's lost_* fields. */
enum lull_lost_cause {
	LULL_LOST_FULL, /* discard mode, no free sub-buffer: equation (1) */
	LULL_LOST_OVERFLOW, /* the next sub-buffer is not fully committed: equation (3) */
	LULL_LOST_TOO_BIG, /* the event is larger than a sub-buffer */
	LULL_LOST_IN_FLIGHT, /* reserved, never committed: its writer died */
	LULL_LOST_CAUSES
};

/* Both CTF structures at the start of a packet: packet.header, then packet.context. */
struct lull_packet_header {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t timestamp_begin_cycles;
	uint64_t timestamp_end_cycles;
	uint64_t content_size_bits;
	uint64_t packet_size_bits;
	uint64_t packet_seq_num;
	uint64_t events_discarded; /* sum of the four below, since the ring was made */
	uint64_t lost[LULL_LOST_CAUSES];
	uint32_t cpu_id; /* 4294967295 in a ring that any CPU writes to */
	uint32_t flags;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct lull_packet_header) == 112, "packet header layout");
#endif

/* Tags: the first byte of a slot. 1..252 are event identifiers with a 4-byte header. */
#define LULL_TAG_EMPTY 0u /* zeroed memory, in plain rings: nothing written here yet */
#define LULL_TAG_COMPACT_MAX 252u
#define LULL_TAG_EXTENDED 253u /* 16-byte header: tag, 3 zero bytes, id, 64-bit time stamp */
#define LULL_TAG_HOLE 254u /* in memory only: reserved, not committed */
#define LULL_TAG_END 255u /* in memory only: nothing follows in this sub-buffer */

#define LULL_SLOT_ALIGN 4u
#define LULL_COMPACT_HEADER_BYTES 4u /* tag (8 bits), time stamp (24 bits) */
#define LULL_EXTENDED_HEADER_BYTES 16u
#define LULL_COMPACT_TIMESTAMP_BITS 24

/*
 * Threads have identifiers of at most this many bits on Linux. A writer keeps a number in the bits
 * above, which changes whenever the identifier begins to mean another thread or name.
 */
#define LULL_TID_BITS 22
#define LULL_TID_MASK ((1u << LULL_TID_BITS) - 1)

/*
 * A hole: tag (8 bits), slot length in bytes (24 bits), and where the slot has 8 bytes or
 * more, the thread id of its writer (the low LULL_TID_BITS of 32). Written in the same atomic
 * step as the reservation (docs/adr/0002), so a writer that dies leaves a hole of known size.
 */
#define LULL_HOLE(length_bytes, tid) \
	((uint64_t)LULL_TAG_HOLE | ((uint64_t)(length_bytes) << 8) | ((uint64_t)(tid) << 32))
/* An end: tag (8 bits), the id of the thread that closed the sub-buffer, or 0. */
#define LULL_END(tid) (LULL_TAG_END | ((uint32_t)(tid)&LULL_TID_MASK) << 8)
#define LULL_SLOT_BYTES_MAX ((1u << 24) - LULL_SLOT_ALIGN)

/* Event identifiers that every trace has; the others are given out in order of first use. */
enum lull_event_id {
	LULL_EVENT_NONE,
	LULL_EVENT_THREAD, /* lull:thread: the events that follow are of this thread */
	LULL_EVENT_LOST, /* lull:lost: a 4-byte slot whose writer died */
	LULL_EVENT_LOST_BYTES, /* lull:lost_bytes: a longer one; u32 count, then the bytes */
	LULL_EVENT_CONTEXT, /* lull:context: in no packet; its fields precede those of others */
	LULL_EVENT_FIRST = 8 /* the first free identifier */
};

/* Payload of LULL_EVENT_THREAD. */
struct lull_thread_record {
	uint32_t pid;
	uint32_t tid;
	char name[16];
};

#endif
