/* SPDX-License-Identifier: MIT */
/*
 * RCU with signals: readers have compiler barriers alone, and the updater forces barriers on
 * them. Paper: T 7.6, tables 7.3 (ALPHA) and 7.4 (POWER); 6.4.4, figures 6.8 to 6.10. A forced
 * interrupt, as sys_membarrier() sends, is the same case: a thread takes it too where it appears to
 * execute in order.
 *
 *	reader				its signal handler		updater
 *	reader.pml with LIGHT		smp_mb();			each of its smp_mb() is
 *					need_mb = 0			smp_mb(); need_mb = 1;
 *									wait for 0; smp_mb()
 *
 * The reader's instructions may be reordered as their data allows, because a compiler barrier does
 * not restrain the processor. The handler runs where all instructions before one are done and none
 * after it: SEQUENTIAL (reader.pml). NO_BARRIER, without compiler barriers: it runs anywhere.
 *
 * Proved, as in general.pml, whose mutants these are.
 *
 * A store to need_mb is visible at once, because the system delivers it. The handler's two barriers
 * are one, which leaves lines older than two would. The updater blocks until need_mb is 0.
 * Progress assumes that a signal is delivered at some time (the claim's left side), and that a
 * thread executes at least one instruction between two signals. Without the latter, an updater
 * that polls by signals can keep the reader that it waits for from ever running (the run with
 * FLOOD shows it).
 * Bounds: as general.pml's. 1.5 million states, 4 s; reader progress 2.8 million, 20 s; updater
 * progress with NESTED=0, SECTIONS=1 (T simplifies likewise) 210 thousand, 3 s.
 */
#define CPUS 2
#define READ_CPU 0
#define UPDATER 1
#include "words.pml"

bit need_mb; /* a signal is on its way to the reader */

#define UPDATER_MB() SMP_MB(UPDATER); need_mb = 1; need_mb == 0 -> SMP_MB(UPDATER)
#include "updater.pml"

#define LIGHT
#if (defined(PROGRESS_READER) || defined(PROGRESS_UPDATER)) && !defined(FLOOD)
bit stepped; /* since the last signal */
#define READER_RUNS true
#define READER_STEPPED stepped = 1
#define INTERRUPTIBLE stepped
#define READER_INTERRUPTED stepped = 0
#else
#define INTERRUPTIBLE true
#define READER_INTERRUPTED skip
#endif
#ifdef MUTANT_NO_BARRIER
#define INTERRUPTED_AT true
#else
#define INTERRUPTED_AT SEQUENTIAL
#endif
#define READER_INTERRUPT \
	:: atomic { need_mb && INTERRUPTED_AT && INTERRUPTIBLE -> \
		SMP_MB(READ_CPU); need_mb = 0; READER_INTERRUPTED }
#include "reader.pml"

#ifdef PROGRESS_UPDATER
ltl updater_progress {
	([] <> (need_mb == 0)) -> (([] <> (update == 0)) && ([] <> (update == 1)))
}
#endif
