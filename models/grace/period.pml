/* SPDX-License-Identifier: MIT */
/*
 * The guarantee of grace periods: what a section may hold is not reclaimed before the section
 * has ended. Paper: T 6.4.2-6.4.4, 7.6 (equation 7.1); ADR 0009. Source: rcu/grace/grace.c,
 * rcu/include/lull/rcu/domain.h; in statements: grace.pml, reader.pml.
 *
 *	reader			updater			other (UPDATERS=2)
 *	enter: word = counter	write the new element
 *	load the pointer	publish it
 *	read the element	synchronize		synchronize
 *	leave: word - 1		reclaim the old one
 *	SECTIONS times		UPDATES times		once
 *
 * -D: READERS 1-2, UPDATERS 1-2, SECTIONS, UPDATES; FLAVOUR_MEMB, _SIGNAL (heavy barriers for
 * readers only), _FULL, _QSBR; TWO_PHASES (words of 32 bits); NESTED (a section within the first),
 * REGISTERS (readers come and go), VISITS (for each section), POLLED, EXPEDITED; SLEEP (the driver
 * sleeps; else it spins), SPURIOUS; ARENA, MARKS: see actors.pml.
 *
 * Proved: the assertions of actors.pml, and that all processes come to their end.
 *
 * Mutants that an assertion catches: BEGIN_NO_FENCE, FLIP_EARLY, END_EARLY, ENTER_NO_LIGHT,
 * ENTER_FULL_LIGHT, ONLINE_LIGHT, QUIESCENT_LIGHT, SNAP_NO_FENCE, SNAP_RUNNING and ONE_PHASE, which
 * port/sched/mutants.h describes; LEAVE_RELAXED and LEAVE_FULL_RELAXED, by MARKS; DONE_RELAXED (a
 * poll loads seq without acquire); ASSIGN_RELAXED and DEREFERENCE_RELAXED of actors.pml.
 *
 * The mutants ENTER_RELAXED, SCAN_RELAXED, END_RELAXED and RETURN_NO_FENCE each remove the order of
 * one label and pass, because no machine here needs it:
 *	enter:A	all machines keep stores to one word in order, so leave:A suffices
 *	scan:A	full operations follow in end() and synchronize(); a thread that learns of the
 *		end from seq alone acquires that, and what one CPU has seen all CPUs see
 *	end:A	a store waits for the branch that leads to it; and as for scan:A
 *	return:A	as for scan:A: a store that one CPU has seen all CPUs see
 * C11 promises none of the four, so the source keeps them. schedule.pml also catches the removal of
 * leave:A, by the section's loads.
 *
 * Not modelled: see grace.pml. One pointer is read; the second updater stands for callers that
 * share or begin grace periods, whatever they reclaim. TSO: 4 stores on their way.
 * Light, 2 sections, 2 updates: 25,000 states on TSO, 80,000 on ALPHA, 0.3 seconds. Two updaters:
 * 0.2 to 1.1 million, 1 to 5 seconds.
 */
#ifndef READERS
#define READERS 1
#endif
#ifndef UPDATERS
#define UPDATERS 1
#endif
#ifndef SECTIONS
#define SECTIONS 2
#endif
#ifndef UPDATES
#define UPDATES 2
#endif
#define CPUS (READERS + UPDATERS)
#define TSO_DEPTH 4
#define CPUS_OF_THEIR_OWN
#include "words.pml"
#define VARS ACTORS_END
#include "../machine/machine.pml"
#include "reader.pml"
#define OWN(cpu) 0
#include "grace.pml"

#include "actors.pml"

proctype reader(byte self)
{
	byte word, slot, left_sections = SECTIONS;

#ifdef REGISTERS
	link_reader(self, self);
#endif
#ifdef FLAVOUR_QSBR
	online(self, self);
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
	offline(self, self);
#endif
#ifdef REGISTERS
	unlink_reader(self, self);
#endif
	skip
}

/* The only one that replaces the element. */
proctype updater(byte self)
{
	byte target, seen, look, old;
	bit advanced;

	do
	:: old < UPDATES ->
		replace(self);
#ifdef POLLED
		start(self);
		do
		:: advanced -> break
		:: else -> poll(self)
		od;
		target = 0; advanced = 0;
#elif defined(EXPEDITED)
		synchronize_expedited(self);
#else
		synchronize(self);
#endif
		reclaim(self);
		old++
	:: else -> break
	od
}

#if UPDATERS > 1
/* Begins a grace period that the updater may find under way. */
proctype other(byte self)
{
	byte target, seen, look;
	bit advanced;

	synchronize(self)
}
#endif

init
{
	atomic {
#ifdef ARENA
		d_step { SET_UP(DATA(0), LIVE) };
#endif
		d_step { SET_UP(COUNTER, 1) };
#if !defined(REGISTERS) && !defined(VISITS)
		linked = (1 << READERS) - 1;
#endif
		run reader(0);
#if READERS > 1
		run reader(1);
#endif
		run updater(READERS);
#if UPDATERS > 1
		run other(READERS + 1);
#endif
	}
}
