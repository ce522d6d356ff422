/* SPDX-License-Identifier: MIT */
/*
 * No thread sleeps for ever: the driver's futex, the callers' futex, and the threads that wake
 * them. Paper: T 6.4.2-6.4.4, 7.6 (progress). Source: rcu/grace/grace.c: sleep_for_readers(),
 * sleep_for_driver(), drive(), end(), rcu_domain_reader_left(), rcu_grace_unlink(); invariant I3.
 *
 *	reader			driver			another caller	poll
 *	word = 0		seen = left		seen = ended	ends the grace
 *	light fence		waited = 1		unlock		period, wakes
 *	waited? waited = 0	heavy fence		compare, sleep	all
 *	  left + 1, wake	word still old?		lock
 *				  unlock		driven? ...
 *				  compare, sleep
 *
 * The kernel compares a futex word with its queue locked, and a wake finds every thread in the
 * queue. When a wake-up is lost, no process can move and one is not at a valid end: SPIN reports
 * "deadlock".
 *
 * -D: READERS 1-2, UPDATERS 1-2, POLLERS 0-1, SECTIONS (quiescent states with FLAVOUR_QSBR),
 * UPDATES; the flavours and TWO_PHASES as in period.pml;
 *	STAYS		the QSBR reader is quiescent until the updaters have ended; it blocks while
 *			a quiescent state of it would change nothing
 *	ENDS		the reader's thread ends within a section
 *	VISITS		the reader is registered for the time of each section
 *	EXPEDITED	the poller spins for a grace period instead
 *	SPURIOUS	sleepers may awake without cause: for the assertions, as it hides deadlocks
 *	STOPPED		updaters stop at any step, and go on only when no other process can: until
 *			then readers must have ended. So readers never wait for an updater
 *	ENDLESS		readers and updaters go on for ever; READER_PROGRESS, UPDATER_PROGRESS: with
 *			weak fairness sections, or grace periods, end again and again. On SC alone
 *
 * Proved: I2 at each release of the lock, that no thread drives, sleeps or is asleep once
 * all have ended, and that no visitor stays registered (assertions); no deadlock; progress. That a
 * section takes a bounded number of steps of its own is visible in reader.pml, which has no loop.
 *
 * Mutants. A deadlock shows CLEAR_LATE, SLEEP_NO_FENCE, END_NO_WAKE, DRIVE_NO_WAKE, UNLINK_NO_WAKE,
 * PHASE_NO_WAKE, LEAVE_NO_LIGHT, LEAVE_FULL_LIGHT, QUIESCENT_LIGHT and OFFLINE_LIGHT, which
 * port/sched/mutants.h describes. The claim of progress catches WAIT_FOR_NEW: a driver that also
 * waits for sections that begin after its grace period has begun. An assertion catches
 * VISITOR_CLEARED.
 *
 * Not modelled: see grace.pml; elements, which are period.pml's.
 * 2 sections, 2 updates: 21,000 states on TSO, 45,000 on ALPHA, 0.1 seconds. A driver, a sleeper
 * and a poll on SC: 1 million, 2 seconds. Progress: 0.7 million, 5 seconds.
 */
#ifndef READERS
#define READERS 1
#endif
#ifndef UPDATERS
#define UPDATERS 1
#endif
#ifndef POLLERS
#define POLLERS 0
#endif
#ifndef SECTIONS
#define SECTIONS 1
#endif
#ifndef UPDATES
#define UPDATES 1
#endif
#define CPUS (READERS + UPDATERS + POLLERS)
#define TSO_DEPTH 4
#define SLEEP
#define CPUS_OF_THEIR_OWN
#include "words.pml"
#define VARS FREE_VARS
#include "../machine/machine.pml"

byte updaters_left = UPDATERS + POLLERS;
#ifdef STOPPED
bit stopped;
byte readers_left = READERS;
#define MAY_RUN provided (!stopped)
#else
#define MAY_RUN
#endif
#define OWN(cpu) 0

#include "reader.pml"
#include "grace.pml"

#if defined(FLAVOUR_FULL)
#define enter(cpu, r) enter_full(cpu, r)
#define leave(cpu, r) leave_full(cpu, r)
#elif defined(VISITS)
#define enter(cpu, r) enter_visiting(cpu, r)
#define leave(cpu, r) leave_light(cpu, r)
#else
#define enter(cpu, r) enter_light(cpu, r)
#define leave(cpu, r) leave_light(cpu, r)
#endif

/* thread.c's thread_exit(), of a thread that ends within a section. */
inline end_within(cpu, r)
{
	enter(cpu, r);
	STORE_RELEASE(cpu, WORD(r), 0);
	unlink_reader(cpu, r)
}

inline read(cpu, r)
{
#if defined(FLAVOUR_QSBR)
	quiescent(cpu, r)
#else
	enter(cpu, r);
	leave(cpu, r)
#endif
}

proctype reader(byte self)
{
	byte word, slot;
#ifndef ENDLESS
	byte count = SECTIONS;
#endif

#ifdef FLAVOUR_QSBR
	online(self, self);
#endif
	do
#if defined(ENDLESS)
	:: read(self, self);
#ifdef READER_PROGRESS
progress:
#endif
		skip
#elif defined(STAYS)
	/* Else quiescent states are nothing: two loads of what has not changed. */
	:: LOAD(self, COUNTER) != LOAD(self, WORD(self)) -> read(self, self)
	:: updaters_left == 0 -> break
#else
	:: count > 0 -> read(self, self); count--
	:: else -> break
#endif
	od;
#ifdef ENDS
	end_within(self, self);
#endif
#ifdef FLAVOUR_QSBR
	offline(self, self);
#endif
#ifdef VISITS
	assert(!((linked >> self) & 1));
#endif
#ifdef STOPPED
	readers_left--
#else
	skip
#endif
}

inline finish()
{
	atomic {
		updaters_left--;
		assert(updaters_left > 0 || (!driven && !driver_asleep && !sleepers))
	}
}

proctype updater(byte self) MAY_RUN
{
	byte target, seen, look;
	bit advanced;
#ifdef ENDLESS
	do
	:: synchronize(self);
#ifdef UPDATER_PROGRESS
progress:
#endif
		skip
	od
#else
	byte count = UPDATES;

	do
	:: count > 0 -> synchronize(self); count--
	:: else -> break
	od;
	finish()
#endif
}

#if POLLERS
proctype poller(byte self) MAY_RUN
{
	byte target, look;
	bit advanced;

#ifdef EXPEDITED
	synchronize_expedited(self);
#else
	start(self);
	poll(self);
	target = 0;
#endif
	advanced = 0;
	finish()
}
#endif

#ifdef STOPPED
active proctype stopper()
{
	stopped = 1;
	atomic { timeout -> assert(readers_left == 0); stopped = 0 }
}
#endif

init
{
	byte self;

	atomic {
		d_step { SET_UP(COUNTER, 1) };
#ifndef VISITS
		linked = (1 << READERS) - 1;
#endif
		for (self : 0 .. READERS - 1) { run reader(self) }
		for (self : READERS .. READERS + UPDATERS - 1) { run updater(self) }
#if POLLERS
		run poller(READERS + UPDATERS);
#endif
		self = 0
	}
}
