/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers that read, at every step of a reader or of an updater, with the word of the
 * thread that they interrupt. Paper: T 7.6 (tables 7.5, 7.6). Source: as period.pml and sleep.pml.
 *
 *	handler		interrupted thread		updater
 *	enter		enter | read | leave,		replace, synchronize, reclaim;
 *	read		or an updater			the driver sleeps
 *	leave
 *
 * The thread does not run while the handler does. On TSO and SC a full store is one instruction;
 * on POWER and ALPHA a handler can run between the store and its fence, so nested sections have a
 * fence of their own there (LULL_MEM_STORE_FULL_DIVISIBLE).
 * A QSBR thread's handlers read after it is online and before it goes offline.
 *
 * Proved: the assertions of actors.pml, and no deadlock.
 *
 * Mutants that an assertion catches: ENTER_NESTED_PLAIN (a nested section has no fence of its own);
 * COUNTER_RELAXED (rcu_reader_quiescent() loads the counter without acquire). This model found the
 * latter in the source: on ALPHA, a handler in rcu_reader_quiescent(), between the store and the
 * fence, loaded the old pointer after the reader had stored the new counter to its word.
 *
 * -D: RUNS of the handler, SECTIONS, UPDATES; OVER_UPDATER; the flavours.
 * Not modelled: a handler that interrupts a handler; any order that the kernel adds to a signal.
 * 80,000 to 550,000 states, 0.2 to 1.2 seconds. Partial-order reduction is off: SPIN's reduction
 * is not sound where one process blocks another, as a handler does.
 */
#ifndef SECTIONS
#define SECTIONS 1
#endif
#ifndef UPDATES
#define UPDATES 1
#endif
#ifndef RUNS
#define RUNS 1
#endif
#ifdef OVER_UPDATER
#define READERS 2 /* a thread, and the updater's own thread, which only its handlers read in */
#define OVER 1
#define OWN(cpu) ((cpu) == 1 -> 2 : 0)
#else
#define READERS 1
#define OVER 0
#define OWN(cpu) 0
#endif
#define CPUS 2
#define TSO_DEPTH 4
#define SLEEP
#include "words.pml"
#define VARS ACTORS_END
#include "../machine/machine.pml"
#include "reader.pml"
#include "grace.pml"
#include "actors.pml"

bit interrupted; /* a handler runs on the CPU of the thread that it came over */
#ifdef FLAVOUR_QSBR
bit reading_is_allowed; /* from after the reader is online until before it goes offline */
#define MAY_READ reading_is_allowed
#else
#define MAY_READ true
#endif
#ifdef OVER_UPDATER
#define UPDATER_RUNS provided (!interrupted)
#define READER_RUNS
#else
#define UPDATER_RUNS
#define READER_RUNS provided (!interrupted)
#endif

proctype reader(byte self) READER_RUNS
{
	byte word, slot, left_sections = SECTIONS;

#ifdef FLAVOUR_QSBR
	online(self, self);
	reading_is_allowed = 1;
#endif
	do
	:: left_sections > 0 ->
		section(self, self);
#ifdef FLAVOUR_QSBR
		quiescent(self, self);
#endif
		left_sections--
	:: else -> break
	od;
#ifdef FLAVOUR_QSBR
	reading_is_allowed = 0;
	offline(self, self);
#endif
	skip
}

proctype updater(byte self) UPDATER_RUNS
{
	byte target, seen, look, old;
	bit advanced;

	do
	:: old < UPDATES -> replace(self); synchronize(self); reclaim(self); old++
	:: else -> break
	od
}

proctype handler()
{
	byte word, slot, runs = RUNS;

	do
	:: atomic { runs > 0 && MAY_READ -> interrupted = 1 };
#ifdef COVER_NESTED
		assert(!(LOAD(OVER, WORD(OVER)) & NEST_MASK));
#endif
		section(OVER, OVER);
		atomic { interrupted = 0; runs-- }
	:: break
	od
}

init
{
	atomic {
		d_step { SET_UP(COUNTER, 1) };
		linked = (1 << READERS) - 1;
		run reader(0);
		run updater(1);
		run handler()
	}
}
