/* SPDX-License-Identifier: MIT */
/*
 * A heavy barrier reaches a processor that runs out of order. It arrives by an interrupt: the
 * instructions before it in the program have been executed and those after it have not (T 7.6).
 *
 *	processor A		processor B
 *	alpha = 1		beta = 1
 *	light: nothing		heavy
 *	x = beta		y = alpha
 *
 * A's two instructions need nothing of each other. MUTANT_ARRIVES_ANYWHERE lets the barrier
 * arrive when the load has been executed and the store has not; then both may load 0, and an
 * assertion catches it. At most 280 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/ooisched.pml"
byte tokens[2]; /* of A; B's stays 0, for it runs in program order */
#ifndef MUTANT_ARRIVES_ANYWHERE
#define HEAVY_WHEN(cpu) IN_PROGRAM_ORDER(tokens[cpu])
#endif
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

#define PROD_NONE (1 << 0)
#define WRITE (1 << 1)
#define READ (1 << 2)
#define ALL (PROD_NONE | WRITE | READ)

byte x, y;

#define FORBIDDEN (x == 0 && y == 0)
#include "outcome.pml"

active proctype processor_A()
{
	PRODUCE_TOKENS(tokens[0], PROD_NONE);
	do
	:: atomic { INSTRUCTION(tokens[0], PROD_NONE, WRITE) ->
		STORE(0, ALPHA, 1);
		PRODUCE_TOKENS(tokens[0], WRITE) }
	:: atomic { INSTRUCTION(tokens[0], PROD_NONE, READ) ->
		x = LOAD(0, BETA);
		PRODUCE_TOKENS(tokens[0], READ) }
	:: CONSUME_TOKENS(tokens[0], ALL, 0) ->
		CLEAR_TOKENS(tokens[0], ALL);
		break
	od;
	END
}

active proctype processor_B()
{
	STORE(1, BETA, 1);
#ifndef MUTANT_NO_HEAVY
	HEAVY_BEGIN(1);
	HEAVY_END(1);
#endif
	y = LOAD(1, ALPHA);
	END
}
