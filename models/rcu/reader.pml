/* SPDX-License-Identifier: MIT */
/*
 * The reader: without end, a section of two nested locks, then a section of one. The code of
 * successive sections may be reordered, so both are in one scheduling loop. Paper: T 7.6 (the
 * program), 6.4.3 and 6.4.4 (rcu_read_lock(), rcu_read_unlock()).
 *
 *	token	instruction			needs		only in
 *	GP	load GP				(nothing: speculation)
 *	LOCK	READER = GP + 1			GP, the READER stored before
 *	LOCK_MB	smp_mb()			all before	general
 *	LOCK2	READER = READER + 1		LOCK		NESTED
 *	PTR	load POINTER			(nothing)
 *	RMB	smp_read_barrier_depends()	PTR
 *	DATA	load ARENA[pointer]		PTR, RMB
 *	MB2	smp_mb()			all before	general, NESTED
 *	UNLOCK2	READER = READER - 1		LOCK2		NESTED
 *	UNLOCK_MB	smp_mb()		all before	general
 *	UNLOCK	READER = 0			the READER stored before
 *
 * Each instruction needs the barrier before it, too. The token of a barrier that is absent is there
 * from the beginning. The bits are in program order, so that a thread appears to execute
 * sequentially when its tokens, except those of absent barriers, have no hole: SEQUENTIAL.
 *
 * In C, UNLOCK leaves the phase behind, with a nesting of 0. No thread uses that phase, so UNLOCK
 * stores 0 here: fewer states.
 *
 * Only the reader writes READER, so its load, the branch on the nesting and the store are one step.
 * A handler on this thread restores READER's nesting, so it does not see the difference either.
 *
 * NESTED 0: the first section has one lock. SECTIONS 1: there is only the first.
 * LIGHT: rcu_read_lock() and rcu_read_unlock() have compiler barriers alone.
 *
 * A model that includes this (after updater.pml) defines READ_CPU and, if need be, READER_RUNS,
 * READER_STEPPED (as updater.pml) and READER_INTERRUPT (one more alternative: something that
 * interrupts the reader).
 */
#ifndef NESTED
#define NESTED 1
#endif
#ifndef SECTIONS
#define SECTIONS 2
#endif
#ifndef READER_RUNS
#define READER_RUNS true
#define READER_STEPPED skip
#endif

#define A_GP (1 << 0)
#define A_LOCK (1 << 1)
#define A_LOCK_MB (1 << 2)
#define A_LOCK2 (1 << 3)
#define A_PTR (1 << 4)
#define A_RMB (1 << 5)
#define A_DATA (1 << 6)
#define A_MB2 (1 << 7)
#define A_UNLOCK2 (1 << 8)
#define A_UNLOCK_MB (1 << 9)
#define A_UNLOCK (1 << 10)
#define A_ALL ((1 << 11) - 1)
#define B_GP (1 << 11)
#define B_LOCK (1 << 12)
#define B_LOCK_MB (1 << 13)
#define B_PTR (1 << 14)
#define B_RMB (1 << 15)
#define B_DATA (1 << 16)
#define B_UNLOCK_MB (1 << 17)
#define B_UNLOCK (1 << 18)
#define R_ALL ((1 << 19) - 1)

#if NESTED
#define R_NO_NESTING 0
#else
#define R_NO_NESTING (A_LOCK2 | A_MB2 | A_UNLOCK2)
#endif
#if SECTIONS == 2
#define R_NO_SECTION 0
#else
#define R_NO_SECTION (R_ALL & ~A_ALL)
#endif
#if defined(MUTANT_NO_RMB) || defined(NO_READ_BARRIER_DEPENDS)
#define R_NO_RMB (A_RMB | B_RMB)
#else
#define R_NO_RMB 0
#endif
#if defined(MUTANT_NO_LOCK_MB) || defined(LIGHT)
#define R_NO_LOCK_MB (A_LOCK_MB | B_LOCK_MB)
#else
#define R_NO_LOCK_MB 0
#endif
#if defined(MUTANT_NO_UNLOCK_MB) || defined(LIGHT)
#define R_NO_UNLOCK_MB (A_MB2 | A_UNLOCK_MB | B_UNLOCK_MB)
#else
#define R_NO_UNLOCK_MB 0
#endif
#define R_ABSENT (R_NO_NESTING | R_NO_SECTION | R_NO_RMB | R_NO_LOCK_MB | R_NO_UNLOCK_MB)

#define SEQUENTIAL ((tokens & (tokens + 1) & ~R_ABSENT) == 0)

#define R_STEP(needs, own) READER_RUNS && READY(tokens, needs, own)
#define R_DONE(own) PRODUCE_TOKENS(tokens, own); READER_STEPPED

#define A_BARRIERS A_LOCK_MB
#define A_BARRIERS_2 (A_BARRIERS | A_MB2)
#define A_BARRIERS_3 (A_BARRIERS_2 | A_UNLOCK_MB)
#define B_BARRIERS (A_BARRIERS_3 | B_LOCK_MB)
#define BEFORE(own) ((own) - 1)

#define READER_ADD(cpu, change) \
	word = LOAD(cpu, READER); STORE(cpu, READER, word change); word = 0

active proctype reader()
{
	int tokens = R_ABSENT;
	byte gp_a, gp_b, word;
	bit pointer_a, pointer_b;

	do
	:: atomic { R_STEP(0, A_GP) ->
		gp_a = LOAD(READ_CPU, GP); R_DONE(A_GP) }
	:: atomic { R_STEP(A_GP, A_LOCK) ->
		STORE(READ_CPU, READER, gp_a + 1); gp_a = 0; R_DONE(A_LOCK) }
	:: atomic { R_STEP(BEFORE(A_LOCK_MB), A_LOCK_MB) ->
		SMP_MB(READ_CPU); R_DONE(A_LOCK_MB) }
	:: atomic { R_STEP(A_LOCK | A_BARRIERS, A_LOCK2) ->
		READER_ADD(READ_CPU, + 1); R_DONE(A_LOCK2) }
	:: atomic { R_STEP(A_BARRIERS, A_PTR) ->
		pointer_a = LOAD(READ_CPU, POINTER); R_DONE(A_PTR) }
	:: atomic { R_STEP(A_PTR, A_RMB) ->
		SMP_RMB(READ_CPU); R_DONE(A_RMB) }
	:: atomic { R_STEP(A_PTR | A_RMB, A_DATA) ->
		READ_DATA(READ_CPU, pointer_a); R_DONE(A_DATA) }
	:: atomic { R_STEP(BEFORE(A_MB2), A_MB2) ->
		SMP_MB(READ_CPU); R_DONE(A_MB2) }
	:: atomic { R_STEP(A_LOCK2 | A_BARRIERS_2, A_UNLOCK2) ->
		READER_ADD(READ_CPU, - 1); R_DONE(A_UNLOCK2) }
	:: atomic { R_STEP(BEFORE(A_UNLOCK_MB), A_UNLOCK_MB) ->
		SMP_MB(READ_CPU); R_DONE(A_UNLOCK_MB) }
	:: atomic { R_STEP(A_LOCK | A_UNLOCK2 | A_BARRIERS_3, A_UNLOCK) ->
		STORE(READ_CPU, READER, 0); R_DONE(A_UNLOCK) }

	:: atomic { R_STEP(A_BARRIERS_3, B_GP) ->
		gp_b = LOAD(READ_CPU, GP); R_DONE(B_GP) }
	:: atomic { R_STEP(B_GP | A_UNLOCK | A_BARRIERS_3, B_LOCK) ->
		STORE(READ_CPU, READER, gp_b + 1); gp_b = 0; R_DONE(B_LOCK) }
	:: atomic { R_STEP(BEFORE(B_LOCK_MB), B_LOCK_MB) ->
		SMP_MB(READ_CPU); R_DONE(B_LOCK_MB) }
	:: atomic { R_STEP(B_BARRIERS, B_PTR) ->
		pointer_b = LOAD(READ_CPU, POINTER); R_DONE(B_PTR) }
	:: atomic { R_STEP(B_PTR, B_RMB) ->
		SMP_RMB(READ_CPU); R_DONE(B_RMB) }
	:: atomic { R_STEP(B_PTR | B_RMB, B_DATA) ->
		READ_DATA(READ_CPU, pointer_b); R_DONE(B_DATA) }
	:: atomic { R_STEP(BEFORE(B_UNLOCK_MB), B_UNLOCK_MB) ->
		SMP_MB(READ_CPU); R_DONE(B_UNLOCK_MB) }
	:: atomic { R_STEP(B_LOCK | B_BARRIERS | B_UNLOCK_MB, B_UNLOCK) ->
		STORE(READ_CPU, READER, 0); R_DONE(B_UNLOCK) }
	:: atomic { READER_RUNS && tokens == R_ALL -> tokens = R_ABSENT; READER_STEPPED }
#ifdef PROGRESS_READER
progress_reader:
		skip
#endif
#ifdef READER_INTERRUPT
	READER_INTERRUPT
#endif
	od
}
