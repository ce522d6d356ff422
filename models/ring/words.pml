/* SPDX-License-Identifier: MIT */
/*
 * The words of a ring, the equations on them, and what a slot holds; ring.pml says the rest.
 *
 * The names are core/ring/ring_words.h's. A unit stands for the bytes of the smallest slot. All
 * counts, commit counts too, are one word of WORD values, as in C they all have 64 bits: each
 * overflows at its own time, the commit counts at most half as often as the write count.
 * Paper: B 4.2 (equations 1-4), T 8.6.1 (counters of few bits, a flag for each entry).
 */
#ifndef SUBBUF
#define SUBBUF 4 /* units: one for the packet header, the others for slots */
#endif
#define BUFFER (SUBBUF * SUBBUFS)
#define WORD (BUFFER * LAPS)
#define PHYSICAL (SUBBUFS + 1 + SPARES)
#define WRAP(x) ((x) & (WORD - 1))
#define LATER(a, b) (WRAP((a) - (b)) != 0 && WRAP((a) - (b)) < WORD / 2) /* (int64_t)(a - b) > 0 */

#define count_offset(count) ((count) & (SUBBUF - 1))
/*
 * The same in the bits that commit counts share: what commit_fill() writes has no others. With
 * two laps, half the range is one lap and counts as later; were it ever earlier, SEQ_RIGHT fails.
 */
#define LATER_COMMIT(a, b) (WRAP(((a) - (b)) * SUBBUFS) != 0 && \
	WRAP(((a) - (b)) * SUBBUFS) < WORD / 2 + (LAPS == 2))
#define count_begin(count) (WRAP(count) - count_offset(count))
#define count_index(count) (((count) / SUBBUF) & (SUBBUFS - 1))
#define count_commit_empty(count) (WRAP(count) / BUFFER * SUBBUF)
#define commit_bytes(commit, count) (((commit) - count_commit_empty(count)) & (WORD / SUBBUFS - 1))

/* A reference: physical index (3 bits), writing flag, lap. */
#define WRITING 8
#define reference_state(count) (WRAP(count) / BUFFER * 16)
#define reference_physical(word) ((word) & 7)
#define reference_tag(word) ((word) & ~7)

/* A handler is of the thread that it interrupts. */
#ifdef HANDLER
#define TID(me) 1
#else
#define TID(me) ((me) + 1)
#endif
#define run_word(tid, count) ((tid) * 64 + (count))

#ifdef MUTANT_EQUATION_1
#define equation_buffer_full(begin, read) (WRAP((begin) - count_begin(read)) >= BUFFER + SUBBUF)
#else
#define equation_buffer_full(begin, read) (WRAP((begin) - count_begin(read)) >= BUFFER)
#endif
#ifdef MUTANT_EQUATION_2
#define equation_subbuf_ready(commit, read) (count_offset(commit) == 0)
#else
#define equation_subbuf_ready(commit, read) (commit_bytes(commit, read) == SUBBUF)
#endif
#ifdef MUTANT_EQUATION_3
#define equation_fully_committed(commit, count) (true)
#else
#define equation_fully_committed(commit, count) (commit_bytes(commit, count) == 0)
#endif
#ifdef MUTANT_EQUATION_4
#define equation_subbuf_written(write, read) (false)
#else
#define equation_subbuf_written(write, read) (count_begin(write) == count_begin(read))
#endif

byte write_count = START;
byte read_count = START;
byte run_ /* C: run */;
byte physical_ /* C: physical */;
byte reference[SUBBUFS];
byte commit_count[PHYSICAL]; /* C: commit[].count */
byte commit_seq[PHYSICAL]; /* C: commit[].seq */

/*
 * One byte for a unit. A slot's stands in its first unit: size in units (2 bits), event or hole
 * (1 bit), begins with a thread record (1 bit), writer (1 bit), number of its sub-buffer
 * modulo 8 (3 bits). Size 0 and EVENT: an end. 0 in all bits but the last 3: nothing.
 * The first unit of a sub-buffer stands for what its opener writes of the header,
 * header_end[] for what its closer does: units of content less 1, and the sub-buffer's number.
 */
#define EVENT 4
#define RECORD 8
#define STAMP(count) ((((count) / SUBBUF) & 7) * 32)
#define MARK(size, record, writer, count) \
	((size) | ((record) * RECORD) | ((writer) * 16) | STAMP(count))
#define MARK_SIZE(mark) ((mark) & 3)
#define MARK_WRITER(mark) (((mark) >> 4) & 1)
#define MARK_STAMP(mark) ((mark) & 224)
#define CONTENT(end) (((end) & 7) + 1)
#define IS_EVENT(mark) (((mark) & EVENT) && MARK_SIZE(mark))
#define IS_END(mark) (((mark) & EVENT) && !MARK_SIZE(mark))
#define IS_HOLE(mark) (!((mark) & EVENT) && MARK_SIZE(mark))
#define DATA(physical, unit) data[(physical) * SUBBUF + (unit)]

byte data[PHYSICAL * SUBBUF];
byte header_end[PHYSICAL];

/* T 8.6.1: which processes are at a place. */
byte busy[PHYSICAL]; /* bit n: a writer writes the slot that begins at unit n */
byte owned; /* 1 + the physical sub-buffer that the reader reads */
byte spare = SUBBUFS; /* flight recorder: what get hands in next */
byte pool = ((1 << SPARES) - 1) << (SUBBUFS + 1); /* bit p: p is one that take may hand in */
bit in_flight[2]; /* writer has a slot that is no event yet */
bit dead; /* writer A died */
byte expected = START; /* discard: the packet that must come next; else the least that may */
byte alive = PROCESSES; /* that have events left to write or a switch to force */

#ifdef FLIGHT
#define HELD(p) (owned == (p) + 1 || spare == (p) || ((pool >> (p)) & 1))
#else
#define HELD(p) (owned == (p) + 1 || ((pool >> (p)) & 1))
#endif
/* I2: no writer writes to memory that the reader owns. */
#define MAY_WRITE(p) assert(!HELD(p))

#ifdef WINDOWED
#define READS 2
bit within[3]; /* writers 0 and 1 and the reader: within an operation */
byte since[3]; /* the count that it began with */
#endif

/* T 8.6.1: is the 17th reached? By then a commit count has taken all 8 values, and overflown. */
#if defined(COVER_WRITTEN) || defined(COVER_LOST) || defined(COVER_READ)
byte covered;
#define REACHED_17 covered++; assert(covered < 17)
#endif
#ifdef COVER_WRITTEN
#define COUNT_WRITTEN REACHED_17
#else
#define COUNT_WRITTEN skip
#endif
#ifdef COVER_LOST
#define COUNT_LOST REACHED_17
#else
#define COUNT_LOST skip
#endif
#ifdef COVER_READ
#define COUNT_READ REACHED_17
#else
#define COUNT_READ skip
#endif
