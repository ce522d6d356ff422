/* SPDX-License-Identifier: MIT */
/*
 * What a reader may believe of the open sub-buffer that it peeks at: the commit count, the last
 * time stamp, and in flight-recorder mode a copy of bytes that may have been overwritten meanwhile.
 * Paper: B 4.4; docs/adr/0004. Source: lull_ring_peek() and lull_ring_unchanged() in
 * core/ring/reader.c; invariant I4 of core/ring/ring.c.
 *
 *	threads of CPU 0			reader (CPU 1)
 *	WRITE, then CYCLES, then RUN		peek: WRITE, REFERENCE, COUNT, CYCLES
 *	publish: RUN, CYCLES, SLOT, WRITE		heavy barrier
 *	SLOT an event, COUNT			RUN, WRITE
 *	when full: REFERENCE free		each SLOT, if the sub-buffer is complete
 *	next lap: publish, REFERENCE writing	unchanged: heavy barrier, REFERENCE
 *
 * A publish may be interrupted after each of its stores. The thread then tries again, or stops for
 * ever: in both cases the values that it left in RUN and CYCLES must never be believed.
 *
 * Labels: [ring.peek:A] [ring.publish:A] [ring.commit:B] [ring.reserve:A].
 *
 * Proved, by assertions: when peek says that the sub-buffer is complete, it shows committed events
 * only, all of its own lap unless it was overwritten meanwhile; last_cycles is 0 or the time stamp
 * of the last slot; the time stamp with which a thread compares its clock is that of the last
 * slot, if the thread's run goes on.
 *
 * -DPUBLISH_LIGHT: as in order_take.pml. -DCOMPLETE_ONLY: last_cycles is believed only if peek
 * says that the sub-buffer is complete. -DUNCHANGED_READ: lull_ring_unchanged() with a read
 * barrier in place of the heavy one. -DUNTIMED: without time stamps and runs.
 *
 * Mutants that an assertion catches:
 *	PEEK_ONCE		peek does not read the write count a second time
 *	PEEK_NO_BARRIER		peek has no heavy barrier
 *	PEEK_RUN_EARLY		peek reads run before its heavy barrier
 *	RUN_FIRST		a thread reads run before last_cycles
 *	REFERENCE_NOT_SET	the next lap does not set the reference to writing
 *	UNCHANGED_NO_BARRIER	lull_ring_unchanged() has no heavy barrier
 *	LOOK_ANY_LAP		a copy is believed without a look at the reference again
 * PEEK_COUNT_RELAXED removes an acquire, and passes on POWER, where the heavy barrier that follows
 * orders the same load. The reader's other loads are relaxed: that barrier is all that they need.
 *
 * Bounds: one sub-buffer of three units, the packet header and two events; two threads of
 * EVENTS_FIRST and EVENTS_SECOND events, REFUSALS interruptions in all. A third event begins a
 * second lap, as in flight-recorder mode, where no writer waits for the reader. READ is left out:
 * the reader peeks at the sub-buffer that WRITE is in. A slot is one word, so its value tells a
 * hole, an event and its payload apart. On TSO at most four stores are on their way. What a thread
 * loads of words that only its own CPU stores is checked on SC only.
 *
 * States: 1,200,000 on POWER, 2 seconds; 4,600,000 on ALPHA with -DREFUSALS=0, 8 to 19 seconds.
 */
#ifndef EVENTS_FIRST
#define EVENTS_FIRST 1
#endif
#ifndef EVENTS_SECOND
#define EVENTS_SECOND 1
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#define CPUS 2
#define TSO_DEPTH 4
#define WRITE 0
#define RUN 1
#define CYCLES 2
#define REFERENCE 3
#define COUNT 4
#define SLOT 5 /* of unit 1; a look never comes to unit 2, with which the sub-buffer is full */
#define VARS 6
#if EVENTS_FIRST + EVENTS_SECOND > 2
#define LAPPED
#endif
#define READS(cpu, v) ((v) <= COUNT || (cpu) == 1)
#include "../machine/machine.pml"
#include "order_words.pml"

#define UNITS 3
#define LAP(count) ((count) / UNITS)
#define OFFSET(count) ((count) % UNITS)
#define RUN_WORD(thread, count) ((thread) << 4 | (count))
#define RUN_COUNT(whose) ((whose) & 15)
#define TIME(thread, count) ((thread) << 4 | (count)) /* no two threads share one */

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
#ifdef MUTANT_READ_REFERENCE_RELAXED
#define READ_REFERENCE LOAD_RELAXED
#else
#define READ_REFERENCE LOAD_ACQUIRE
#endif
#ifdef MUTANT_PEEK_COUNT_RELAXED
#define PEEK_COUNT LOAD_RELAXED
#else
#define PEEK_COUNT LOAD_ACQUIRE
#endif

bit publishing; /* a restartable sequence is under way on CPU 0 */
byte refusals_left = REFUSALS;
byte time_at[10]; /* ghost: time stamp of the slot that ends at a count */

#define MAY_REFUSE                                                                      \
	if                                                                              \
	:: skip                                                                         \
	:: atomic { refusals_left > 0 -> refusals_left--; publishing = 0; goto refused }\
	fi

/* Bytes of unit @count are committed; the last of a lap frees the reference. */
#define COMMIT(count, sum)                                                              \
	atomic { COMMIT_ADD(0, COUNT, 1, sum) }; /* [ring.commit:B] */                  \
	if                                                                              \
	:: OFFSET(sum) == 0 -> CAS(0, REFERENCE, WRITING(LAP(count)), FREE(LAP(count)), sum)    \
	:: else                                                                         \
	fi

/* One thread; @self is 1 or 2. */
proctype thread(byte self; byte events)
{
	byte count, last, whose, found;
	bit same_run;

	do
	:: events == 0 -> break
	:: else ->
		count = LOAD(0, WRITE);
#ifdef MACHINE_SC /* nothing else: a CPU sees its own stores in order */
#ifdef MUTANT_RUN_FIRST
		whose = LOAD(0, RUN);
		last = LOAD(0, CYCLES);
#else
		last = LOAD(0, CYCLES); /* [ring.reserve:A] */
		whose = LOAD(0, RUN);
#endif
		same_run = whose == RUN_WORD(self, count);
#endif
		atomic {
			whose = (OFFSET(count) -> RUN_WORD(self, count + 1) : 0)
		};
#ifndef MUTANT_REFERENCE_NOT_SET
		if
		:: OFFSET(count) == 0 -> /* may_open() */
			LOAD_ACQUIRE(0, REFERENCE, found);
			if
			:: found == BEFORE(LAP(count))
			:: else -> found = 0; goto refused
			fi;
			LOAD_ACQUIRE(0, COUNT, found);
			if
			:: found == count -> found = 0
			:: else -> goto refused
			fi
		:: else
		fi;
		if /* reference_open(), where the opener has not come to it */
		:: OFFSET(count) && LOAD(0, REFERENCE) == BEFORE(LAP(count)) ->
			CAS(0, REFERENCE, BEFORE(LAP(count)), WRITING(LAP(count)), found)
		:: else
		fi;
#endif
		atomic {
			!publishing;
			if
			:: LOAD(0, WRITE) != count -> goto refused
			:: else -> publishing = 1
			fi
		};
#ifndef UNTIMED
		STORE(0, RUN, whose);
		MAY_REFUSE;
		STORE(0, CYCLES, TIME(self, count + 1));
		MAY_REFUSE;
#endif
		if
		:: OFFSET(count) == 1 -> STORE(0, SLOT, HOLE(LAP(count))); MAY_REFUSE
		:: else
		fi;
		atomic {
			PUBLISH_WRITE(0, WRITE, count + 1); /* [ring.publish:A] */
#ifndef UNTIMED
			time_at[count + 1] = TIME(self, count + 1);
#endif
			publishing = 0;
			assert(!same_run || last == time_at[count])
		};
		if
		:: OFFSET(count) == 0 ->
			CAS(0, REFERENCE, BEFORE(LAP(count)), WRITING(LAP(count)), found);
			COMMIT(count, found)
		:: else ->
			if
			:: OFFSET(count) == 1 -> STORE(0, SLOT, EVENT(LAP(count)))
			:: else
			fi;
			COMMIT(count, found);
			events--
		fi;
refused:	atomic { count = 0; last = 0; whose = 0; found = 0; same_run = 0 }
	od
}

active proctype reader()
{
	byte write, count, last, whose, value, slot;

again:	atomic { LOAD_RELAXED(1, WRITE, write) };
	if
	:: OFFSET(write) == 0 -> goto again
	:: else
	fi;
	READ_REFERENCE(1, REFERENCE, value);
	if
	:: value != WRITING(LAP(write)) -> value = 0; goto again
	:: else -> value = 0
	fi;
	PEEK_COUNT(1, COUNT, count);
#ifndef UNTIMED
	LOAD_RELAXED(1, CYCLES, last);
#endif
#ifdef MUTANT_PEEK_RUN_EARLY
	LOAD_RELAXED(1, RUN, whose);
#endif
#ifndef MUTANT_PEEK_NO_BARRIER
	HEAVY_BEGIN(1); /* [ring.peek:A] */
	HEAVY_END(1);
#endif
#if !defined(MUTANT_PEEK_RUN_EARLY) && !defined(UNTIMED)
	LOAD_RELAXED(1, RUN, whose);
#endif
#ifndef MUTANT_PEEK_ONCE
	LOAD_RELAXED(1, WRITE, value);
	if
	:: value != write -> goto out
	:: else
	fi;
#endif
#ifdef COMPLETE_ONLY
	assert(whose == 0 || RUN_COUNT(whose) != write || last == time_at[write] || count != write);
#else
	assert(whose == 0 || RUN_COUNT(whose) != write || last == time_at[write]);
#endif
#ifdef COVER_TIME
	assert(whose == 0 || RUN_COUNT(whose) != write || OFFSET(write) < 2);
#endif
	if
	:: count != write -> goto out /* incomplete: the walk is order_take.pml's */
	:: else
	fi;
	atomic { count = 0; last = 0; whose = 0 };
	slot = LOAD(1, SLOT);
#ifdef LAPPED
	/* lull_ring_unchanged() */
#if defined(MUTANT_UNCHANGED_NO_BARRIER)
#elif defined(UNCHANGED_READ)
	SMP_RMB(1);
#else
	HEAVY_BEGIN(1); /* [ring.peek:B] */
	HEAVY_END(1);
#endif
#ifndef MUTANT_LOOK_ANY_LAP
	READ_REFERENCE(1, REFERENCE, value);
	if
	:: value != WRITING(LAP(write)) && value != FREE(LAP(write)) -> goto out
	:: else
	fi;
#endif
#endif
	assert(OFFSET(write) < 2 || slot == EVENT(LAP(write)));
#ifdef COVER_SLOT
	assert(OFFSET(write) < 2 || LAP(write) != COVER_SLOT);
#endif
out:	atomic { write = 0; count = 0; last = 0; whose = 0; value = 0; slot = 0 };
	goto again
}

init
{
	atomic {
		run thread(1, EVENTS_FIRST);
#if EVENTS_SECOND
		run thread(2, EVENTS_SECOND);
#endif
	}
}
