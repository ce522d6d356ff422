/* SPDX-License-Identifier: MIT */
/*
 * 2+2W: two processors store to the same two words in opposite orders; the first stores of both
 * cannot both be the values that remain.
 *
 *	processor A		processor B
 *	alpha = 1		beta = 1
 *	smp_wmb()		smp_wmb()
 *	beta = 2		alpha = 2
 *
 * x86-TSO forbids the outcome without barriers. T's write barrier is smp_wmb(); the weaker one
 * of BARRIERS_ORDER_ONLY orders as much.
 * At most 400 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

#define FORBIDDEN (mem[ALPHA] == 1 && mem[BETA] == 1)
#include "outcome.pml"

inline writer(cpu, first, second)
{
	STORE(cpu, first, 1);
#ifndef MUTANT_NO_WMB
	SMP_WMB(cpu);
#endif
	STORE(cpu, second, 2);
	END
}

active proctype processor_A()
{
	writer(0, ALPHA, BETA)
}

active proctype processor_B()
{
	writer(1, BETA, ALPHA)
}
