/* SPDX-License-Identifier: MIT */
/*
 * Reservation, commit and hand-over on a processor that executes instructions out of order: which
 * accesses a light barrier leaves unordered, and which other barrier orders them.
 * Paper: B 4.4, T 7.5. Source: core/ring/ring.c, reader.c.
 *
 *	writer (CPU 0), program order		reader (CPU 1)
 *	MARK	SLOT a hole			get: SEQ, acquire, SLOT, DATA, READ
 *	ORDER	release				-DTAKE: WRITE, acquire, heavy barrier,
 *	RESERVE	WRITE					SLOT, heavy barrier, DATA
 *	COPY	DATA
 *	HEADER	SLOT an event
 *	ORDERED	release, of the addition
 *	LINKED	COUNT is read
 *	ADD	COUNT is written
 *	DELIVER	SEQ
 *	then, once READ says so, DATA of the next lap
 *
 * Each line is an instruction, which may run as soon as the instructions that it needs have run.
 * The processor does not see a light barrier: COPY and HEADER run in any order. The addition is a
 * load and a store conditional, and its release delays only the store. A heavy barrier is an
 * interrupt. A processor takes an interrupt between two instructions of the program order: when
 * the instructions that have run are the first ones of the program order.
 *
 * Labels: [ring.publish:A] [ring.commit:A] [ring.commit:B] [ring.deliver:A] [ring.get:A]
 * [ring.put:A] [ring.open:A] [ring.take:A] [ring.walk:A].
 *
 * Proved, by assertions: the sub-buffer that get hands over is complete, and belongs to this lap
 * until it is put; with -DTAKE a reserved slot carries its mark, and an event that the walk
 * believes is complete.
 *
 * -DHELP: get finds by COUNT that the sub-buffer is full, in place of a writer that died before
 * it stored SEQ. -DPUBLISH_LIGHT: as in order_take.pml.
 *
 * Mutants remove the order of one instruction, by producing its token before the loop begins
 * (T 7.5.1). An assertion catches ADD_RELAXED (the addition), DELIVER_RELAXED (the store of SEQ),
 * GET_RELAXED (the load of SEQ or COUNT), PUT_RELAXED (the store of READ), WALK_NO_BARRIER (the
 * walk's heavy barrier), and TAKE_NO_BARRIER (take's heavy barrier) with -DPUBLISH_LIGHT. Beside a
 * publish that is a release, TAKE_NO_BARRIER and TAKE_RELAXED pass: either of the acquire and the
 * heavy barrier is then enough.
 *
 * Bounds: one slot that fills the sub-buffer; each loop runs once, the reader's until it finds
 * what it waits for. On POWER and ALPHA only.
 *
 * States: at most 10,000, under a second.
 */
short done; /* the writer's tokens */
#define IN_ORDER(tokens) (((tokens) & ((tokens) + 1)) == 0)
#define CPUS 2
#define WRITE 0
#define READ 1
#define COUNT 2
#define SEQ 3
#define SLOT 4
#define DATA 5
#define VARS 6
#define READS(cpu, v) ((cpu) == 1 || (v) == READ)
#define HEAVY_WHEN(cpu) ((cpu) == 1 || IN_ORDER(done))
#include "../machine/machine.pml"
#include "../machine/ooisched.pml"
#include "order_words.pml"

#define MARK 1
#define ORDER 2
#define RESERVE 4
#define COPY 8
#define HEADER 16
#define ORDERED 32
#define LINKED 64
#define ADDED 128
#define DELIVERED 256

#ifdef PUBLISH_LIGHT
#define ORDER_AHEAD ORDER
#else
#define ORDER_AHEAD 0
#endif
#ifdef MUTANT_ADD_RELAXED
#define ORDERED_AHEAD ORDERED
#else
#define ORDERED_AHEAD 0
#endif
#ifdef MUTANT_DELIVER_RELAXED
#define BEFORE_DELIVER LINKED /* the branch on the sum, for a store cannot run before it */
#else
#define BEFORE_DELIVER (MARK | ORDER | RESERVE | COPY | HEADER | ORDERED | LINKED | ADDED)
#endif
#define DELIVER_CAS CAS_RELAXED /* the order is in BEFORE_DELIVER, and in a barrier of its own */

active proctype writer()
{
	byte found;

	done = ORDER_AHEAD | ORDERED_AHEAD;
	do
	:: atomic { INSTRUCTION(done, 0, MARK) ->
		STORE(0, SLOT, HOLE(0)); PRODUCE_TOKENS(done, MARK) }
	:: atomic { INSTRUCTION(done, MARK, ORDER) ->
		SMP_WMB(0); PRODUCE_TOKENS(done, ORDER) }
	:: atomic { INSTRUCTION(done, ORDER, RESERVE) ->
		STORE(0, WRITE, 1) /* [ring.publish:A] */; PRODUCE_TOKENS(done, RESERVE) }
	:: atomic { INSTRUCTION(done, 0, COPY) ->
		STORE(0, DATA, PAYLOAD(0)); PRODUCE_TOKENS(done, COPY) }
	:: atomic { INSTRUCTION(done, MARK, HEADER) ->
		STORE(0, SLOT, EVENT(0)) /* [ring.commit:A] */; PRODUCE_TOKENS(done, HEADER) }
	:: atomic { INSTRUCTION(done, MARK | ORDER | RESERVE | COPY | HEADER, ORDERED) ->
		SMP_WMB(0); PRODUCE_TOKENS(done, ORDERED) }
	:: atomic { INSTRUCTION(done, 0, LINKED) -> PRODUCE_TOKENS(done, LINKED) }
	:: atomic { INSTRUCTION(done, ORDERED | LINKED, ADDED) ->
		STORE(0, COUNT, 1) /* [ring.commit:B] */; PRODUCE_TOKENS(done, ADDED) }
	:: atomic { INSTRUCTION(done, BEFORE_DELIVER, DELIVERED) ->
#ifndef MUTANT_DELIVER_RELAXED
		SMP_WMB(0);
#endif
		DELIVER_CAS(0, SEQ, 0, 1, found) /* [ring.deliver:A] */;
		PRODUCE_TOKENS(done, DELIVERED) }
	:: atomic { done == 511 -> done = 0; found = 0; break }
	od;
#ifndef TAKE
	/* [ring.open:A]: a branch on READ, which no store of the next lap runs before. */
	do
	:: atomic { LOAD(0, READ) == 1 -> break }
	od;
	atomic { STORE(0, DATA, PAYLOAD(1)) }
#endif
}

#define LOADED 1 /* SEQ, or WRITE for a take */
#define ACQUIRED 2
#define PROMOTED 4 /* the heavy barrier of take */
#define LOOKED 8
#define PROMOTED_AGAIN 16 /* that of the walk */
#define COPIED 32
#define PUT 64

#if defined(MUTANT_GET_RELAXED) || defined(MUTANT_TAKE_RELAXED)
#define ACQUIRED_AHEAD ACQUIRED
#else
#define ACQUIRED_AHEAD 0
#endif
#if !defined(TAKE) || defined(MUTANT_TAKE_NO_BARRIER)
#define PROMOTED_AHEAD PROMOTED
#else
#define PROMOTED_AHEAD 0
#endif
#if !defined(TAKE) || defined(MUTANT_WALK_NO_BARRIER)
#define AGAIN_AHEAD PROMOTED_AGAIN
#else
#define AGAIN_AHEAD 0
#endif
#ifdef MUTANT_PUT_RELAXED
#define BEFORE_PUT LOADED
#else
#define BEFORE_PUT (LOADED | LOOKED | COPIED)
#endif

active proctype reader()
{
	byte tokens, found, slot, data;

again:	tokens = ACQUIRED_AHEAD | PROMOTED_AHEAD | AGAIN_AHEAD;
	do
	:: atomic { INSTRUCTION(tokens, 0, LOADED) ->
#ifdef TAKE
		found = LOAD(1, WRITE); /* [ring.take:A] */
#elif defined(HELP)
		found = LOAD(1, COUNT);
#else
		found = LOAD(1, SEQ); /* [ring.get:A] */
#endif
		PRODUCE_TOKENS(tokens, LOADED) }
	:: atomic { INSTRUCTION(tokens, LOADED, ACQUIRED) ->
		SMP_RMB(1); PRODUCE_TOKENS(tokens, ACQUIRED) }
	:: atomic { INSTRUCTION(tokens, LOADED | ACQUIRED, PROMOTED) -> HEAVY_BEGIN(1) };
		HEAVY_END(1); /* [ring.take:A] */
		PRODUCE_TOKENS(tokens, PROMOTED)
	:: atomic { INSTRUCTION(tokens, ACQUIRED | PROMOTED, LOOKED) ->
		slot = LOAD(1, SLOT); PRODUCE_TOKENS(tokens, LOOKED) }
	:: atomic { INSTRUCTION(tokens, LOADED | ACQUIRED | PROMOTED | LOOKED, PROMOTED_AGAIN) ->
		HEAVY_BEGIN(1) };
		HEAVY_END(1); /* [ring.walk:A] */
		PRODUCE_TOKENS(tokens, PROMOTED_AGAIN)
	:: atomic { INSTRUCTION(tokens, ACQUIRED | PROMOTED | PROMOTED_AGAIN, COPIED) ->
		data = LOAD(1, DATA); PRODUCE_TOKENS(tokens, COPIED) }
#ifndef TAKE
	:: atomic { INSTRUCTION(tokens, BEFORE_PUT, PUT) && found == 1 ->
		CAS_RELAXED(1, READ, 0, 1, found); /* [ring.put:A] */
		found = 1;
		PRODUCE_TOKENS(tokens, PUT) }
#endif
	:: atomic { (tokens | PUT) == 127 && (found == 0 || tokens == 127) ->
		if
		:: found == 0 -> tokens = 0; slot = 0; data = 0; goto again
		:: else -> break
		fi }
#ifdef TAKE
	:: atomic { tokens == 63 && found -> break }
#endif
	od;
	atomic {
#ifdef TAKE
		assert(slot != 0); /* the reserved slot is marked */
		assert(slot != EVENT(0) || data == PAYLOAD(0)); /* an event believed is whole */
#ifdef COVER_EVENT
		assert(slot != EVENT(0));
#endif
#ifdef COVER_HOLE
		assert(slot != HOLE(0));
#endif
#else
		assert(slot == EVENT(0) && data == PAYLOAD(0));
#endif
		tokens = 0; found = 0; slot = 0; data = 0
	}
}
