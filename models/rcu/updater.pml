/* SPDX-License-Identifier: MIT */
/*
 * The updater: updates without end, each of which replaces the published entry, waits for a grace
 * period and reclaims the old entry. Paper: T 7.6 (the program), 6.4.3 (synchronize_rcu()).
 *
 *	token	instruction				needs, in program order
 *	DATA	ARENA[new] = GOOD
 *	WMB	smp_wmb()				DATA
 *	XCHG	POINTER = new, its old value is reclaimed	WMB
 *	MB1	smp_mb()				all before
 *	FLIP1	GP ^= PHASE				MB1
 *	WAIT1	is READER's section of the old phase?	MB1; the branch alone needs its result
 *	LOOP1	yes: smp_mb(), and WAIT1 again		all before
 *	FLIP2, WAIT2, LOOP2	the same for the second phase; FLIP2 needs WAIT1's branch
 *	MB2	smp_mb()				all before
 *	FREE	ARENA[old] = POISON			MB2
 *
 * A wait's load may run before the flip, or before the wait that precedes it: nothing but MB1
 * holds it back (T 6.4.3). A loop's barrier is behind a branch that was taken, so it clears the
 * token of a load that ran ahead of it. MB is only one token: RCU has full barriers alone.
 * The updater alone writes GP and POINTER, so the values that it would load from them are known.
 *
 * With IN_ORDER each instruction needs all before it: no instruction scheduling.
 *
 * A model that includes this defines UPDATER (its CPU), UPDATER_MB() and, if need be, UPDATER_RUNS
 * (it is not interrupted) and UPDATER_STEPPED (what it does after an instruction).
 */
#ifndef UPDATER_RUNS
#define UPDATER_RUNS true
#define UPDATER_STEPPED skip
#endif

#define U_DATA 1
#define U_WMB 2
#define U_XCHG 4
#define U_MB1 8
#define U_FLIP1 16
#define U_WAIT1 32
#define U_FLIP2 64
#define U_WAIT2 128
#define U_MB2 256
#define U_FREE 512
#define U_ALL 1023
#define U_UNTIL_FLIP1 (U_DATA | U_WMB | U_XCHG | U_MB1 | U_FLIP1)
#define U_UNTIL_FLIP2 (U_UNTIL_FLIP1 | U_WAIT1 | U_FLIP2)
#define U_AGAIN1 1024
#define U_AGAIN2 2048

/* The instructions that do not exist: their tokens are there from the beginning. */
#ifdef MUTANT_NO_MB
#define U_NO_MB (U_MB1 | U_MB2)
#else
#define U_NO_MB 0
#endif
#ifdef MUTANT_NO_WMB
#define U_NO_WMB U_WMB
#else
#define U_NO_WMB 0
#endif
#ifdef MUTANT_SINGLE_PHASE
#define U_NO_PHASE (U_FLIP2 | U_WAIT2)
#define PHASE_AT_BEGIN (update * PHASE)
#else
#define U_NO_PHASE 0
#define PHASE_AT_BEGIN 0
#endif
#define U_ABSENT (U_NO_MB | U_NO_WMB | U_NO_PHASE)
#define PHASE_1 (PHASE - PHASE_AT_BEGIN)
#define PHASE_2 PHASE_AT_BEGIN

#ifdef IN_ORDER
#define READY(tokens, needs, own) INSTRUCTION(tokens, (own) - 1, own)
#else
#define READY(tokens, needs, own) INSTRUCTION(tokens, needs, own)
#endif

#define U_STEP(needs, own) UPDATER_RUNS && READY(tokens, needs, own)
#define U_DONE(own) PRODUCE_TOKENS(tokens, own); UPDATER_STEPPED
#define U_CLEAR(cleared) tokens = (tokens & ~(cleared)) | U_ABSENT; UPDATER_STEPPED

/* States that a run must reach, or it proves little. */
#if defined(COVER_WAITED)
#define COVER_WAIT assert(!(tokens & U_FLIP2))
#define COVER_LOAD skip
#elif defined(COVER_SPECULATED)
#define COVER_WAIT skip
#define COVER_LOAD assert((tokens & U_FLIP1) || !(tokens & U_WAIT2))
#else
#define COVER_WAIT skip
#define COVER_LOAD skip
#endif

#define U_WAIT(wait, again, phase) \
	if \
	:: OLD_GP_ONGOING(LOAD(UPDATER, READER), phase) -> COVER_WAIT; U_DONE(again) \
	:: else -> U_DONE(wait) \
	fi

bit update; /* which of the two entries is the old one */

active proctype updater()
{
	short tokens = U_ABSENT;

#define NEW (1 - update)
#define OLD update
	do
	:: atomic { U_STEP(0, U_DATA) ->
		STORE(UPDATER, ARENA + NEW, GOOD(NEW)); U_DONE(U_DATA) }
	:: atomic { U_STEP(U_DATA, U_WMB) ->
		SMP_WMB(UPDATER); U_DONE(U_WMB) }
	:: atomic { U_STEP(U_WMB, U_XCHG) ->
		STORE(UPDATER, POINTER, NEW); U_DONE(U_XCHG) }
	:: atomic { U_STEP(U_DATA | U_WMB | U_XCHG, U_MB1) ->
		UPDATER_MB(); U_DONE(U_MB1) }

	:: atomic { U_STEP(U_WMB | U_MB1, U_FLIP1) ->
		STORE(UPDATER, GP, PHASE_1); U_DONE(U_FLIP1) }
	:: atomic { U_STEP(U_MB1, U_WAIT1) && !(tokens & U_AGAIN1) ->
		COVER_LOAD; U_WAIT(U_WAIT1, U_AGAIN1, PHASE_1) }
#ifdef MUTANT_NO_LOOP_MB
	:: atomic { U_STEP(U_MB1, U_WAIT1) && (tokens & U_AGAIN1) -> U_CLEAR(U_AGAIN1) }
#else
	:: atomic { U_STEP(U_UNTIL_FLIP1, U_WAIT1) && (tokens & U_AGAIN1) ->
		UPDATER_MB(); U_CLEAR(U_AGAIN1 | U_WAIT2 | U_AGAIN2) }
#endif

	:: atomic { U_STEP(U_FLIP1 | U_WAIT1, U_FLIP2) ->
		STORE(UPDATER, GP, PHASE_2); U_DONE(U_FLIP2) }
	:: atomic { U_STEP(U_MB1, U_WAIT2) && !(tokens & U_AGAIN2) ->
		U_WAIT(U_WAIT2, U_AGAIN2, PHASE_2) }
#ifdef MUTANT_NO_LOOP_MB
	:: atomic { U_STEP(U_WAIT1, U_WAIT2) && (tokens & U_AGAIN2) -> U_CLEAR(U_AGAIN2) }
#else
	:: atomic { U_STEP(U_UNTIL_FLIP2, U_WAIT2) && (tokens & U_AGAIN2) ->
		UPDATER_MB(); U_CLEAR(U_AGAIN2) }
#endif

	:: atomic { U_STEP(U_ALL & ~(U_MB2 | U_FREE), U_MB2) ->
		UPDATER_MB(); U_DONE(U_MB2) }
	:: atomic { U_STEP(U_WMB | U_WAIT1 | U_WAIT2 | U_MB2, U_FREE) ->
		STORE(UPDATER, ARENA + OLD, POISON(OLD)); U_DONE(U_FREE) }
	:: atomic { UPDATER_RUNS && tokens == U_ALL -> U_CLEAR(U_ALL); update = 1 - update }
#ifdef PROGRESS_UPDATER
progress_updater:
		skip
#endif
	od
}
