/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Session bytes: the files `control` and `rings` of a session directory, mapped by the
 * recorder and by each traced process.
 *
 * A session directory is private (mode 0700), on tmpfs, and made by `lull record`. A traced
 * process finds it by LULL_SESSION=DIR[:DIR...] in its environment. Neither side trusts the
 * other: geometry is copied and checked once, at mapping, and never read again.
 *
 *	control	struct lull_session_control | patterns | event table | description arena
 *	rings	ring 0 control | ring 1 control | ... | ring 0 data | ring 1 data | ...
 *
 * Rings 0 .. cpu_count-1 take restartable-sequence reservations from that CPU only; the
 * plain_count rings after them take compare-and-swap reservations from anywhere.
 * A ring's data is physical_count sub-buffers, of which subbuf_count are in use at a time,
 * one belongs to the reader, and the others replace sub-buffers a dead writer left open.
 *
 * Paper: B 3.2 (channels, sub-buffers), 3.4 (control), 4.1 (counters), 4.5 (memory).
 */
#ifndef LULL_ABI_SESSION_H
#define LULL_ABI_SESSION_H

#include <stdint.h>
#include "packet.h"

#define LULL_SESSION_MAGIC 0x6e6f69736c6c754cull /* "Lullsion" */
#define LULL_SESSION_VERSION 1u
#define LULL_SESSION_CONTROL_FILE "control"
#define LULL_SESSION_RINGS_FILE "rings"
#define LULL_SESSION_VARIABLE "LULL_SESSION"
#define LULL_SESSIONS_MAX 8 /* sessions one process takes part in at once */

#define LULL_SUBBUF_BYTES_MIN 4096u
#define LULL_SUBBUF_BYTES_MAX (8u << 20)
#define LULL_SUBBUF_COUNT_MIN 2u
#define LULL_SUBBUF_COUNT_MAX 1024u
#define LULL_SUBBUF_SPARES \
	31u /* physical sub-buffers beyond subbuf_count and the reader's, at least */
#define LULL_PHYSICAL_COUNT_MAX 2048u
#define LULL_EVENT_CAPACITY_MAX 65536u
#define LULL_CPU_COUNT_MAX 8192u

enum lull_mode { LULL_MODE_DISCARD, LULL_MODE_FLIGHT_RECORDER };
enum lull_clock_kind { LULL_CLOCK_TSC, LULL_CLOCK_MONOTONIC, LULL_CLOCK_CNTVCT };

/*
 * Event table entry. hash is 0 while free. A process that finds its hash uses the entry's
 * index as identifier; one that finds a free entry claims it with a compare-and-swap, writes
 * the description to the arena and stores offset_bytes last (release). A claimant that dies
 * before that leaves offset_bytes 0, and the next user of the same event publishes instead.
 */
struct lull_event_entry {
	uint64_t hash; /* FNV-1a, 64 bits, of the description; never 0 */
	uint32_t offset_bytes; /* of the description in the arena, plus 1 */
	uint32_t length_bytes;
};

struct lull_session_control {
	uint64_t magic;
	uint32_t version;
	uint32_t control_bytes; /* size of the control file */
	uint8_t uuid[16];
	uint32_t mode; /* enum lull_mode */
	uint32_t clock_kind; /* enum lull_clock_kind */
	uint32_t cpu_count; /* possible CPUs */
	uint32_t plain_count;
	uint64_t subbuf_size_bytes; /* power of two */
	uint32_t subbuf_count; /* power of two */
	uint32_t physical_count; /* power of two, at least subbuf_count + 1 + LULL_SUBBUF_SPARES */
	uint64_t ring_stride_bytes; /* from one ring's control to the next */
	uint64_t data_offset_bytes; /* of ring 0's data in the rings file */
	uint64_t data_stride_bytes; /* physical_count * subbuf_size_bytes */
	uint64_t rings_bytes; /* size of the rings file */
	uint32_t patterns_offset_bytes; /* newline-separated text, NUL-terminated */
	uint32_t patterns_bytes;
	uint32_t events_offset_bytes;
	uint32_t event_capacity;
	uint32_t arena_offset_bytes;
	uint32_t arena_bytes;
	uint8_t reserved[40];

	/* Written while tracing. */
	uint32_t active; /* 0: probes record nothing (start and stop, B 3.4) */
	uint32_t arena_used_bytes;
	uint32_t process_count; /* programs that attached, and forked children that record */
	uint32_t site_count; /* sites seen */
	uint32_t enabled_count; /* sites enabled */
	uint32_t unpatched_count; /* sites that matched but whose text could not be written */
	uint32_t unregistered_count; /* sites that matched but found table or arena full */
	uint32_t refused_count; /* processes that could not attach after opening control */
};

/*
 * One ring's shared words. Line 1 is written on every event, by the ring's own CPU; line 2 at
 * each sub-buffer, by the reader and, in flight-recorder mode, by the writer that pushes it.
 * After it: uint64_t reference[subbuf_count], then struct lull_commit commit[physical_count].
 */
struct lull_ring_shared {
	uint64_t write_count; /* bytes reserved, free-running */
	uint64_t run; /* thread id << 32 | low half of the write_count it is valid for */
	uint64_t last_cycles; /* time stamp of the last slot; valid where run is */
	uint64_t unused_1[5];
	uint64_t read_count; /* bytes consumed, free-running, whole sub-buffers */
	uint64_t unused_2[7];
	uint64_t lost[LULL_LOST_CAUSES];
	uint64_t start_count; /* write_count and read_count at the start */
	uint64_t unused_3[3];
};

/* Bytes committed in one physical sub-buffer, free-running (B 4.1). */
struct lull_commit {
	uint64_t count; /* every commit adds to it */
	uint64_t seq; /* count, at the last moment the sub-buffer was full */
};

#endif
