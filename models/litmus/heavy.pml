/* SPDX-License-Identifier: MIT */
/*
 * Light and heavy barriers: each of two processors stores a word and then loads the other's. At
 * least one of them sees the other's store, although only one pays for a barrier. Paper: B 4.4,
 * T 6.4.4's idea with sys_membarrier(). Two heavy barriers run at once.
 *
 *	processor A		processor B		processor C
 *	alpha = 1		beta = 1		gamma = 1
 *	light: nothing		heavy			heavy
 *	a_b, a_c = beta, gamma	b_a, b_c = alpha, gamma	c_a, c_b = alpha, beta
 *
 * ONE_HEAVY makes C light too: then A and C, both light, may both load the old value, but of each
 * of them and B at least one sees the other. Up to 19,794 states, 0 seconds.
 */
#define CPUS 3
#define VARS 3
#define READS(cpu, v) ((cpu) != (v))
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1
#define GAMMA 2

byte a_b, a_c, b_a, b_c, c_a, c_b;

#define MISSED_A_B (a_b == 0 && b_a == 0)
#define MISSED_A_C (a_c == 0 && c_a == 0)
#define MISSED_B_C (b_c == 0 && c_b == 0)
#ifdef ONE_HEAVY
#define FORBIDDEN (MISSED_A_B || MISSED_B_C)
#else
#define FORBIDDEN (MISSED_A_B || MISSED_A_C || MISSED_B_C)
#endif
#define SEEN (MISSED_A_C && !MISSED_A_B && !MISSED_B_C)
#include "outcome.pml"

active proctype processor_A()
{
	STORE(0, ALPHA, 1);
	a_b = LOAD(0, BETA);
	a_c = LOAD(0, GAMMA);
	END
}

active proctype processor_B()
{
	STORE(1, BETA, 1);
#ifndef MUTANT_NO_HEAVY
	HEAVY_BEGIN(1);
	HEAVY_END(1);
#endif
	b_a = LOAD(1, ALPHA);
	b_c = LOAD(1, GAMMA);
	END
}

active proctype processor_C()
{
	STORE(2, GAMMA, 1);
#if !defined(ONE_HEAVY) && !defined(MUTANT_ONE_LEFT_LIGHT)
	HEAVY_BEGIN(2);
	HEAVY_END(2);
#endif
	c_a = LOAD(2, ALPHA);
	c_b = LOAD(2, BETA);
	END
}
