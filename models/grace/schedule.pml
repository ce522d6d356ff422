/* SPDX-License-Identifier: MIT */
/*
 * Light sections that are executed out of order (OoOisched). Paper: T 7.5, 7.6 (tables 7.3, 7.4).
 * Source: rcu_reader_enter_light(), rcu_reader_leave_light() of rcu/include/lull/rcu/domain.h.
 *
 *	instruction	needs, beside the values that it computes with
 *	LOOK		nothing but earlier acquires
 *	ENTER		release: all accesses of the section before
 *	HOLD		nothing but earlier acquires: it may run before ENTER
 *	READ		HOLD
 *	LEAVE		release: ENTER, HOLD, READ
 *
 * A light fence orders nothing for the processor. It fixes the program order, and thereby where
 * a heavy barrier can arrive: where execution appears to be in program order (T 7.6). Without the
 * fence (mutant ENTER_NO_LIGHT) the compiler may place HOLD before ENTER, and a barrier may arrive
 * between the two. Two sections follow each other, so that instructions of the second can run
 * before the end of the first.
 *
 * Proved, by the assertions of actors.pml; each element is read through the machine's memory,
 * poison included. An assertion catches BEGIN_NO_FENCE, FLIP_EARLY, ENTER_NO_LIGHT, LEAVE_RELAXED
 * and ONE_PHASE, which port/sched/mutants.h describes. ENTER_RELAXED, the store of ENTER without
 * release, passes: LEAVE of the section before is a release, and stores to one word stay in order.
 *
 * -D: UPDATES, FLAVOUR_MEMB, FLAVOUR_SIGNAL, TWO_PHASES. The updater runs in program order, and
 * spins. Not modelled: nested sections, marks (period.pml), the load of waited (sleep.pml), full
 * fences of readers out of order.
 * 14,000 states on POWER, 120,000 on ALPHA, 0.3 seconds.
 */
#define READERS 1
#define ARENA
#ifndef UPDATES
#define UPDATES 2
#endif
#define CPUS 2
#include "words.pml"
#define VARS ACTORS_END

int tokens; /* of the reader's CPU, 0 */
#include "../machine/ooisched.pml"
#define HEAVY_WHEN(cpu) ((cpu) != 0 || IN_PROGRAM_ORDER(tokens))
#include "../machine/machine.pml"
#include "reader.pml"
#define OWN(cpu) 0
#include "grace.pml"
#include "actors.pml"

#define PROD_NONE (1 << 0)
#define LOOK_1 (1 << 1) /* at counter */
#ifdef MUTANT_ENTER_NO_LIGHT
#define HOLD_1 (1 << 2)
#define ENTER_1 (1 << 3)
#else
#define ENTER_1 (1 << 2)
#define HOLD_1 (1 << 3)
#endif
#define READ_1 (1 << 4)
#define LEAVE_1 (1 << 5)
#define LOOK_2 (1 << 6)
#ifdef MUTANT_ENTER_NO_LIGHT
#define HOLD_2 (1 << 7)
#define ENTER_2 (1 << 8)
#else
#define ENTER_2 (1 << 7)
#define HOLD_2 (1 << 8)
#endif
#define READ_2 (1 << 9)
#define LEAVE_2 (1 << 10)
#define ALL ((1 << 11) - 1)

/* Stores to one word stay in order everywhere; a release adds all loads and stores before it. */
#ifdef MUTANT_ENTER_RELAXED
#define ENTER_2_NEEDS (LOOK_2 | LEAVE_1)
#else
#define ENTER_2_NEEDS (LOOK_2 | LEAVE_1 | ENTER_1 | HOLD_1 | READ_1)
#endif
#ifdef MUTANT_LEAVE_RELAXED
#define LEAVE_1_NEEDS ENTER_1
#define LEAVE_2_NEEDS ENTER_2
#else
#define LEAVE_1_NEEDS (ENTER_1 | HOLD_1 | READ_1)
#define LEAVE_2_NEEDS (ENTER_2 | HOLD_2 | READ_2 | LEAVE_1_NEEDS | LEAVE_1)
#endif

inline store_word(x)
{
	STORE_RELEASE(0, WORD(0), x)
}

inline look_at_element(held)
{
	assert(!((reclaimed >> held) & 1));
	assert(LOAD(0, DATA(held)) == LIVE)
}

proctype reader()
{
	byte word_1, word_2, slot_1, slot_2;

	PRODUCE_TOKENS(tokens, PROD_NONE);
	do
	:: atomic { INSTRUCTION(tokens, PROD_NONE, LOOK_1) ->
		word_1 = LOAD(0, COUNTER);
		PRODUCE_TOKENS(tokens, LOOK_1) }
	:: atomic { INSTRUCTION(tokens, LOOK_1, ENTER_1) ->
		store_word(word_1); /* [grace.enter:A], then [grace.enter:B] */
		word_1 = 0;
		PRODUCE_TOKENS(tokens, ENTER_1) }
	:: atomic { INSTRUCTION(tokens, PROD_NONE, HOLD_1) ->
		LOAD_ACQUIRE(0, PTR, slot_1);
		assert(!((reclaimed >> slot_1) & 1));
		PRODUCE_TOKENS(tokens, HOLD_1) }
	:: atomic { INSTRUCTION(tokens, HOLD_1, READ_1) ->
		look_at_element(slot_1);
		slot_1 = 0;
		PRODUCE_TOKENS(tokens, READ_1) }
	:: atomic { INSTRUCTION(tokens, LEAVE_1_NEEDS, LEAVE_1) ->
		store_word(0); /* [grace.leave:A] */
		PRODUCE_TOKENS(tokens, LEAVE_1) }
	:: atomic { INSTRUCTION(tokens, HOLD_1 | LOOK_1, LOOK_2) ->
		word_2 = LOAD(0, COUNTER);
		PRODUCE_TOKENS(tokens, LOOK_2) }
	:: atomic { INSTRUCTION(tokens, ENTER_2_NEEDS, ENTER_2) ->
		store_word(word_2); /* [grace.enter:A], then [grace.enter:B] */
		word_2 = 0;
		PRODUCE_TOKENS(tokens, ENTER_2) }
	:: atomic { INSTRUCTION(tokens, HOLD_1, HOLD_2) ->
		LOAD_ACQUIRE(0, PTR, slot_2);
		assert(!((reclaimed >> slot_2) & 1));
		PRODUCE_TOKENS(tokens, HOLD_2) }
	:: atomic { INSTRUCTION(tokens, HOLD_2, READ_2) ->
		look_at_element(slot_2);
		slot_2 = 0;
		PRODUCE_TOKENS(tokens, READ_2) }
	:: atomic { INSTRUCTION(tokens, LEAVE_2_NEEDS, LEAVE_2) ->
		store_word(0); /* [grace.leave:A] */
		PRODUCE_TOKENS(tokens, LEAVE_2) }
	:: atomic { tokens == ALL -> CLEAR_TOKENS(tokens, ALL); break }
	od
}

proctype updater(byte self)
{
	byte target, seen, look, old;
	bit advanced;

	do
	:: old < UPDATES -> replace(self); synchronize(self); reclaim(self); old++
	:: else -> break
	od
}

init
{
	atomic {
		d_step { SET_UP(DATA(0), LIVE) };
		d_step { SET_UP(COUNTER, 1) };
		linked = 1;
		run reader();
		run updater(1)
	}
}
