/* SPDX-License-Identifier: MIT */
/*
 * Barriers that signals force on threads where the system has no membarrier. Paper: T 6.4.4 (figure
 * 6.9). Source: rcu/grace/host/barrier.c: rcu_grace_fence_heavy(), fence_by_signals(), answer(),
 * install_handler().
 *
 *	driver			thread		its handler		another domain's driver
 *	before = 1		word = 1	not wanted: end		no number: install
 *	fence			...		fence			send
 *	no number: install	load before	wanted = 0
 *	wanted = 1, send			fence
 *	wanted == 0?
 *	fence
 *	load word
 *
 * The handler runs between any two steps of the thread once the signal has been sent.
 *
 * Proved: either the driver sees the thread's word, or the thread sees what the driver stored
 * before the barrier (assertion); no signal is sent before a handler is installed, because such a
 * signal ends the process (assertion); the thread answers the driver (no deadlock).
 *
 * Mutants that an assertion catches: ASK_NO_FENCE (the driver's first fence), HEAR_NO_FENCE (its
 * last fence), ANSWER_NO_FIRST (the handler's first fence), INSTALL_RELAXED (the number of the
 * signal is stored without release), LOOK_RELAXED (the number is loaded without acquire). The
 * mutant ANSWER_NO_SECOND removes the handler's second fence and passes: neither the driver nor
 * any machine here needs it, because the thread's later reads follow the first fence.
 *
 * The kernel here promises less than any real one: a signal makes wanted visible and orders nothing
 * else, and the kernel's table of handlers is a word like any other.
 *
 * Not modelled: signals that the kernel refuses, threads that do not answer for a long time, the
 * futex on which the driver waits for the answer (here the driver blocks), several threads.
 * 3,000 states on TSO and POWER, 180,000 on ALPHA, 0.5 seconds.
 */
#define CPUS 3
#define THREAD 0
#define DRIVER 1
#define OTHER 2
#define BEFORE 0
#define WORD 1
#define WANTED 2
#define NUMBER 3
#define HANDLER 4
#define VARS 5
#include "../machine/machine.pml"

bit sent; /* the signal waits for the thread */
bit heard; /* the driver has been answered */
bit thread_missed, driver_missed;

#if defined(MACHINE_TSO)
#define land_wanted(cpu) barrier_(cpu)
#define fetch_wanted(cpu) skip
#elif defined(MACHINE_SC)
#define land_wanted(cpu) skip
#define fetch_wanted(cpu) skip
#else
#define land_wanted(cpu) if :: IS_DIRTY(cpu, WANTED) -> write_back_(cpu, WANTED) :: else fi
#ifdef MACHINE_ALPHA
#define fetch_wanted(cpu) if :: !IS_DIRTY(cpu, WANTED) -> fetch_(cpu, WANTED) :: else fi
#else
#define fetch_wanted(cpu) skip
#endif
#endif

inline answer()
{
	d_step { sent = 0; fetch_wanted(THREAD) };
	if
	:: LOAD(THREAD, WANTED) ->
#ifndef MUTANT_ANSWER_NO_FIRST
		SMP_MB(THREAD); /* [grace.answer:A] */
#endif
		STORE(THREAD, WANTED, 0);
#ifndef MUTANT_ANSWER_NO_SECOND
		SMP_MB(THREAD);
#endif
		skip
	:: else
	fi
}

inline perhaps_answer()
{
	if
	:: sent -> answer()
	:: true
	fi
}

active proctype thread()
{
	perhaps_answer();
	STORE(THREAD, WORD, 1);
	perhaps_answer();
	thread_missed = !LOAD(THREAD, BEFORE);
	do /* the thread runs on, and is interrupted sooner or later */
	:: sent -> answer()
	:: heard -> break
	od
}

inline install_handler(cpu)
{
	if
	:: atomic { number == 0 ->
		STORE(cpu, HANDLER, 1) }
#ifdef MUTANT_INSTALL_RELAXED
		STORE(cpu, NUMBER, 1)
#else
		STORE_RELEASE(cpu, NUMBER, 1) /* [grace.install:B] */
#endif
	:: else
	fi
}

inline look_at_number(cpu)
{
#ifdef MUTANT_LOOK_RELAXED
	number = LOAD(cpu, NUMBER)
#else
	LOAD_ACQUIRE(cpu, NUMBER, number) /* [grace.install:A] */
#endif
}

active proctype driver()
{
	bit number;

	STORE(DRIVER, BEFORE, 1);
#ifndef MUTANT_ASK_NO_FENCE
	SMP_MB(DRIVER); /* [grace.ask:A] */
#endif
	look_at_number(DRIVER);
	install_handler(DRIVER);
	STORE(DRIVER, WANTED, 1);
	d_step { land_wanted(DRIVER); assert(LOAD(DRIVER, HANDLER)); sent = 1 };
	atomic { LOAD(DRIVER, WANTED) == 0 -> heard = 1 };
#ifndef MUTANT_HEAR_NO_FENCE
	SMP_MB(DRIVER); /* [grace.ask:B] */
#endif
	atomic {
		driver_missed = !LOAD(DRIVER, WORD);
		number = 0
	}
}

/* Of another domain, with a thread of its own: all that matters is when it sends. */
active proctype other()
{
	bit number;

	look_at_number(OTHER);
	install_handler(OTHER);
	assert(LOAD(OTHER, HANDLER))
}

active proctype finish()
{
	atomic { timeout -> assert(!(thread_missed && driver_missed)) }
}
