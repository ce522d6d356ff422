/* SPDX-License-Identifier: MIT */
/*
 * The ring: writers, handlers, a reader and crashes on a sequentially consistent machine.
 * Paper: B 3.2, 4.1-4.4, T 8.6, 8.7. Source: core/ring: ring_fast.h and ring.c in writer.pml,
 * reader.c in reader.pml, ring_words.h in words.pml, which this file includes.
 *
 *	writer (also handler, timer)		reader
 *	count = write_count			read = read_count; write = write_count
 *	clock; run: which size			reference: physical
 *	  no room: may_open, end mark and	commit.seq or commit.count: complete?
 *	  write_count in one step, push		fill the spare's counts, exchange (flight recorder)
 *	  the reader, close, open		own, read, put: read_count
 *	reference set to writing		or take: exchange an incomplete one, walk over it
 *	mark, run, physical, count: one step	or peek: write_count, commit.count, write_count
 *	payload; header word; commit.count
 *	  full: commit.seq, reference free
 *
 * Labels: ring.commit:A, ring.commit:B, ring.deliver:A, ring.get:A, ring.open:A, ring.open:B,
 * ring.peek:A, ring.publish:A, ring.put:A, ring.take:A, ring.walk:A; order.pml has their order.
 *
 * Proved. No process writes where another writes or where the reader reads (race flags). A packet
 * that is said to be complete is a header, then events to its end: each event is of this lap, its
 * thread is known, its time is that of its place. Packets come in order, each once; in discard mode
 * every packet comes, in flight-recorder mode a packet is missing only if it was overwritten. An
 * event is lost only if at one instant of the attempt there was no room. At the end nothing is left
 * behind. With CRASH, writer A dies before any of its steps: only the slot that it has not turned
 * into an event is given up, and the reader can still go on.
 *
 * The mutants have the names and meanings of port/sched/mutants.h. An assertion catches each of
 * them, except REFERENCE_NOT_SET and SEQ_EARLY, which the claim of progress catches: no sub-buffer
 * is opened any more. This model found two faults of the C source, which are kept as mutants:
 * REFERENCE_ONCE (an event counts as lost because of the commit count of a sub-buffer that the
 * reader exchanged meanwhile) and SEQ_MASKED (a spare's commit counts lack the bits above their
 * lap's; compared in all their bits, a delivery moves commit.seq to another lap once the write
 * count has passed half its range).
 *
 * Not modelled: bytes (a slot is 1 to 3 units of 4, or of 8 where peek needs room; its header
 * and payload are one flag); the clock, for which the write count stands, so neither last_cycles
 * nor 24-bit time stamps; the lost fields of packet headers; events that are too big; migration
 * (-EAGAIN); memory order (order.pml); how long the recorder waits. lull_publish() is one step;
 * where INTERRUPTED, it may leave run, physical and mark behind and fail.
 *
 * Bounds: two sub-buffers (SUBBUFS=4: four), counts of 4 or 5 bits that overflow; ENDLESS:
 * processes run for ever; else EVENTS_A and EVENTS_B events. WINDOWED, in endless
 * flight-recorder runs, bounds how far others overtake one operation, because the few bits of lap
 * here repeat where the 47 bits of C do not. The largest short run has 4 million states and takes
 * 4 s; the endless flight recorder, in the long form, more than 21 million.
 *
 * Defines: FLIGHT (flight recorder), PLAIN (any CPU writes), ENDLESS or EVENTS_A=n, EVENTS_B=n,
 * UNITS_B=n, HANDLER=n (runs; ENDLESS: in an operation) over writer A or HANDLER_READER, TAKES=n
 * (spares), PEEKS, SWITCHES=n, CRASH, INTERRUPTED=n, PREFILL=n (sub-buffers), NO_READER,
 * COMMIT_HIGH (commit counts begin in the upper half of their range).
 */
#ifndef SUBBUFS
#define SUBBUFS 2
#endif
#ifndef LAPS
#define LAPS 4
#endif
#ifndef START
#define START (BUFFER * (LAPS - 1))
#endif
#ifdef COMMIT_HIGH
#define COMMIT_START (count_commit_empty(START) + WORD / SUBBUFS)
#else
#define COMMIT_START count_commit_empty(START)
#endif
#ifndef UNITS_B
#define UNITS_B 1
#endif
#ifdef TAKES
#define SPARES TAKES
#else
#define SPARES 0
#endif
#ifdef EVENTS_B
#define WRITER_B 1
#else
#define WRITER_B 0
#endif
#ifdef HANDLER
#define HANDLERS 1
#else
#define HANDLERS 0
#endif
#ifdef SWITCHES
#define SWITCHERS 1
#else
#define SWITCHERS 0
#endif
#ifdef ENDLESS
#define PROCESSES 1
#else
#define PROCESSES (1 + WRITER_B + HANDLERS + SWITCHERS)
#endif

#include "words.pml"

bit handling; /* the handler runs, so what it interrupts does not */
byte handler_budget;
#ifdef INTERRUPTED
byte refusals = INTERRUPTED; /* restarts of lull_publish() that still come, without a cause */
#endif
#ifdef CRASH
bit killed; /* writer A dies before its next step */
#endif

#include "writer.pml"
#include "reader.pml"

#if defined(HANDLER) && !defined(HANDLER_READER)
#define INTERRUPTIBLE_WRITER provided (!handling)
#else
#define INTERRUPTIBLE_WRITER
#endif
#ifdef HANDLER_READER
#define INTERRUPTIBLE_READER provided (!handling)
#else
#define INTERRUPTIBLE_READER
#endif

proctype writer_a() INTERRUPTIBLE_WRITER
{
	WRITER;
	byte events = 0;

	{
		do
#ifdef ENDLESS
		:: true ->
#ifdef HANDLER
			handler_budget = HANDLER;
#endif
#else
		:: events < EVENTS_A ->
			events++;
#endif
			write_event(0, 1);
progress_a:	skip
#ifndef ENDLESS
		:: events == EVENTS_A -> break
#endif
		od;
		alive--
	}
#ifdef CRASH
	unless { atomic { killed -> dead = 1; alive-- } }
#endif
}

#ifdef EVENTS_B
proctype writer_b()
{
	WRITER;
	byte events = 0;

	do
#ifdef ENDLESS
	:: true ->
#else
	:: events < EVENTS_B ->
		events++;
#endif
		write_event(1, UNITS_B);
progress_b:	skip
#ifndef ENDLESS
	:: events == EVENTS_B -> break
#endif
	od;
	alive--
}
#endif

#ifdef HANDLER
/* Comes between any two steps of what it interrupts, which goes on when it is done. */
proctype handler()
{
	WRITER;

end:	do
	:: atomic { handler_budget > 0 -> handler_budget--; handling = 1 };
		write_event(1, 1);
		handling = 0
#ifndef ENDLESS
	:: handler_budget == 0 -> break
#endif
	od;
	alive--
}
#endif

#ifdef SWITCHES
/* The kernel's timer on the ring's CPU, or anyone on a plain ring. */
proctype switcher()
{
	WRITER;
	byte events = 0;

	do
#ifdef ENDLESS
	:: true ->
#else
	:: events < SWITCHES ->
		events++;
#endif
		force_switch();
progress_s:	skip
#ifndef ENDLESS
	:: events == SWITCHES -> break
#endif
	od;
	alive--
}
#endif

#ifdef CRASH
proctype killer()
{
	killed = 1
}
#endif

#ifndef NO_READER
proctype reader() INTERRUPTIBLE_READER
{
	READER;
	bit last; /* all others had ended before this round */

	do
	:: last = !alive;
#if defined(HANDLER_READER) && defined(ENDLESS)
		handler_budget = HANDLER;
#endif
		consume_full();
#ifdef TAKES
		if
		:: !ok && pool != 0 -> consume_taken()
		:: else
		fi;
		if
		:: quarantined != 0 -> settle()
		:: else
		fi;
#endif
#ifdef PEEKS
		if
		:: !ok && !last -> peek()
		:: else
		fi;
#endif
		if
		:: last && !ok -> break
		:: else -> ok = 0
		fi;
progress_r:	skip
	od;
	audit_end()
}
#endif

init {
	atomic {
		byte k = 0;
		do
		:: k < PHYSICAL ->
			commit_count[k] = COMMIT_START;
			commit_seq[k] = COMMIT_START;
			if
			:: k < SUBBUFS -> reference[k] = reference_state(START - BUFFER) | k
			:: else
			fi;
			k++
		:: else -> break
		od;
#ifdef PREFILL
		k = 0;
		do
		:: k < PREFILL ->
			DATA(k, 0) = MARK(1, 0, 0, write_count);
			DATA(k, 1) = EVENT | MARK(SUBBUF - 1, 1, 1, write_count);
			header_end[k] = (SUBBUF - 1) | STAMP(write_count);
			commit_count[k] = WRAP(commit_count[k] + SUBBUF);
			commit_seq[k] = commit_count[k];
			reference[k] = reference_state(write_count) | k;
			write_count = WRAP(write_count + SUBBUF);
			k++
		:: else -> break
		od;
#endif
		k = 0;
#if defined(HANDLER) && !defined(ENDLESS)
		handler_budget = HANDLER;
#endif
		run writer_a();
#ifdef EVENTS_B
		run writer_b();
#endif
#ifdef HANDLER
		run handler();
#endif
#ifdef SWITCHES
		run switcher();
#endif
#ifdef CRASH
		run killer();
#endif
#ifndef NO_READER
		run reader()
#endif
	}
}


#ifdef WAIT_FREE
/*
 * T 8.6.3's method: a writer that goes on being executed, whatever the others do or leave
 * undone, finishes one event after another.
 */
ltl wait_free { [] <> (_last == 1) -> [] <> writer_a@progress_a }
#endif
