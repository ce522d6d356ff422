/* SPDX-License-Identifier: MIT */
/*
 * A section in a signal handler, which interrupts a reader (OVER_READER) or the updater
 * (OVER_UPDATER, no other reader) between any two of its instructions. Paper: T 7.6, 7.6.3,
 * tables 7.5 and 7.6.
 *
 *	interrupted thread		handler, on its CPU		updater (over a reader)
 *	reader.pml, or updater.pml,	load READER; nesting 0: store	updater.pml
 *	in program order: IN_ORDER	GP + 1, smp_mb(); else store
 *					READER + 1; load POINTER,
 *					smp_rmb(), load ARENA, smp_mb(),
 *					store READER - 1
 *
 * DELIVERY_MB: the operating system, which is called before a handler, has a full barrier. The
 * published result needs it. Without it, T's rcu_read_lock() (figure 6.6) fails: a handler that
 * runs between the outermost lock's store and its smp_mb() finds a nesting of 1, so has no
 * barrier itself, and may read while no other CPU can see that this thread is in a section.
 * NESTED_LOCK_MB, a barrier in nested locks as well, is safe whatever the system does.
 *
 * Mutants: those of general.pml. With OVER_UPDATER they pass, because handler and updater share a
 * CPU. NO_UNLOCK_MB is left to general.pml: that barrier keeps a section's loads before the store
 * that ends it, and instructions run in program order here.
 *
 * Not modelled: instruction scheduling; a handler in a handler. Handlers may follow each other
 * without end; where progress is claimed, at least one instruction runs between two of them.
 * Bounds: none, each thread loops. 554 thousand states, 1 s; progress 1.3 million, 8 s.
 */
#define IN_ORDER
#ifdef OVER_UPDATER
#define CPUS 1
#define READ_CPU 0
#define UPDATER 0
#else
#define CPUS 2
#define READ_CPU 0
#define UPDATER 1
#endif
#include "words.pml"

bit handler_runs;
#if defined(PROGRESS_READER) || defined(PROGRESS_UPDATER)
bit stepped; /* since the last handler */
#define STEPPED stepped = 1
#define INTERRUPTIBLE stepped
#define INTERRUPTED stepped = 0
#else
#define STEPPED skip
#define INTERRUPTIBLE true
#define INTERRUPTED skip
#endif

#ifdef DELIVERY_MB
#define DELIVERY() SMP_MB(READ_CPU)
#else
#define DELIVERY() skip
#endif

#ifdef OVER_UPDATER
#define UPDATER_RUNS !handler_runs
#define UPDATER_STEPPED STEPPED
#endif
#define UPDATER_MB() SMP_MB(UPDATER)
#include "updater.pml"

#ifdef OVER_READER
#define READER_RUNS !handler_runs
#define READER_STEPPED STEPPED
#include "reader.pml"
#endif

/* One section, with the reader's nesting as it finds it. */
active proctype handler()
{
	byte word, gp;
	bit pointer;

end_handler:
	do
	:: atomic { INTERRUPTIBLE -> INTERRUPTED; handler_runs = 1; DELIVERY() };
		word = LOAD(READ_CPU, READER);
		if
		:: NESTING(word) == 0 ->
			gp = LOAD(READ_CPU, GP);
			atomic { STORE(READ_CPU, READER, gp + 1); gp = 0; word = 0 };
#ifndef MUTANT_NO_LOCK_MB
			SMP_MB(READ_CPU)
#endif
		:: else ->
#ifdef COVER_NESTED
			assert(word != 2);
#endif
			atomic { STORE(READ_CPU, READER, word + 1); word = 0 };
#ifdef NESTED_LOCK_MB
			SMP_MB(READ_CPU)
#endif
		fi;
		pointer = LOAD(READ_CPU, POINTER);
#ifndef MUTANT_NO_RMB
		SMP_RMB(READ_CPU);
#endif
		atomic { READ_DATA(READ_CPU, pointer) };
#ifndef MUTANT_NO_UNLOCK_MB
		SMP_MB(READ_CPU);
#endif
		word = LOAD(READ_CPU, READER);
		atomic {
			if
			:: NESTING(word) == 1 -> STORE(READ_CPU, READER, 0)
			:: else -> STORE(READ_CPU, READER, word - 1)
			fi;
			word = 0;
			handler_runs = 0
		}
#if defined(PROGRESS_READER) && defined(OVER_UPDATER)
progress_handler:
		skip
#endif
	od
}
