/* SPDX-License-Identifier: MIT */
/*
 * A plain ring: writers on two CPUs, and a reader that stores zeros over what it gives back.
 * Paper: B 4.4. Source: core/ring/ring.c and reader.c; lull_publish_plain() in port/PORT.md.
 *
 *	each writer (CPU 0, CPU 1)		reader (CPU 2)
 *	WRITE					get: READ, WRITE, SEQ, or COUNT and deliver
 *	may_open: COUNT, READ			reads each SLOT
 *	publish: WRITE, then SLOT a hole	stores zero to each SLOT
 *	SLOT an event, COUNT			put: READ
 *	the writer that fills it: SEQ
 *
 * Labels: [ring.open:A] [ring.open:B] [ring.commit:B] [ring.deliver:A] [ring.get:A]
 * [ring.put:A].
 *
 * Proved, by assertions: the sub-buffer that get hands over is committed, complete and of its lap,
 * whichever writer filled it and whichever CPU the other writer ran on; the reader's zeros reach
 * memory before the next lap does.
 *
 * Mutants that an assertion catches: ADD_RELAXED (the addition to the commit count is not a
 * release), PUT_RELAXED (the reader's store of READ is not), GET_RELAXED (the load of SEQ is not an
 * acquire).
 *
 * Bounds: discard mode; one sub-buffer of three units, the packet header and two events; writers
 * of EVENTS_FIRST and EVENTS_SECOND events, which wait where they would lose an event. A slot is
 * one word. Left out: REFERENCE, which decides nothing here that WRITE does not decide; processes
 * that die, which are the reason for the zeros (ring.pml).
 *
 * States: 30,000 on POWER, under a second; 1,500,000 on ALPHA with -DEVENTS_SECOND=1, 8 seconds.
 */
#ifndef EVENTS_FIRST
#define EVENTS_FIRST 2
#endif
#ifndef EVENTS_SECOND
#define EVENTS_SECOND 2
#endif
#define CPUS 3
#define WRITE 0
#define READ 1
#define COUNT 2
#define SEQ 3
#define SLOT(i) (4 + (i)) /* of unit i + 1 */
#define VARS 6
#define READS(cpu, v) ((v) < SLOT(0) || (cpu) == 2)
#include "../machine/machine.pml"
#include "order_words.pml"

#define UNITS 3
#define LAP(count) ((count) / UNITS)
#define OFFSET(count) ((count) % UNITS)

#ifdef MUTANT_RESERVE_RELAXED
#define RESERVE_WRITE LOAD_RELAXED
#else
#define RESERVE_WRITE LOAD_ACQUIRE
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
#ifdef MUTANT_PUBLISH_RELAXED
#define PUBLISH_CAS CAS_RELAXED
#else
#define PUBLISH_CAS CAS
#endif
#ifdef MUTANT_GET_RELAXED
#define GET_SEQ LOAD_RELAXED
#else
#define GET_SEQ LOAD_ACQUIRE
#endif
#ifdef MUTANT_PUT_RELAXED
#define PUT_CAS CAS_RELAXED
#else
#define PUT_CAS CAS
#endif

#define DELIVER(cpu, full, seq, found)                                                  \
	seq = LOAD(cpu, SEQ);                                                           \
	do                                                                              \
	:: seq < (full) ->                                                              \
		DELIVER_CAS(cpu, SEQ, seq, full, found); /* [ring.deliver:A] */         \
		if                                                                      \
		:: found == seq -> break                                                \
		:: else -> seq = found                                                  \
		fi                                                                      \
	:: else -> break                                                                \
	od

proctype writer(byte cpu; byte events)
{
	byte count, sum, found;

	do
	:: events == 0 -> break
	:: else ->
		RESERVE_WRITE(cpu, WRITE, count); /* [ring.reserve:B] */
		if
		:: OFFSET(count) == 0 ->
			OPEN_COUNT(cpu, COUNT, sum); /* [ring.open:B] */
			OPEN_READ(cpu, READ, found); /* [ring.open:A] */
			if
			:: sum != count || count - found >= UNITS -> goto next
			:: else
			fi;
			PUBLISH_CAS(cpu, WRITE, count, count + 1, found);
			if
			:: found != count -> goto next
			:: else
			fi
		:: else ->
			PUBLISH_CAS(cpu, WRITE, count, count + 1, found);
			if
			:: found != count -> goto next
			:: else
			fi;
			STORE(cpu, SLOT(OFFSET(count) - 1), HOLE(LAP(count)));
			STORE(cpu, SLOT(OFFSET(count) - 1), EVENT(LAP(count)));
			events--
		fi;
		COMMIT_ADD(cpu, COUNT, 1, sum); /* [ring.commit:B] */
		if
		:: OFFSET(sum) == 0 -> count = sum; DELIVER(cpu, count, sum, found)
		:: else
		fi;
next:		atomic { count = 0; sum = 0; found = 0 }
	od
}

active proctype reader()
{
	byte read, seq, found;

end:	do
	::	read = LOAD(2, READ);
		GET_SEQ(2, SEQ, seq); /* [ring.get:A] */
		if
		:: seq == read + UNITS
		:: else ->
			LOAD_ACQUIRE(2, COUNT, seq);
			if
			:: seq != read + UNITS -> goto next
			:: else -> DELIVER(2, read + UNITS, seq, found)
			fi
		fi;
		atomic { seq = LOAD(2, SLOT(0)); assert(seq == EVENT(LAP(read))) };
		atomic { seq = LOAD(2, SLOT(1)); assert(seq == EVENT(LAP(read))) };
#ifdef COVER_LAP
		assert(LAP(read) != COVER_LAP);
#endif
		STORE(2, SLOT(0), 0);
		STORE(2, SLOT(1), 0);
		PUT_CAS(2, READ, read, read + UNITS, found); /* [ring.put:A] */
next:		atomic { read = 0; seq = 0; found = 0 }
	od
}

init
{
	atomic {
		run writer(0, EVENTS_FIRST);
		run writer(1, EVENTS_SECOND)
	}
}
