/* SPDX-License-Identifier: MIT */
/*
 * What the reader finds in a sub-buffer that it takes while the writers' stores are still on their
 * way. Paper: B 4.4; T 8.6. Source: lull_ring_take() in core/ring/reader.c, lull_ring_commit() in
 * ring.c, and the recorder's walk, tools/consumer (repair.rs).
 *
 *	writers (CPU 0)			reader (CPU 1)
 *	publish: SLOT a hole, WRITE	get: SEQ or COUNT says full: done; else
 *	DATA				take: WRITE, heavy barrier, REFERENCE, SEQ, COUNT
 *	SLOT an event			exchange REFERENCE; COUNT
 *	COUNT; SEQ, REFERENCE		reads each SLOT
 *	the second: publish: SLOT an	heavy barrier
 *		end, WRITE; COUNT	DATA of the events that it found before
 *
 * Two writers of one CPU record one event each, and the second closes the sub-buffer. Each of them
 * may stop for good before any of its steps: the assertions hold in every state, and no state waits
 * for a writer. A publish may be interrupted between its stores; the writer then tries it again, or
 * never does.
 *
 * Labels: [ring.take:A] [ring.walk:A] [ring.publish:A] [ring.commit:A] [ring.commit:B]
 * [ring.deliver:A] [ring.get:A].
 *
 * Proved, by assertions: every slot below the write count carries a mark, so that the walk finds
 * the next slot (I5); an event that the walk believes is complete; each event that was added to
 * COUNT before the reader took the sub-buffer is found, so that at most the events in flight are
 * lost; no more bytes count as committed than are found.
 *
 * -DPUBLISH_LIGHT: a port that orders the stores of a reservation by a light barrier only,
 * as the sched port does. In the ports for user space the last store is a release.
 * -DTRUST_HEADER: the walk takes the end of the slots from the packet header if the header's packet
 * number is this lap's, although the sub-buffer is incomplete.
 *
 * Mutants that an assertion catches:
 *	COMMIT_EARLY		the commit count is added before the header word is written
 *	HEADER_EARLY		the header word is written before the payload
 *	ADD_RELAXED		the addition to the commit count is not a release
 *	GET_RELAXED		the load of SEQ is not an acquire
 *	TAKE_COUNT_RELAXED	take's load of COUNT is not an acquire
 *	WALK_NO_BARRIER		the walk has no heavy barrier
 *	TAKE_NO_BARRIER		take has no heavy barrier; caught with -DPUBLISH_LIGHT only
 * Beside a publish that is a release, TAKE_NO_BARRIER and TAKE_RELAXED pass: either of the acquire
 * and the heavy barrier is then enough.
 *
 * Bounds: one sub-buffer of three units, one lap. Not modelled: what the spare holds
 * (order.pml), the opening of a sub-buffer. On TSO at most four stores are on their way.
 *
 * States: 13,000 on TSO, 190,000 on ALPHA, 2 seconds.
 */
#define CPUS 2
#define TSO_DEPTH 4
#define WRITE 0
#define REFERENCE 1
#define COUNT 2
#define SEQ 3
#define SLOT(i) (4 + (i))
#define DATA(i) (7 + (i))
#ifdef TRUST_HEADER
#define CONTENT 9
#define PACKET 10
#define VARS 11
#else
#define VARS 9
#endif
#define READS(cpu, v) ((v) < SLOT(0) || (cpu) == 1)
#include "../machine/machine.pml"
#include "order_words.pml"

#define UNITS 3 /* of the sub-buffer; the packet header is one more, committed before */
/* REFERENCE: */
#define WRITING_FIRST 0
#define FREE_FIRST 1
#define FREE_SPARE 2
#define END 1 /* what a slot's first word can be beside HOLE(0) and EVENT(0) */

#ifdef PUBLISH_LIGHT
#define PUBLISH_WRITE STORE
#else
#define PUBLISH_WRITE STORE_RELEASE
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
#ifdef MUTANT_TAKE_RELAXED
#define TAKE_WRITE LOAD_RELAXED
#else
#define TAKE_WRITE LOAD_ACQUIRE
#endif
#ifdef MUTANT_TAKE_COUNT_RELAXED
#define TAKE_COUNT LOAD_RELAXED
#else
#define TAKE_COUNT LOAD_ACQUIRE
#endif
#ifdef MUTANT_TAKE_CAS_RELAXED
#define TAKE_CAS CAS_RELAXED
#else
#define TAKE_CAS CAS
#endif
#ifdef MUTANT_READ_REFERENCE_RELAXED
#define READ_REFERENCE LOAD_RELAXED
#else
#define READ_REFERENCE LOAD_ACQUIRE
#endif
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

bit publishing; /* a restartable sequence is under way on CPU 0 */
byte committed; /* ghost: a bit for each unit whose bytes were added to COUNT */

/* lull_publish(): the word that marks unit @at, then WRITE. @done: 1 if it took place. */
#define PUBLISH(count, mark, done)                                                      \
	atomic { !publishing -> count = LOAD(0, WRITE); publishing = 1 };               \
	STORE(0, SLOT(count), mark);                                                    \
	if                                                                              \
	:: atomic { PUBLISH_WRITE(0, WRITE, count + 1) /* [ring.publish:A] */;          \
		publishing = 0; done = 1 }                                              \
	:: atomic { publishing = 0; done = 0 } /* interrupted */                        \
	fi

#define COMMIT(at, count, found)                                                        \
	atomic { COMMIT_ADD(0, COUNT, 1, count) /* [ring.commit:B] */;                  \
		committed = committed | (1 << (at)) };                                  \
	if                                                                              \
	:: count == UNITS -> DELIVER(0, found)                                          \
	:: else                                                                         \
	fi

#define DELIVER(cpu, found)                                                             \
	DELIVER_CAS(cpu, SEQ, 0, UNITS, found); /* [ring.deliver:A] */                  \
	CAS(cpu, REFERENCE, WRITING_FIRST, FREE_FIRST, found)

inline record(at, count, found)
{
	do
	::	PUBLISH(at, HOLE(0), found);
		if
		:: found -> break
		:: else
		fi
	od;
#if defined(MUTANT_HEADER_EARLY)
	atomic { STORE(0, SLOT(at), EVENT(0)) };
	STORE(0, DATA(at), PAYLOAD(at));
	COMMIT(at, count, found)
#elif defined(MUTANT_COMMIT_EARLY)
	atomic { STORE(0, DATA(at), PAYLOAD(at)) };
	COMMIT(at, count, found);
	STORE(0, SLOT(at), EVENT(0))
#else
	atomic { STORE(0, DATA(at), PAYLOAD(at)) };
	STORE(0, SLOT(at), EVENT(0)); /* [ring.commit:A] */
	COMMIT(at, count, found)
#endif
}

active proctype first_writer()
{
	byte at, count, found;

	record(at, count, found);
	atomic { at = 0; count = 0; found = 0 }
}

active proctype second_writer()
{
	byte at, count, found;

	record(at, count, found);
	/* switch_old(): closes the sub-buffer once the other's slot is reserved too. */
	do
	::	LOAD(0, WRITE) == UNITS - 1;
		PUBLISH(at, END, found);
		if
		:: found -> break
		:: else
		fi
	od;
#ifdef TRUST_HEADER
	atomic { STORE(0, CONTENT, UNITS - 1) };
	STORE(0, PACKET, 1);
#endif
	COMMIT(at, count, found);
	atomic { at = 0; count = 0; found = 0 }
}

active proctype reader()
{
	byte value, i;
	byte events, holes; /* a bit for each unit */
	byte must; /* ghost: units that were committed when it was taken */

retry:	value = 0;
	TAKE_WRITE(1, WRITE, value); /* [ring.take:A] */
	if
	:: value < UNITS -> goto retry /* still open */
	:: else
	fi;
	GET_SEQ(1, SEQ, value); /* [ring.get:A] */
	if
	:: value == UNITS -> must = committed; goto look
	:: else
	fi;
	GET_COUNT(1, COUNT, value);
	if
	:: value == UNITS -> must = committed; DELIVER(1, value); value = UNITS; goto look
	:: else
	fi;
#ifndef MUTANT_TAKE_NO_BARRIER
	HEAVY_BEGIN(1); /* [ring.take:A] */
	HEAVY_END(1);
#endif
	READ_REFERENCE(1, REFERENCE, value);
	if
	:: value != WRITING_FIRST -> goto retry
	:: else
	fi;
	GET_SEQ(1, SEQ, value);
	if
	:: value == UNITS -> goto retry
	:: else
	fi;
	GET_COUNT(1, COUNT, value);
	if
	:: value == UNITS -> goto retry
	:: else
	fi;
	atomic {
		TAKE_CAS(1, REFERENCE, WRITING_FIRST, FREE_SPARE, value);
		must = committed
	};
	if
	:: value != WRITING_FIRST -> must = 0; goto retry
	:: else
	fi;
	TAKE_COUNT(1, COUNT, value); /* [ring.take:B] */
look:	do
	:: i < UNITS ->
		atomic {
			each_ = LOAD(1, SLOT(i));
			assert(each_ != 0); /* the chain of slots is unbroken */
			if
			:: each_ == EVENT(0) || each_ == END -> events = events | (1 << i)
			:: each_ == HOLE(0) -> holes = holes | (1 << i)
			fi;
			each_ = 0;
			i++
		}
	:: else -> break
	od;
	atomic {
		assert((must & events) == must); /* what was committed is found */
		/* An end is counted by its closer, and the walk does without its count. */
		assert((events & 1) + ((events >> 1) & 1) + ((events >> 2) & 1) >= value);
#ifdef COVER_TAKEN
		assert(holes != 1);
#endif
#ifdef COVER_WHOLE
		assert(holes != 0);
#endif
		value = 0
	};
#ifdef TRUST_HEADER
	/* In the order of the header's fields. */
	value = LOAD(1, CONTENT);
	if
	:: LOAD(1, PACKET) == 1 -> assert(value == UNITS - 1)
	:: else
	fi;
	value = 0;
#endif
#ifndef MUTANT_WALK_NO_BARRIER
	HEAVY_BEGIN(1); /* [ring.walk:A] */
	HEAVY_END(1);
#endif
	atomic { i = 0 };
	do
	:: i < UNITS - 1 ->
		if
		:: (events >> i) & 1 ->
			value = LOAD(1, DATA(i));
			assert(value == PAYLOAD(i)); /* an event believed is whole */
			value = 0
		:: else
		fi;
		i++
	:: else -> break
	od;
	atomic { i = 0; events = 0; holes = 0; must = 0 }
}
