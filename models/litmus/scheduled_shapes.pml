/* SPDX-License-Identifier: MIT */
/*
 * Two processors of two accesses each, executed out of order: what a dependency orders and what a
 * partial barrier orders. Paper: T 7.5.1; T 7.7 for lwsync.
 *
 *	-DSHAPE_...	processor A	processor B	forbidden
 *	MP		alpha = 1	x = beta	x == 1 && y == 0
 *			beta = 1	y = alpha
 *	SB		alpha = 1	beta = 1	x == 0 && y == 0
 *			x = beta	y = alpha
 *	LB		x = alpha	y = beta	x == 1 && y == 1
 *			beta = 1	alpha = 1
 *
 *	-DORDER_...
 *	NONE		nothing: all three are allowed
 *	DEPENDENCY	the second access needs the first: a branch between a load and a store, or
 *			an address. For LB, which it forbids: no store before its branch is taken
 *	LWSYNC		as T 7.7 builds it: a read barrier that needs earlier loads and that later
 *			loads and stores need, and a write barrier that needs earlier stores and
 *			that later stores need. Nothing keeps a load behind a store: SB is allowed
 * Load buffering needs this scheduler: in program order no machine here allows it.
 * The published POWER model agrees on MP, SB and LB under lwsync. 200 to 700 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/ooisched.pml"
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1
#define A_LOAD 0
#define A_STORE 1

#define PROD_NONE (1 << 0)
#define FIRST (1 << 1)
#define RMB (1 << 2)
#define WMB (1 << 3)
#define SECOND (1 << 4)
#define ALL (PROD_NONE | FIRST | RMB | WMB | SECOND)

#if defined(ORDER_LWSYNC)
#if defined(MUTANT_NO_RMB_PART)
#define INJECTED RMB
#elif defined(MUTANT_NO_WMB_PART)
#define INJECTED WMB
#else
#define INJECTED 0
#endif
#define SECOND_NEEDS(kind) (PROD_NONE | RMB | ((kind) == A_STORE) * WMB)
#elif defined(ORDER_DEPENDENCY)
#define INJECTED (RMB | WMB)
#define SECOND_NEEDS(kind) (PROD_NONE | FIRST)
#elif defined(ORDER_NONE)
#define INJECTED (RMB | WMB)
#define SECOND_NEEDS(kind) PROD_NONE
#else
#error "define one of ORDER_NONE, ORDER_DEPENDENCY, ORDER_LWSYNC"
#endif

byte pa_tokens, pb_tokens;
byte a_first, a_second, b_first, b_second; /* what was loaded, 0 from a store */

#if defined(SHAPE_MP)
#define FORBIDDEN (b_first == 1 && b_second == 0)
#elif defined(SHAPE_SB)
#define FORBIDDEN (a_second == 0 && b_second == 0)
#elif defined(SHAPE_LB)
#define FORBIDDEN (a_first == 1 && b_first == 1)
#else
#error "define one of SHAPE_MP, SHAPE_SB, SHAPE_LB"
#endif
#include "outcome.pml"

inline access(cpu, kind, v, result)
{
	if
	:: kind == A_STORE -> STORE(cpu, v, 1)
	:: else -> result = LOAD(cpu, v)
	fi
}

inline processor(cpu, tokens, first_kind, first_v, first, second_kind, second_v, second)
{
	PRODUCE_TOKENS(tokens, PROD_NONE | INJECTED);
	do
	:: atomic { INSTRUCTION(tokens, PROD_NONE, FIRST) ->
		access(cpu, first_kind, first_v, first);
		PRODUCE_TOKENS(tokens, FIRST) }
	:: atomic { INSTRUCTION(tokens, PROD_NONE | (first_kind == A_LOAD) * FIRST, RMB) ->
		SMP_RMB(cpu);
		PRODUCE_TOKENS(tokens, RMB) }
	:: atomic { INSTRUCTION(tokens, PROD_NONE | (first_kind == A_STORE) * FIRST, WMB) ->
		SMP_WMB(cpu);
		PRODUCE_TOKENS(tokens, WMB) }
	:: atomic { INSTRUCTION(tokens, SECOND_NEEDS(second_kind), SECOND) ->
		access(cpu, second_kind, second_v, second);
		PRODUCE_TOKENS(tokens, SECOND) }
	:: CONSUME_TOKENS(tokens, ALL, 0) ->
		CLEAR_TOKENS(tokens, ALL);
		break
	od;
	END
}

active proctype processor_A()
{
#if defined(SHAPE_MP)
	processor(0, pa_tokens, A_STORE, ALPHA, a_first, A_STORE, BETA, a_second)
#elif defined(SHAPE_SB)
	processor(0, pa_tokens, A_STORE, ALPHA, a_first, A_LOAD, BETA, a_second)
#else
	processor(0, pa_tokens, A_LOAD, ALPHA, a_first, A_STORE, BETA, a_second)
#endif
}

active proctype processor_B()
{
#if defined(SHAPE_MP)
	processor(1, pb_tokens, A_LOAD, BETA, b_first, A_LOAD, ALPHA, b_second)
#elif defined(SHAPE_SB)
	processor(1, pb_tokens, A_STORE, BETA, b_first, A_LOAD, ALPHA, b_second)
#else
	processor(1, pb_tokens, A_LOAD, BETA, b_first, A_STORE, ALPHA, b_second)
#endif
}
