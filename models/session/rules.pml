/* SPDX-License-Identifier: MIT */
/*
 * Rules that change, as shipped: two copies, and a sequence whose lowest bit says which one holds.
 * Rust: tools/session Memory::change_rules(), write_rules(). C: user/rules.c copy_fill(),
 * lull_session_rules_copy(); user/filters.c set_program(), set_find(). Paper: T 4.6.1.
 *
 *	recorder                          | a process                       | its probe
 *	the copy that does not hold       | the sequence [session.rules:B]  |
 *	the sequence [session.rules:A],   | that copy, into private memory  |
 *	  then a full barrier             | the sequence again, unchanged?  |
 *	                                  |   [session.rules:C]; else again |
 *	                                  | link a program                  |
 *	                                  | its address [filter.replace:A]  | the address
 *	                                  |                                 |   [filter.run:A]
 *	                                  |                                 | the program
 *
 * A copy is two words, both of which have the number of the change that wrote them. The recorder
 * may stop for ever at any step, as one that is killed does.
 *
 * Proved, by assertions: what a process takes over is the whole of one change, and that of the
 * sequence; a process that copies after the recorder was killed is not held up; a probe runs
 * programs that are written. Mutants that an assertion catches: RULES_EARLY (the sequence is stored
 * before the rules), RULES_RELAXED (without release), RULES_READ_RELAXED (it is read without
 * acquire; ALPHA shows this), RULES_ONCE (it is not read again), PROGRAM_RELAXED,
 * PROGRAM_READ_RELAXED (the same for a program's address).
 *
 * Bounds: CHANGES changes, as many looks at them.
 */
#define CPUS 3
#define VARS 8
#define SEQUENCE 0
#define FIRST(which) (1 + (which))
#define SECOND(which) (3 + (which))
#define ADDRESS 5
#define PROGRAM(number) (5 + (number))
#include "../machine/machine.pml"

#define CHANGES 2
#ifdef COVER_AGAIN
#define COVER_CHANGED assert(false)
#else
#define COVER_CHANGED skip
#endif

inline sequence_set(number)
{
#if defined(MUTANT_RULES_RELAXED)
	STORE(0, SEQUENCE, number) /* [session.rules:A] */
#else
	STORE_RELEASE(0, SEQUENCE, number); /* [session.rules:A] */
	SMP_MB(0)
#endif
}

active proctype recorder()
{
	byte number = 1;

	do
	:: number <= CHANGES ->
#ifdef MUTANT_RULES_EARLY
		sequence_set(number);
#endif
		STORE(0, FIRST(number & 1), number);
		STORE(0, SECOND(number & 1), number);
#ifndef MUTANT_RULES_EARLY
		sequence_set(number);
#endif
		number++
	:: true -> break
	od
}

active proctype process()
{
	byte sequence, first, second, found, looks;

	do
	:: looks == CHANGES -> break
	:: looks < CHANGES ->
#ifdef MUTANT_RULES_READ_RELAXED
		sequence = LOAD(1, SEQUENCE); /* [session.rules:B] */
#else
		LOAD_ACQUIRE(1, SEQUENCE, sequence); /* [session.rules:B] */
#endif
		first = LOAD(1, FIRST(sequence & 1));
		second = LOAD(1, SECOND(sequence & 1));
#ifdef MUTANT_RULES_ONCE
		found = sequence;
#else
		CAS(1, SEQUENCE, sequence, sequence, found); /* [session.rules:C] */
#endif
		if
		:: found != sequence -> COVER_CHANGED
		:: else ->
			assert(first == sequence && second == sequence);
			if
			:: sequence ->
				STORE(1, PROGRAM(sequence), 1);
#ifdef MUTANT_PROGRAM_RELAXED
				STORE(1, ADDRESS, sequence) /* [filter.replace:A] */
#else
				STORE_RELEASE(1, ADDRESS, sequence) /* [filter.replace:A] */
#endif
			:: else
			fi
		fi;
		looks++
	od
}

active proctype probe()
{
	byte address, program;

	do
	:: true ->
#ifdef MUTANT_PROGRAM_READ_RELAXED
		address = LOAD(2, ADDRESS); /* [filter.run:A] */
#else
		LOAD_ACQUIRE(2, ADDRESS, address); /* [filter.run:A] */
#endif
		if
		:: address ->
			program = LOAD(2, PROGRAM(address));
			assert(program)
		:: else
		fi
	:: true -> break
	od
}
