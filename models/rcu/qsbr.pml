/* SPDX-License-Identifier: MIT */
/*
 * RCU by quiescent states. Paper: T 6.4.2, figures 6.4 and 6.5; T has no model of it.
 *
 *	reader						updater
 *	thread_online(): load CTR, store QS = CTR + 1,	new entry; smp_wmb(); publish;
 *	smp_mb(); read; quiescent_state(): smp_mb(),	synchronize_rcu(): smp_mb(); CTR += 2;
 *	load CTR, store QS = CTR + 1, smp_mb(); read;	wait while QS is odd and before CTR;
 *	thread_offline(): smp_mb(), load CTR, store	smp_mb(); reclaim the old entry
 *	QS = CTR
 *
 * Both are scheduled out of order over out-of-order memory. Proved, as in general.pml: the reader
 * never sees reclaimed or unpublished data, and each thread progresses. Each mutant removes one
 * barrier; the runs of expect-beyond.toml say which machine shows it.
 *
 * The reader's loop begins at its second section, so that going offline and online again is within
 * one scheduling loop. The end of the loop orders the second barrier of quiescent_state() with what
 * follows, so only ALPHA shows NO_QUIESCENT_MB2. The updater's loop has a full barrier where T has
 * barrier() and poll(), for memory that may keep an old line for ever (T 7.6).
 *
 * COUNTER_OVERFLOWS: a counter so small that it advances more than half its range while a reader is
 * preempted in thread_online(): the failure that T 6.4.2 foretells of 32 bits.
 * Not modelled: more readers, the mutex.
 * Bounds: 3 updates, for the counter must not overflow; two entries. 45 thousand states, under
 * 1 s; progress 100 thousand, 1 s.
 */
#define CPUS 2
#define READ_CPU 0
#define UPDATER 1
#define CTR 0
#define QS 1
#define POINTER 2
#define ARENA 3
#define VARS 5
#include "../machine/machine.pml"
#include "../machine/ooisched.pml"

#define GOOD(entry) (entry)
#define POISON(entry) (1 - (entry))
#ifndef UPDATES
#define UPDATES 3
#endif
#ifdef COUNTER_OVERFLOWS
#define COUNTER 8
#else
#define COUNTER 128
#endif
/* Signed, as C has it: the difference of two counters that may have overflowed. */
#define IS_BEFORE(a, b) (((a) - (b) + COUNTER) % COUNTER >= COUNTER / 2)
#define GP_ONGOING(qs, ctr) (((qs) & 1) && IS_BEFORE(qs, ctr))

#define U_DATA 1
#define U_WMB 2
#define U_XCHG 4
#define U_MB1 8
#define U_COUNT 16
#define U_WAIT 32
#define U_MB2 64
#define U_FREE 128
#define U_ALL 255
#define U_AGAIN 256
#define U_UNTIL_COUNT (U_DATA | U_WMB | U_XCHG | U_MB1 | U_COUNT)

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
#define U_ABSENT (U_NO_MB | U_NO_WMB)

#define STEP(needs, own) INSTRUCTION(tokens, needs, own)
#define DONE(own) PRODUCE_TOKENS(tokens, own)
#define NEW (1 - (update & 1))
#define OLD (update & 1)
#define NEXT_COUNT ((2 * update + 2) % COUNTER)

active proctype updater()
{
	short tokens = U_ABSENT;
	byte update;

	do
	:: atomic { STEP(0, U_DATA) ->
		STORE(UPDATER, ARENA + NEW, GOOD(NEW)); DONE(U_DATA) }
	:: atomic { STEP(U_DATA, U_WMB) ->
		SMP_WMB(UPDATER); DONE(U_WMB) }
	:: atomic { STEP(U_WMB, U_XCHG) ->
		STORE(UPDATER, POINTER, NEW); DONE(U_XCHG) }
	:: atomic { STEP(U_DATA | U_WMB | U_XCHG, U_MB1) ->
		SMP_MB(UPDATER); DONE(U_MB1) }
	:: atomic { STEP(U_WMB | U_MB1, U_COUNT) ->
		STORE(UPDATER, CTR, NEXT_COUNT); DONE(U_COUNT) }
	:: atomic { STEP(U_MB1, U_WAIT) && !(tokens & U_AGAIN) ->
		if
		:: GP_ONGOING(LOAD(UPDATER, QS), NEXT_COUNT) -> DONE(U_AGAIN)
		:: else -> DONE(U_WAIT)
		fi }
#ifdef MUTANT_NO_LOOP_MB
	:: atomic { STEP(U_MB1, U_WAIT) && (tokens & U_AGAIN) ->
		CLEAR_TOKENS(tokens, U_AGAIN) }
#else
	:: atomic { STEP(U_UNTIL_COUNT, U_WAIT) && (tokens & U_AGAIN) ->
		SMP_MB(UPDATER); CLEAR_TOKENS(tokens, U_AGAIN) }
#endif
	:: atomic { STEP(U_ALL & ~(U_MB2 | U_FREE), U_MB2) ->
		SMP_MB(UPDATER); DONE(U_MB2) }
	:: atomic { STEP(U_WMB | U_WAIT | U_MB2, U_FREE) ->
		STORE(UPDATER, ARENA + OLD, POISON(OLD)); DONE(U_FREE) }
	:: atomic { tokens == U_ALL ->
		tokens = U_ABSENT;
		update++;
		if
		:: update == UPDATES -> tokens = 0; break
		:: else
		fi }
#ifdef PROGRESS_UPDATER
progress_update:
		skip
#endif
	od
#ifdef PROGRESS_UPDATER
	do
	:: update == UPDATES ->
progress_updated:
		skip
	od
#endif
}

#define A_PTR (1 << 0)
#define A_RMB (1 << 1)
#define A_DATA (1 << 2)
#define OFF_MB (1 << 3)
#define OFF_CTR (1 << 4)
#define OFF_QS (1 << 5)
#define ON_CTR (1 << 6)
#define ON_QS (1 << 7)
#define ON_MB (1 << 8)
#define B_PTR (1 << 9)
#define B_RMB (1 << 10)
#define B_DATA (1 << 11)
#define QS_MB1 (1 << 12)
#define QS_CTR (1 << 13)
#define QS_STORE (1 << 14)
#define QS_MB2 (1 << 15)
#define R_ALL ((1 << 16) - 1)
#define UNTIL_OFFLINE (A_PTR | A_RMB | A_DATA | OFF_MB | OFF_CTR | OFF_QS)

#ifdef MUTANT_NO_RMB
#define R_NO_RMB (A_RMB | B_RMB)
#else
#define R_NO_RMB 0
#endif
#ifdef MUTANT_NO_OFFLINE_MB
#define R_NO_OFF_MB OFF_MB
#else
#define R_NO_OFF_MB 0
#endif
#ifdef MUTANT_NO_ONLINE_MB
#define R_NO_ON_MB ON_MB
#else
#define R_NO_ON_MB 0
#endif
#ifdef MUTANT_NO_QUIESCENT_MB1
#define R_NO_QS_MB1 QS_MB1
#else
#define R_NO_QS_MB1 0
#endif
#ifdef MUTANT_NO_QUIESCENT_MB2
#define R_NO_QS_MB2 QS_MB2
#else
#define R_NO_QS_MB2 0
#endif
#define R_ABSENT (R_NO_RMB | R_NO_OFF_MB | R_NO_ON_MB | R_NO_QS_MB1 | R_NO_QS_MB2)
#define BEFORE(own) ((own) - 1)
/* The barriers before a section's loads, or before the counter is loaded. */
#define TO_OFFLINE OFF_MB
#define TO_SECTION_B (OFF_MB | ON_MB)
#define TO_QUIESCENT (TO_SECTION_B | QS_MB1)

#define READ_DATA(pointer) \
	assert(LOAD(READ_CPU, ARENA + pointer) != POISON(pointer)); pointer = 0

active proctype reader()
{
	int tokens = R_ABSENT | UNTIL_OFFLINE;
	byte off_ctr, on_ctr, qs_ctr;
	bit pointer_a, pointer_b;

	do
	:: atomic { STEP(0, A_PTR) ->
		pointer_a = LOAD(READ_CPU, POINTER); DONE(A_PTR) }
	:: atomic { STEP(A_PTR, A_RMB) ->
		SMP_RMB(READ_CPU); DONE(A_RMB) }
	:: atomic { STEP(A_PTR | A_RMB, A_DATA) ->
		READ_DATA(pointer_a); DONE(A_DATA) }

	:: atomic { STEP(BEFORE(OFF_MB), OFF_MB) ->
		SMP_MB(READ_CPU); DONE(OFF_MB) }
	:: atomic { STEP(TO_OFFLINE, OFF_CTR) ->
		off_ctr = LOAD(READ_CPU, CTR); DONE(OFF_CTR) }
	:: atomic { STEP(TO_OFFLINE | OFF_CTR, OFF_QS) ->
		STORE(READ_CPU, QS, off_ctr); off_ctr = 0; DONE(OFF_QS) }

	:: atomic { STEP(TO_OFFLINE, ON_CTR) ->
		on_ctr = LOAD(READ_CPU, CTR); DONE(ON_CTR) }
	:: atomic { STEP(TO_OFFLINE | OFF_QS | ON_CTR, ON_QS) ->
		STORE(READ_CPU, QS, on_ctr + 1); on_ctr = 0; DONE(ON_QS) }
	:: atomic { STEP(BEFORE(ON_MB), ON_MB) ->
		SMP_MB(READ_CPU); DONE(ON_MB) }

	:: atomic { STEP(TO_SECTION_B, B_PTR) ->
		pointer_b = LOAD(READ_CPU, POINTER); DONE(B_PTR) }
	:: atomic { STEP(B_PTR, B_RMB) ->
		SMP_RMB(READ_CPU); DONE(B_RMB) }
	:: atomic { STEP(B_PTR | B_RMB, B_DATA) ->
		READ_DATA(pointer_b); DONE(B_DATA) }

	:: atomic { STEP(BEFORE(QS_MB1), QS_MB1) ->
		SMP_MB(READ_CPU); DONE(QS_MB1) }
	:: atomic { STEP(TO_QUIESCENT, QS_CTR) ->
		qs_ctr = LOAD(READ_CPU, CTR); DONE(QS_CTR) }
	:: atomic { STEP(TO_QUIESCENT | ON_QS | QS_CTR, QS_STORE) ->
		STORE(READ_CPU, QS, qs_ctr + 1); qs_ctr = 0; DONE(QS_STORE) }
	:: atomic { STEP(BEFORE(QS_MB2), QS_MB2) ->
		SMP_MB(READ_CPU); DONE(QS_MB2) }
	:: atomic { tokens == R_ALL -> tokens = R_ABSENT }
#ifdef PROGRESS_READER
progress_reader:
		skip
#endif
	od
}
