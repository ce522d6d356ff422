/* SPDX-License-Identifier: MIT */
/*
 * Coherence: of one word alone, all CPUs see the same order of stores, on every machine and
 * without barriers.
 *
 *	processor A	processor B	processor C
 *	alpha = 1	b_1 = alpha	c_1 = alpha
 *	alpha = 2	b_2 = alpha	alpha = 3
 *	a = alpha			c_2 = alpha
 *
 * CoWW: 1 does not replace 2.	CoRR: b_2 is not older than b_1.
 * CoWR: a is never 1 or 0.	CoRW: if C has read 2 and stores 3, the 3 stays.
 * With OoOisched a model has to make the second access to a word need the first.
 * At most 18,872 states, 0 seconds.
 */
#define CPUS 3
#define VARS 1
#include "../machine/machine.pml"
#define ALPHA 0

byte a, b_1, b_2, c_1, c_2;

#define CO_WW (mem[ALPHA] == 1 || mem[ALPHA] == 0)
#define CO_RR (b_1 == 2 && b_2 == 1 || b_1 != 0 && b_2 == 0)
#define CO_WR (a == 0 || a == 1 || c_2 == 0 || c_2 == c_1 && c_1 != 0)
#define CO_RW (c_1 == 2 && mem[ALPHA] == 2)
#define FORBIDDEN (CO_WW || CO_RR || CO_WR || CO_RW)
#define SEEN (b_1 == 1 && b_2 == 3 && a == 3 && mem[ALPHA] == 3)
#include "outcome.pml"

active proctype processor_A()
{
	STORE(0, ALPHA, 1);
	STORE(0, ALPHA, 2);
	a = LOAD(0, ALPHA);
	END
}

active proctype processor_B()
{
	b_1 = LOAD(1, ALPHA);
	b_2 = LOAD(1, ALPHA);
	END
}

active proctype processor_C()
{
	c_1 = LOAD(2, ALPHA);
	STORE(2, ALPHA, 3);
	c_2 = LOAD(2, ALPHA);
	END
}
