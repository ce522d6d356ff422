/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Session bytes: the memory that the recorder shares with the traced processes of one user.
 *
 * A session is a directory that `lull record` makes; a traced process finds it by
 * LULL_SESSION=DIR[:DIR...] in its environment. Its memory is one System V shared memory segment
 * per user. A file could be made smaller by ftruncate() while others use it; a segment cannot, and
 * it outlives a recorder that was killed. The symbolic link LULL_SESSION_MEMORY_LINK in the
 * directory names the segment of the recorder's own user; the link to that of another user has the
 * user's number behind, as in `memory-1000`. The link's target is LULL_SESSION_MEMORY_PREFIX and
 * the segment's key, from 1, as in `key:42`. A segment has a link before it exists: none is then
 * left without one where its maker is killed. A process that makes the segment of a user that it is
 * to become has a link for it with the key at the end, as in `memory-1000.42`, until the segment is
 * filled in and has the user's link. Only the segment's user can attach it. No side trusts the
 * other: geometry is copied and checked once, when the segment is attached, and never read again.
 *
 *	struct lull_session_control | struct lull_own_events | patterns | filters | event table |
 *	description arena | budget |
 *	ring 0 control | ring 1 control | ... | ring 0 data | ring 1 data | ... |
 *	counts (count.h)
 *
 * Each of the rings 0 .. cpu_count-1 takes restartable-sequence reservations from the CPU of its
 * number only; the plain_count rings after them take compare-and-swap reservations from any CPU.
 * A ring's data is physical_count sub-buffers, of which subbuf_count are in use at a time,
 * one belongs to the reader, and the others replace sub-buffers a dead writer left open.
 *
 * Paper: B 3.2 (channels, sub-buffers), 3.4 (control), 4.1 (counters), 4.5 (memory).
 */
#ifndef LULL_ABI_SESSION_H
#define LULL_ABI_SESSION_H

#include <stdint.h>
#include "context.h"
#include "packet.h"

#define LULL_SESSION_MAGIC 0x6e6f69736c6c754cull /* "Lullsion" */
#define LULL_SESSION_VERSION 14u
#define LULL_SESSION_MEMORY_LINK "memory"
#define LULL_SESSION_MEMORY_PREFIX "key:"
#define LULL_SESSION_VARIABLE "LULL_SESSION"
#define LULL_SESSIONS_MAX 8 /* sessions one process takes part in at once */

#define LULL_SUBBUF_BYTES_MIN 4096u
#define LULL_SUBBUF_BYTES_MAX (8u << 20)
#define LULL_SUBBUF_COUNT_MIN 2u
#define LULL_SUBBUF_COUNT_MAX 1024u
#define LULL_SUBBUF_SPARES 31u /* physical sub-buffers beyond those in use, at least */
#define LULL_PHYSICAL_COUNT_MAX 2048u
#define LULL_EVENT_CAPACITY_MAX 65536u
#define LULL_CPU_COUNT_MAX 8192u
#define LULL_OWN_EVENTS_MAX 256u
#define LULL_OWN_BUILD_ID_BYTES 32u

enum lull_mode { LULL_MODE_DISCARD, LULL_MODE_FLIGHT_RECORDER };
enum lull_clock_kind { LULL_CLOCK_TSC, LULL_CLOCK_MONOTONIC, LULL_CLOCK_CNTVCT };

/*
 * Event table entry. hash is 0 while the entry is free. A process that finds the hash of its
 * description uses the entry's index as identifier; one that finds a free entry claims it with a
 * compare-and-swap, writes the description to the arena and stores offset_bytes last (release). If
 * the process dies before that, offset_bytes stays 0, and the next process that has the same event
 * writes the description instead.
 */
struct lull_event_entry {
	uint64_t hash; /* FNV-1a, 64 bits, of the description; never 0 */
	uint32_t offset_bytes; /* of the description in the arena, plus 1 */
	uint32_t length_bytes;
};

struct lull_session_control {
	uint64_t magic;
	uint32_t version;
	uint32_t control_bytes; /* size of everything before the rings */
	uint8_t uuid[16];
	uint32_t mode; /* enum lull_mode */
	uint32_t clock_kind; /* enum lull_clock_kind */
	uint32_t cpu_count; /* possible CPUs */
	uint32_t plain_count;
	uint64_t subbuf_size_bytes; /* power of two */
	uint32_t subbuf_count; /* power of two */
	uint32_t physical_count; /* power of two, at least subbuf_count + 1 + LULL_SUBBUF_SPARES */
	uint64_t ring_stride_bytes; /* from one ring's control to the next */
	uint64_t data_offset_bytes; /* of ring 0's data, from the start of the memory */
	uint64_t data_stride_bytes; /* physical_count * subbuf_size_bytes */
	uint64_t memory_bytes; /* size of the whole segment */
	uint32_t patterns_offset_bytes; /* newline-separated text, with NUL */
	uint32_t patterns_bytes; /* room for them, twice; the kernel's: once */
	uint32_t events_offset_bytes;
	uint32_t event_capacity;
	uint32_t arena_offset_bytes;
	uint32_t arena_bytes;
	uint64_t rings_offset_bytes; /* of ring 0's control */
	uint32_t user_id; /* whose processes write here */
	uint32_t stream_id; /* of the CTF streams that these rings become */
	uint32_t own_offset_bytes; /* of struct lull_own_events; a multiple of 4 */
	uint32_t filters_offset_bytes; /* of what became of them; a multiple of 8 */
	uint32_t filters_bytes; /* room for them, twice; a multiple of 8 */
	uint32_t count_pages; /* of 4096 bytes, behind the rings (count.h); 0: nothing is counted */
	uint32_t budget_offset_bytes; /* a multiple of 64; 0: there is no budget */
	uint8_t reserved[60];

	/* Written while tracing. */
	uint32_t arena_used_bytes;
	uint32_t process_count; /* programs that attached, and forked children that record */
	uint32_t site_count; /* sites seen */
	uint32_t enabled_count; /* sites enabled */
	uint32_t unpatched_count; /* sites that matched but whose text could not be written */
	uint32_t unregistered_count; /* probes that matched: table or arena full, or bad text */
	uint32_t refused_count; /* processes that could not attach after opening control */
	uint32_t recursion_count; /* events refused inside of another's probe: the kernel's */
	uint64_t label_count; /* threads, and names of threads, so far */

	/* In a line that only the recorder writes, and seldom, for every event reads it. */
	uint64_t active; /* 0: probes record nothing (start and stop, T 2, B 3.4) */
	uint32_t rules_sequence; /* changes of rules; the lowest bit: which copy */
	uint32_t ended; /* 1: the session is over, and processes are to leave it */
	uint32_t patterns_used_bytes[2]; /* of each copy, with the NUL */
	uint32_t filters_used_bytes[2]; /* of each copy; 0: there are none */
	uint32_t contexts; /* recorded with each event, of LULL_SESSION_CONTEXTS; never changed */
	uint32_t user_frames; /* of the call stack that is recorded with each, at most; 0: none */
	uint32_t copy_bytes; /* of the stack that are recorded with each, at most; 0: none */
	uint32_t unused_1;
	uint64_t unused[2];
};

/*
 * What a session records with each event lies in front of the event's fields, and is a multiple of
 * 4 bytes: contexts in the order of their numbers, each as its line of context.h says, then
 * LULL_SESSION_LINE_CPU_TIME, then LULL_SESSION_LINE_STACK, the frames from the innermost on, then
 * LULL_SESSION_LINE_COPY: nothing, or where the function of the event goes on, its stack pointer,
 * its frame pointer, and the words of the stack from that stack pointer on.
 */
#define LULL_SESSION_CPU_TIME (1u << 31) /* of contexts: the thread's, or -1: not known */
#define LULL_SESSION_LINE_CPU_TIME "i64 cpu_time\n" /* in nanoseconds */
#define LULL_SESSION_LINE_STACK "aptr user_stack\n"
#define LULL_SESSION_LINE_COPY "aptr user_stack_copy\n"
#define LULL_SESSION_FRAMES_MAX 128u
#define LULL_SESSION_COPY_BYTES_MAX 32768u /* a multiple of 8, as all lengths of copies */
#define LULL_SESSION_COPY_REGISTERS 3u
#define LULL_SESSION_PRIO_UNKNOWN (-1000)
/* All that programs can record: no groups, and no counters. */
#define LULL_SESSION_CONTEXTS \
	(LULL_SESSION_CPU_TIME | (((1u << LULL_CONTEXTS) - 1) & ~(1u << LULL_CONTEXT_GID)))

#define LULL_OWN_UNWANTED 0xffffu

/*
 * What the first process of a user found when it looked at liblull's own events: those that
 * follow have the same ones, and need not look. The process that claims the place, with a
 * compare-and-swap, writes each word once, in any order, from 0 to what is never 0. So a process
 * that finds all of them has what was written; one that does not looks for itself, also for ever
 * where the claimant died.
 */
struct lull_own_events {
	uint32_t claimed; /* 1: by a process that writes the rest */
	uint32_t count; /* of probes */
	uint32_t site_count; /* what it added to the count in the control block, plus 1 */
	uint32_t enabled_count; /* likewise */
	uint32_t build_id_bytes; /* it holds for a liblull with this build identifier */
	uint8_t build_id[LULL_OWN_BUILD_ID_BYTES];
	uint16_t id[LULL_OWN_EVENTS_MAX]; /* by place in liblull; or LULL_OWN_UNWANTED */
};

/*
 * The rules of a session: patterns and filters. The recorder has two copies of them in the memory.
 * It changes the one that rules_sequence does not say, and then adds 1 to that. So a recorder that
 * is killed meanwhile leaves whole rules. A process copies them when it attaches, and each time it
 * is asked whether they have changed; where rules_sequence is another one after that, it copies
 * them again.
 *
 *	patterns: copy 0 | copy 1
 *	filters: what became of them | copy 0 | copy 1
 *
 * What became of filters is a uint32_t for each identifier of the event table, of the bits of enum
 * lull_filter_state. Filters follow each other, each as follows, filled up to a multiple of 8.
 *
 *	struct lull_session_filter | struct lull_unlinked ... (filter.h)
 *
 * The last pattern that matches an event says its filter. Processes check the filters and link
 * them for each of their events.
 */
struct lull_session_filter {
	uint32_t rule; /* the pattern that it belongs to, counted from 0 */
	uint32_t bytes; /* of the unlinked program behind this; 0: every occurrence meets it */
	uint32_t sample; /* of the occurrences that meet it, one in so many is recorded */
	uint32_t unused;
};

#define LULL_SAMPLE_MAX 1000000u

#define LULL_SESSION_FILTER_BYTES(unlinked_bytes) \
	(((uint32_t)sizeof(struct lull_session_filter) + (unlinked_bytes) + 7u) & ~7u)

/*
 * What became of an event's filter, as processes tell it: of the same event in several processes,
 * and of copies of its probe, there may be several. But for the first and the last two, the event
 * is recorded unfiltered there; without one of the last two, it is not sampled.
 */
enum lull_filter_state {
	LULL_FILTER_STATE_DECIDES = 1, /* the filter decides which occurrences are recorded */
	LULL_FILTER_STATE_OLD = 2, /* the probe is of a header that knows no filters */
	LULL_FILTER_STATE_UNFIT = 4, /* the filter does not fit the event's fields */
	LULL_FILTER_STATE_FULL = 8, /* the process has no room for more */
	LULL_FILTER_STATE_DAMAGED = 16, /* something else was written over the session's filters */
	LULL_FILTER_STATE_UNDECIDED = 32, /* what it computes had no number for some occurrence */
	LULL_FILTER_STATE_SAMPLES = 64, /* of what meets the filter, one in so many is recorded */
	LULL_FILTER_STATE_PAIRS = 128 /* so many calls are, of which it is the entry or the exit */
};

/*
 * The budget of a session that has one: a uint32_t for each identifier of the event table, by which
 * the recorder throttles the event, and then rows of as many uint32_t, in which processes count how
 * often each event occurred, of the occurrences that meet its filter. A CPU counts in the row of
 * its number modulo their number. Counts begin again after the largest; some may be missing.
 */
#define LULL_BUDGET_ROWS_MAX 64u /* the least power of two that is not below cpu_count, or this */
#define LULL_THROTTLE_MASK 15u /* of a throttle's bits, those that count */
#define LULL_THROTTLE_MAX 10u /* one in 2^throttle occurrences is recorded; above, none is */

#define LULL_TAKEN 0x800u /* in `taken`, where it names a sub-buffer */

/*
 * One ring's shared words. Line 1 is written on every event, by the ring's own CPU; line 2 at
 * each sub-buffer, by the reader and, in flight-recorder mode, by the writer that pushes it.
 * After it: uint64_t reference[subbuf_count], then struct lull_commit commit[physical_count].
 */
struct lull_ring_shared {
	uint64_t write_count; /* bytes reserved, free-running */
	uint64_t run; /* label and thread id << 32 plus 1 plus low half of its write_count */
	uint64_t last_cycles; /* time stamp of the last slot; valid where run is */
	uint64_t physical; /* physical index of the open sub-buffer; valid where run is */
	uint64_t unused_1[4];
	uint64_t read_count; /* bytes consumed, free-running, whole sub-buffers */
	/*
	 * How far the ring is on disk, for `lull recover` after the recorder was killed. The
	 * recorder fills in those of the two that are not valid, then changes recorded_index.
	 */
	uint64_t recorded_index; /* which of each two is valid: its lowest bit */
	uint64_t recorded_count[2]; /* bytes of the ring that are in the file, or counted as lost */
	uint64_t recorded_bytes[2]; /* of the stream file, up to there */
	uint64_t recorded_packets[2]; /* sequence number of the next packet */
	uint64_t lost[LULL_LOST_CAUSES];
	uint64_t unused_2;
	/*
	 * The last sub-buffer that the recorder took before its writers had finished it: the read
	 * count that it was taken at, LULL_TAKEN, and its physical index.
	 */
	uint64_t taken;
	uint64_t unused_3[2];
};

/* Bytes committed in one physical sub-buffer, free-running (B 4.1). */
struct lull_commit {
	uint64_t count; /* every commit adds to it */
	uint64_t seq; /* count, at the last moment the sub-buffer was full */
};

#endif
