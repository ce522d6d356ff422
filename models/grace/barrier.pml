/* SPDX-License-Identifier: MIT */
/*
 * Barriers forced on threads by signals, where there is no membarrier. Paper: T 6.4.4 (figure
 * 6.9). Source: rcu/grace/barrier.c: rcu_grace_fence_heavy(), fence_by_signals(), answer(),
 * install_handler().
 *
 *	driver			thread		its handler		another domain's driver
 *	before = 1		word = 1	wanted? else nothing	number? else install
 *	fence			...		fence			send
 *	number? else install	load before	wanted = 0
 *	wanted = 1, send			fence
 *	wanted == 0?
 *	fence
 *	load word
 *
 * The handler runs between any two steps of the thread once the signal has been sent.
 * Properties, as assertions:
 *	the driver misses the thread's word, or the thread what was before the barrier; not both
 *	no signal is sent while nothing handles it: it would end the process
 *	the driver is answered: no deadlock
 *
 * The kernel is weaker here than any: a signal makes sure that wanted is seen and orders nothing
 * else, and its table of handlers is a word like others.
 * The second fence of the answer is missed by no machine here, nor does the driver need it: the
 * run with ANSWER_NO_SECOND passes. The thread's later reads follow the first one.
 *
 * Not modelled: refused signals, threads that do not answer for long, the futex of the answer
 * (the driver looks again and again; it does so here by blocking), several threads.
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
