/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ring buffer: one per CPU, many writers in many contexts, one reader at a time.
 *
 * ring.c holds the writer's side, reader.c the reader's; ring_words.h the equations. A
 * struct lull_ring is one process's private view of a ring in shared memory: its geometry is
 * checked once and never read again from memory that others can write.
 *
 * Paper: B 3.2, 4.1-4.5; docs/design/10-ring.md maps each algorithm and equation.
 */
#ifndef LULL_RING_H
#define LULL_RING_H

#include <stddef.h>
#include <stdint.h>
#include "lull/abi/packet.h"
#include "lull/abi/session.h"

/* The geometry of a ring: plain numbers, which lull_ring_check() checks. */
struct lull_ring_geometry {
	uint64_t subbuf_size_bytes;
	uint32_t subbuf_count;
	uint32_t physical_count;
	uint32_t mode; /* enum lull_mode */
	uint32_t plain; /* 0: reservations from one CPU only; 1: from any */
	uint32_t cpu_id;
	uint32_t stream_id;
	uint8_t uuid[16];
};

/*
 * Where sub-buffers live (B 4.5). A back end gives the address of each physical sub-buffer;
 * contiguous memory needs a base only, discontiguous memory a table of addresses.
 */
struct lull_ring_memory {
	unsigned char *base; /* contiguous: physical p is at base + p * subbuf_size_bytes */
	unsigned char *const *pages; /* or, where not NULL: physical p is at pages[p] */
};

struct lull_ring {
	/* One line: all that a reservation of the common kind needs, and its commit. */
	struct lull_ring_shared *shared;
	struct lull_commit *commit; /* [physical_count] */
	struct lull_ring_memory memory;
	uint64_t subbuf_mask; /* subbuf_size_bytes - 1 */
	uint64_t slot_mask; /* subbuf_size_bytes - LULL_SLOT_ALIGN */
	uint32_t physical_mask; /* physical_count - 1 */
	uint32_t subbuf_bits; /* lg2 of subbuf_size_bytes */

	uint64_t *reference; /* [subbuf_count] */
	struct lull_ring_geometry geometry;
	uint32_t buffer_bits; /* lg2 of subbuf_size_bytes * subbuf_count */
	/* Not NULL: no run begins while this word is 0, on which lull_ring_close() relies. */
	const uint64_t *active;
} __attribute__((aligned(128))); /* indexed by CPU: a power of two, and no line shared */

/* A writer's identity: one per thread, in thread-local memory of the traced process. */
struct lull_ring_writer {
	uint32_t pid;
	uint32_t tid; /* above LULL_TID_BITS: a number that is new when pid, tid or name is */
	char name[16];
};

/* How often a reservation's step may be interrupted, by no other writer, before it gives up. */
#define LULL_REFUSED_MAX 64

/*
 * Rounds in which a writer tries to reserve, on a per-CPU ring and on a plain one. In an honest
 * ring each round follows a success of another writer: on a per-CPU ring one that interrupts this
 * thread, on a plain ring one on any CPU. So many do not occur. A process that keeps changing the
 * shared words can force this many rounds, and costs its neighbour that much time for each event,
 * and no more.
 */
#ifndef LULL_ROUNDS_MAX
#define LULL_ROUNDS_MAX (2 * LULL_REFUSED_MAX)
#define LULL_ROUNDS_PLAIN_MAX 1024
#endif

/* A reserved slot, between reserve and commit. Private to the writer. */
struct lull_ring_slot {
	unsigned char *payload; /* where the event's payload goes */
	unsigned char *start; /* first byte of the slot */
	const struct lull_ring *ring;
	uint64_t position; /* write count at the slot */
	struct lull_commit *commit; /* of its physical sub-buffer */
	uint32_t slot_bytes;
	uint32_t header; /* first word of the slot once committed */
};

/* A sub-buffer that the reader got, took or peeked at. */
struct lull_ring_subbuf {
	const unsigned char *data;
	uint64_t position; /* read count it was taken at: identifies it for put */
	uint64_t content_bytes; /* bytes from the start of data that may hold slots */
	uint64_t committed_bytes; /* of subbuf_size; less only after lull_ring_take() */
	uint32_t physical;
	uint32_t complete; /* 1: every slot up to content_bytes is committed */
	uint64_t last_cycles; /* lull_ring_peek(): time stamp of the last slot, 0 if unknown */
};

enum lull_ring_readiness { LULL_RING_EMPTY, LULL_RING_READABLE, LULL_RING_URGENT };

/*
 * lull_ring_check() - is this geometry one that a ring can have?
 * Return: NULL if it is, else a sentence that says what is wrong, for people.
 * Context: any. Paper: B 4.1 (why sizes are powers of two).
 */
const char *lull_ring_check(const struct lull_ring_geometry *geometry);

/*
 * lull_ring_control_bytes() - size of a ring's shared words: struct lull_ring_shared, the
 * references and the commit counters.
 */
size_t lull_ring_control_bytes(const struct lull_ring_geometry *geometry);

/*
 * lull_ring_attach() - make a view of a ring that exists.
 * @control: its shared words, on a cache line
 * Context: any; no side effect on the ring. The caller checked the geometry.
 */
void lull_ring_attach(struct lull_ring *ring, const struct lull_ring_geometry *geometry,
		      void *control, struct lull_ring_memory memory);

/*
 * lull_ring_reset() - give a ring its first state, counting from @start_bytes.
 * @start_bytes: multiple of the buffer's size; not 0 only to test counter overflow
 * Context: before any writer or reader.
 */
void lull_ring_reset(struct lull_ring *ring, uint64_t start_bytes);

/*
 * lull_ring_reserve() - reserve room for one event and give it its time stamp.
 * @id: event identifier; @payload_bytes: size of the payload
 * Context: any, NMI-safe, async-signal-safe. On a per-CPU ring the caller may migrate at any
 * time; it asks again for the ring of its CPU when this returns -EAGAIN.
 * Progress: wait-free. On a per-CPU ring only preemptions and signals of this very thread delay a
 * reservation (T 8.5); on a plain ring, successes of other writers too, and after
 * LULL_ROUNDS_PLAIN_MAX of them the event is lost and counted. Whatever the shared words hold, all
 * stores are inside the ring.
 * Return: 0; -EAGAIN when the caller is not on the ring's CPU any more; -EBUSY when the step
 * was interrupted LULL_REFUSED_MAX times without a cause, as a single-stepping debugger does:
 * the caller uses a plain ring; -ESHUTDOWN where the ring has a flag, and it is 0; -ENOBUFS when
 * the event is lost and counted.
 * Paper: B 4.3.1, algorithms 1 and 2.
 */
int lull_ring_reserve(struct lull_ring *ring, const struct lull_ring_writer *writer, uint32_t id,
		      uint32_t payload_bytes, struct lull_ring_slot *slot);

/*
 * lull_ring_commit() - make a reserved slot readable.
 * Context: any, on any CPU. Progress: wait-free: the commit that fills a sub-buffer has a
 * compare-and-swap loop of a few rounds, the others none. Paper: B 4.3.1, algorithm 3.
 */
void lull_ring_commit(struct lull_ring_slot *slot);

/*
 * lull_ring_force_switch() - close the open sub-buffer if it holds events.
 * Context: on a per-CPU ring, on that CPU; on a plain ring, anywhere.
 * Return: 1 when a sub-buffer was closed, 0 when there was nothing to close or a writer closed it,
 * -EAGAIN when not on the ring's CPU. Paper: B 4.3.1, algorithm 4.
 */
int lull_ring_force_switch(struct lull_ring *ring);

/*
 * lull_ring_close() - end what a ring's flag has ended: when this returns 0, no reservation
 * succeeds any more. The caller has stored 0 to the word that @active of all writers' views is.
 * Context: as lull_ring_force_switch(); anywhere, where no sub-buffer is open. Progress: wait-free.
 * Return: 0; -EAGAIN when not on the ring's CPU; -EBUSY where a damaged ring does not let it be.
 */
int lull_ring_close(struct lull_ring *ring);

/* lull_ring_poll() - what there is to read, and how urgently. Paper: B algorithm 5. */
enum lull_ring_readiness lull_ring_poll(const struct lull_ring *ring);

/*
 * lull_ring_get() - get the oldest sub-buffer for reading, if it is full.
 * @spare: the physical sub-buffer that the reader owns; in flight-recorder mode it is
 * exchanged against the one returned
 * Return: 0; -EAGAIN when none is ready. Exclusion: one reader at a time.
 * Paper: B 4.3.2, algorithm 6.
 */
int lull_ring_get(struct lull_ring *ring, uint32_t *spare, struct lull_ring_subbuf *subbuf);

/*
 * lull_ring_take() - take the oldest closed sub-buffer although not all of it is committed.
 * @spare: a physical sub-buffer the reader owns; it replaces the one taken
 * The sub-buffer taken is quarantined: its late writers, if they live, finish in it, and no other
 * thread uses it. It may be used again once lull_ring_settled() returns 1, or all its writers are
 * dead.
 * Return: 0; -EAGAIN when the oldest sub-buffer is still open, is full (use get), or was exchanged
 * or overwritten meanwhile.
 */
int lull_ring_take(struct lull_ring *ring, uint32_t spare, struct lull_ring_subbuf *subbuf);

/*
 * lull_ring_stuck() - read the state of the oldest sub-buffer when it is closed and
 * lull_ring_get() refused it. A writer may complete it at any time.
 * Return: 0 with committed_bytes; -EAGAIN when the oldest sub-buffer is still open.
 */
int lull_ring_stuck(const struct lull_ring *ring, struct lull_ring_subbuf *subbuf);

/*
 * lull_ring_overwrites_next() - flight recorder: is the next sub-buffer to be opened the oldest
 * one? Paper: B 4.2, equation (1).
 */
int lull_ring_overwrites_next(const struct lull_ring *ring);

/* lull_ring_settled() - have all writers of a sub-buffer that was taken committed by now? */
int lull_ring_settled(const struct lull_ring *ring, const struct lull_ring_subbuf *subbuf);

/*
 * lull_ring_put() - give back what lull_ring_get() or lull_ring_take() took.
 * Always succeeds, also after a writer pushed the reader. Paper: B algorithm 7.
 */
void lull_ring_put(struct lull_ring *ring, const struct lull_ring_subbuf *subbuf);

/*
 * lull_ring_peek() - read the state of the sub-buffer that is being written, without closing it.
 * Return: 0 with content_bytes and complete = 1 when all reserved slots are committed, with
 * complete = 0 when some are not; -EAGAIN when it changed meanwhile or, in discard mode, when the
 * open sub-buffer is not the oldest unread one. Content stays in place while the read count stays,
 * in discard mode; in flight-recorder mode check with lull_ring_unchanged() after copying.
 */
int lull_ring_peek(const struct lull_ring *ring, struct lull_ring_subbuf *subbuf);

/*
 * lull_ring_look() - flight recorder: read the state of a closed sub-buffer and leave it there.
 * @position: the count at which it begins; not before shared->read_count, for the reader may have
 * put an empty one in its place
 * The caller copies it and checks the copy with lull_ring_unchanged(). Any number of readers may
 * look, and the same content again. Progress: wait-free.
 * Return: 0 with complete = 1 when all of it is committed; -EAGAIN when it is open, was overwritten
 * or is not there yet.
 * Paper: B 4.3.2, algorithm 6, which exchanges what this one copies.
 */
int lull_ring_look(const struct lull_ring *ring, uint64_t position,
		   struct lull_ring_subbuf *subbuf);

/* lull_ring_unchanged() - does what was peeked or looked at still hold the same lap? */
int lull_ring_unchanged(const struct lull_ring *ring, const struct lull_ring_subbuf *subbuf);

/* lull_ring_lost() - events lost so far for one cause. */
uint64_t lull_ring_lost(const struct lull_ring *ring, enum lull_lost_cause cause);

/* lull_ring_count_lost() - add to the count of one cause: the reader's IN_FLIGHT. */
void lull_ring_count_lost(struct lull_ring *ring, enum lull_lost_cause cause, uint64_t events);

#endif
