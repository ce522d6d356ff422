/* SPDX-License-Identifier: MIT */
/*
 * RCU with sys_membarrier() where T 6.4.4 has signals: the barrier reaches the reader's CPU at
 * any time between the call and its return, and the reader cannot delay it.
 *
 *	reader				updater
 *	reader.pml with LIGHT		each of updater.pml's smp_mb() is HEAVY_BEGIN, HEAVY_END
 *
 * Proved, as in general.pml, whose mutants these are. Instructions run in program order (IN_ORDER),
 * because a heavy barrier of machine.pml does not depend on tokens; signal.pml has the reader out
 * of order, and covers this system call too.
 * Not modelled: a reader's CPU on which another thread runs (the system's switch has a barrier).
 * Updater progress assumes that the system call returns (the claim's left side).
 * Bounds: as general.pml's. 59 thousand states, under 1 s; updater progress 346 thousand, 3 s.
 */
#define IN_ORDER
#define CPUS 2
#define READ_CPU 0
#define UPDATER 1
#include "words.pml"
#define UPDATER_MB() HEAVY_BEGIN(UPDATER); HEAVY_END(UPDATER)
#include "updater.pml"
#define LIGHT
#include "reader.pml"

#ifdef PROGRESS_UPDATER
ltl updater_progress {
	([] <> (heavy_wanted[UPDATER] == 0)) -> (([] <> (update == 0)) && ([] <> (update == 1)))
}
#endif
