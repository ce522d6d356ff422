/* SPDX-License-Identifier: MIT */
/*
 * The hand-over of a sub-buffer, word by word: from the writer to the reader, and back to the
 * writer for the next lap. Paper: B 4.4. Source: core/ring/ring.c, ring_fast.h, reader.c;
 * docs/design/10-ring.md.
 *
 *	writer (CPU 0)			reader (CPU 1)
 *	may_open: REFERENCE, COUNT,	get: READ, WRITE, REFERENCE
 *		READ (discard mode)		SEQ, or COUNT and deliver for a dead writer
 *	publish: WRITE				exchange REFERENCE (flight recorder)
 *	push READ (flight recorder)	reads SLOT, DATA
 *	REFERENCE to writing; COUNT	put: READ
 *	publish: SLOT a hole, WRITE
 *	DATA
 *	SLOT an event, COUNT
 *	deliver: SEQ, REFERENCE
 *
 * Labels: [ring.open:A] [ring.open:B] [ring.publish:A] [ring.commit:A] [ring.commit:B]
 * [ring.deliver:A] [ring.get:A] [ring.put:A].
 *
 * Proved, by assertions: the reader never reads a byte of another lap, nor a byte that is not yet
 * written; the writer never counts an event as lost to OVERFLOW, because no process is slow here.
 *
 * Mutants. An assertion catches each of these; NAME_RELAXED removes the order of one access:
 *	COMMIT_EARLY		the commit count is added before the payload's last words
 *	OPEN_UNREAD		a sub-buffer is opened although it was not read
 *	PUT_EARLY		the reader gives a sub-buffer back before it has read it
 *	ADD_RELAXED		the addition to the commit count
 *	GET_RELAXED		the reader's load of SEQ
 *	OPEN_REFERENCE_RELAXED	the opener's load of REFERENCE
 *	EXCHANGE_RELAXED	the reader's exchange of REFERENCE
 *	EXCHANGE_WRITING	the reader exchanges a reference that is still in state writing
 *	FILL_LATE		the spare's counts are filled after its reference is exchanged
 * These pass, because a later full barrier or a branch orders the same accesses on the machines
 * here: GET_HELP_RELAXED, GET_WRITE_RELAXED, READ_REFERENCE_RELAXED, OPEN_COUNT_RELAXED,
 * OPEN_RELAXED, REFERENCE_RELAXED, OPEN_CAS_RELAXED, PUBLISH_RELAXED.
 *
 * Bounds: one logical sub-buffer of two units, the packet header and one event that fills it;
 * LAPS laps; with -DFLIGHT two physical sub-buffers. A larger number of any of them orders no two
 * words differently. Not modelled: the packet header's words (they are ordered like an event's),
 * time stamps and runs (order_peek.pml), processes that die (order_take.pml), several writers
 * (order_plain.pml), instructions out of order (order_commit.pml). The writer waits where it
 * would lose an event to FULL.
 *
 * Where the writer finds the ring full, or the reader finds no sub-buffer, it tries again at once.
 *
 * States: at most 30,000, under a second; 600,000 on ALPHA with -DFLIGHT -DLAPS=2, 5 seconds.
 */
#ifndef LAPS
#define LAPS 3
#endif
#ifdef FLIGHT
#define SUBBUFS 2 /* physical */
#else
#define SUBBUFS 1
#endif
#define CPUS 2
#define WRITE 0
#define READ 1
#define REFERENCE 2
#define COUNT(p) (3 + (p))
#define SEQ(p) (3 + SUBBUFS + (p))
#define SLOT(p) (3 + 2 * SUBBUFS + (p))
#define DATA(p) (3 + 3 * SUBBUFS + (p))
#define VARS (3 + 4 * SUBBUFS)
#define READS(cpu, v) ((v) < SLOT(0) && (v) != WRITE || (cpu) == 1)
#include "../machine/machine.pml"
#include "order_words.pml"

/* Counts are in units: a sub-buffer is two, and so is the buffer. */
#define BEGIN(lap) (2 * (lap))
#define FULL(lap) (2 * (lap) + 2)

#ifdef MUTANT_GET_RELAXED
#define GET_SEQ LOAD_RELAXED
#else
#define GET_SEQ LOAD_ACQUIRE
#endif
#ifdef MUTANT_GET_HELP_RELAXED
#define GET_COUNT LOAD_RELAXED
#else
#define GET_COUNT LOAD_ACQUIRE
#endif
#ifdef MUTANT_GET_WRITE_RELAXED
#define GET_WRITE LOAD_RELAXED
#else
#define GET_WRITE LOAD_ACQUIRE
#endif
#ifdef MUTANT_READ_REFERENCE_RELAXED
#define READ_REFERENCE LOAD_RELAXED
#else
#define READ_REFERENCE LOAD_ACQUIRE
#endif
#ifdef MUTANT_OPEN_REFERENCE_RELAXED
#define OPEN_REFERENCE LOAD_RELAXED
#else
#define OPEN_REFERENCE LOAD_ACQUIRE
#endif
#ifdef MUTANT_OPEN_COUNT_RELAXED
#define OPEN_COUNT LOAD_RELAXED
#else
#define OPEN_COUNT LOAD_ACQUIRE
#endif
#ifdef MUTANT_OPEN_RELAXED
#define OPEN_READ LOAD_RELAXED
#else
#define OPEN_READ LOAD_ACQUIRE
#endif
#ifdef MUTANT_REFERENCE_RELAXED
#define SLOT_REFERENCE LOAD_RELAXED
#else
#define SLOT_REFERENCE LOAD_ACQUIRE
#endif
#ifdef MUTANT_ADD_RELAXED
#define COMMIT_ADD ADD_RELAXED
#else
#define COMMIT_ADD ADD_RELEASE
#endif
#ifdef MUTANT_DELIVER_RELAXED
#define DELIVER_CAS CAS_RELAXED
#else
#define DELIVER_CAS CAS
#endif
#ifdef MUTANT_OPEN_CAS_RELAXED
#define OPEN_CAS CAS_RELAXED
#else
#define OPEN_CAS CAS
#endif
#ifdef MUTANT_EXCHANGE_RELAXED
#define EXCHANGE_CAS CAS_RELAXED
#else
#define EXCHANGE_CAS CAS
#endif
#ifdef MUTANT_PUT_RELAXED
#define PUT_CAS CAS_RELAXED
#else
#define PUT_CAS CAS
#endif
#ifdef MUTANT_PUSH_RELAXED
#define PUSH_CAS CAS_RELAXED
#else
#define PUSH_CAS CAS
#endif
#ifdef MUTANT_PUBLISH_RELAXED
#define PUBLISH_WRITE STORE
#else
#define PUBLISH_WRITE STORE_RELEASE
#endif

/* lull_ring_deliver(): by the writer that fills the sub-buffer, or the reader in its place. */
#define DELIVER(cpu, lap, p, full, seq, found)                                                  \
	seq = LOAD(cpu, SEQ(p));                                                                \
	if                                                                                      \
	:: seq < (full) -> DELIVER_CAS(cpu, SEQ(p), seq, full, found) /* [ring.deliver:A] */    \
	:: else                                                                                 \
	fi;                                                                                     \
	CAS(cpu, REFERENCE, REFER(WRITING(lap), p), REFER(FREE(lap), p), found);                \
	atomic { seq = 0; found = 0 }

/* lull_ring_push_reader(); with one sub-buffer the target is the one that is opened. */
#define PUSH_READER(cpu, target, read, found)                   \
	read = LOAD(cpu, READ);                                 \
	do                                                      \
	:: read < (target) ->                                   \
		PUSH_CAS(cpu, READ, read, target, found);       \
		if                                              \
		:: found == read -> break                       \
		:: else -> read = found                         \
		fi                                              \
	:: else -> break                                        \
	od;                                                     \
	atomic { read = 0; found = 0 }

active proctype writer()
{
	byte lap, reference, count, read, found, p;

	do
	:: lap == LAPS -> break
	:: else ->
		/* may_open() */
		do
		::	OPEN_REFERENCE(0, REFERENCE, reference); /* [ring.open:C] */
			p = PHYSICAL(reference);
			assert(TAG(reference) == BEFORE(lap));
			OPEN_COUNT(0, COUNT(p), count); /* [ring.open:B] */
			assert(count == BEGIN(lap)); /* not lost: equation (3) */
			count = 0;
#ifdef FLIGHT
			break
#else
			OPEN_READ(0, READ, read); /* [ring.open:A] */
			if
#ifdef MUTANT_OPEN_UNREAD
			:: read = 0; break
#endif
			:: BEGIN(lap) - read >= 2 -> read = 0 /* FULL */
			:: else -> read = 0; break
			fi
#endif
		od;
		atomic { PUBLISH_WRITE(0, WRITE, BEGIN(lap) + 1) }; /* [ring.publish:A] */
#ifdef FLIGHT
		PUSH_READER(0, BEGIN(lap), read, found);
#endif
		/* reference_open() */
		do
		::	SLOT_REFERENCE(0, REFERENCE, reference);
			p = PHYSICAL(reference);
			OPEN_CAS(0, REFERENCE, REFER(BEFORE(lap), p), REFER(WRITING(lap), p),
				found);
			if
			:: found == REFER(BEFORE(lap), p) -> found = 0; break
			:: else
			fi
		od;
		reference = 0;
		COMMIT_ADD(0, COUNT(p), 1, count); /* the packet header, [ring.commit:B] */
		STORE(0, SLOT(p), HOLE(lap));
		PUBLISH_WRITE(0, WRITE, FULL(lap)); /* [ring.publish:A] */
#ifdef MUTANT_COMMIT_EARLY
		STORE(0, DATA(p), PAYLOAD(lap));
		COMMIT_ADD(0, COUNT(p), 1, count);
		STORE(0, SLOT(p), EVENT(lap));
#else
		STORE(0, DATA(p), PAYLOAD(lap));
		STORE(0, SLOT(p), EVENT(lap)); /* [ring.commit:A] */
		COMMIT_ADD(0, COUNT(p), 1, count); /* [ring.commit:B] */
#endif
		assert(count == FULL(lap));
		count = 0;
		DELIVER(0, lap, p, FULL(lap), count, found);
		atomic { p = 0; lap++ }
	od
}

#ifdef FLIGHT
#define COMMIT_FILL                             \
	STORE(1, COUNT(spare), FULL(lap));      \
	STORE(1, SEQ(spare), FULL(lap))
#endif

active proctype reader()
{
	byte lap, read, write, reference, count, found, p, slot;
#ifdef FLIGHT
	byte spare = 1;
#endif

end:	do
	::	/* lull_ring_get() */
		read = LOAD(1, READ);
		GET_WRITE(1, WRITE, write);
		lap = read >> 1;
#ifdef FLIGHT
		if
		:: write > read + 2 -> /* read_count_behind() */
			write = (write - 1) & 6;
			PUSH_READER(1, write, read, found);
			goto again
		:: else
		fi;
#endif
		if
		:: (write >> 1) == lap -> goto again /* equation (4) */
		:: else
		fi;
		READ_REFERENCE(1, REFERENCE, reference);
		atomic { p = PHYSICAL(reference); write = 0 };
		GET_SEQ(1, SEQ(p), count); /* [ring.get:A] */
		if
		:: count == FULL(lap)
		:: else ->
			GET_COUNT(1, COUNT(p), count);
			if
			:: count != FULL(lap) -> goto again
			:: else -> DELIVER(1, lap, p, FULL(lap), count, found)
			fi
		fi;
		count = 0;
#ifdef FLIGHT
#ifdef MUTANT_EXCHANGE_WRITING
		EXCHANGE_CAS(1, REFERENCE, reference, REFER(TAG(reference), spare), found);
		if
		:: found != reference -> goto again
		:: else
		fi;
#else
		if
		:: TAG(reference) == WRITING(lap) ->
			DELIVER(1, lap, p, FULL(lap), count, found);
			goto again
		:: else
		fi;
#ifndef MUTANT_FILL_LATE
		COMMIT_FILL;
#endif
		/* [ring.exchange:A] */
		EXCHANGE_CAS(1, REFERENCE, REFER(FREE(lap), p), REFER(FREE(lap), spare), found);
		if
		:: found != REFER(FREE(lap), p) -> goto again
		:: else
		fi;
#ifdef MUTANT_FILL_LATE
		COMMIT_FILL;
#endif
#endif
		spare = p;
#endif
		atomic { reference = 0; found = 0 };
#ifdef MUTANT_PUT_EARLY
		PUT_CAS(1, READ, read, FULL(lap), found);
#endif
		atomic { slot = LOAD(1, SLOT(p)); assert(slot == EVENT(lap)) };
		atomic { slot = LOAD(1, DATA(p)); assert(slot == PAYLOAD(lap)) };
#ifdef COVER_LAST
		assert(lap != LAPS - 1);
#endif
		slot = 0;
#ifndef MUTANT_PUT_EARLY
		PUT_CAS(1, READ, read, FULL(lap), found); /* [ring.put:A] */
#endif
again:		atomic { lap = 0; read = 0; write = 0; reference = 0; count = 0; found = 0; p = 0 }
	od
}
