/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ring under the sched port: what its writers, reader and final audit share.
 *
 * Writers number their events; every event's payload says whose and which it is. The books
 * note what became of each event, and every packet read is checked against them.
 * ring_sched_test.c holds the scenarios, writer_sched_test.c and reader_sched_test.c the
 * threads, audit_sched_test.c the checks.
 * Paper: T 8.6.1, 8.6.2 (what was verified of the original ring, and how).
 */
#ifndef LULL_RING_SCHED_TEST_H
#define LULL_RING_SCHED_TEST_H

#include "ring_words.h"
#include "sched.h"

#define SUBBUF_BYTES 256u
#define SUBBUF_COUNT 2u
#define PHYSICAL_MAX 8u
#define WRITERS_MAX 3
#define EVENTS_MAX 8
#define THREAD_BYTES (LULL_EXTENDED_HEADER_BYTES + sizeof(struct lull_thread_record))
#define CLOCK_BASE 1000u

/* Indexes of a scenario's parameters. */
enum {
	MODE, /* enum lull_mode */
	PLAIN, /* 1: a ring that any CPU writes to */
	PAYLOAD, /* bytes of each event, at least 8 */
	START, /* first count */
	CLOCK_SHIFT, /* lg2 of cycles a byte */
	PREFILL, /* events that writer 2 records before anyone starts */
	EVENTS_A, /* of writer 0, on CPU 0 */
	EVENTS_B, /* of writer 1 */
	CPU_B, /* its CPU */
	NESTED, /* events of a handler, writer 2, one a run */
	NESTED_IN_READER, /* 1: it interrupts the reader, not writer 0 */
	READER_ON_CPU_0, /* 1: with writer 0, else on CPU 1 */
	/* One decimal digit a call: 1 get, 2 get or take, 3 peek, 4 force a switch, 5 look at what
	 * is stuck, 6 look at all that is closed, and leave it there. */
	READER,
	SPARES, /* physical sub-buffers that can replace one taken; 3 for one death */
	LOSSES /* 1 + how many events must be lost in every schedule, 0: any number */
};

enum event_status {
	EVENT_NONE,
	EVENT_STARTED,
	EVENT_RESERVED,
	EVENT_COMMITTING,
	EVENT_COMMITTED,
	EVENT_LOST
};

/* Ghost memory: part of the state, but no access of the ring's. */
struct books {
	uint8_t status[WRITERS_MAX][EVENTS_MAX];
	uint8_t read[WRITERS_MAX][EVENTS_MAX];
	uint8_t subbuf[WRITERS_MAX][EVENTS_MAX]; /* where it was reserved: subbuf_number() */
	uint8_t next[WRITERS_MAX]; /* the least event number that may be read next */
	uint8_t holes; /* slots that the reader gave up */
	uint8_t last_number; /* 1 + number of the last sub-buffer read */
	uint8_t spare; /* physical sub-buffer that is the reader's */
	uint8_t spares_used; /* of those that replace what is taken */
	uint32_t obtained; /* bit n: sub-buffer n was read */
	uint32_t broken; /* bit n: its chain of slots broke at one never marked (plain rings) */
};

extern struct lull_ring ring;
extern struct books *books;
extern const long *parameter;

uint64_t clock_at(uint64_t count);
uint32_t subbuf_number(uint64_t position);

/* writer_sched_test.c */
void write_events(uint32_t writer, uint32_t first, uint32_t until);
void writer_thread(long writer);
void nested_thread(long writer);

/* reader_sched_test.c */
void reader_thread(long program);
void drain(void);

/* audit_sched_test.c */
void audit_full(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes);
void audit_taken(const struct lull_ring_subbuf *subbuf, const uint8_t *early, const uint8_t *late);
void audit_stuck(const struct lull_ring_subbuf *subbuf, const uint8_t *early, const uint8_t *late);
void audit_looked(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes);
void audit_peeked(const struct lull_ring_subbuf *subbuf, const uint8_t *bytes);
void audit_end(void);

#endif
