/* SPDX-License-Identifier: MIT */
/*
 * Independent reads of independent writes (IRIW): two readers agree on the order of two stores
 * by two others.
 *
 *	processor A	processor B	processor C	processor D
 *	alpha = 1	beta = 1	c_1 = alpha	d_1 = beta
 *					smp_rmb()	smp_rmb()
 *					c_2 = beta	d_2 = alpha
 *
 * The opposite is forbidden on every machine here, because all CPUs see a store at once when it has
 * left its CPU. x86, ARMv8 and Alpha promise that. Real POWER does not: there each reader needs a
 * full barrier, so these machines prove nothing for POWER about an algorithm that needs this order.
 * Without smp_rmb() only ALPHA's caches allow the outcome; POWER would with OoOisched.
 * At most 9,416 states, 0 seconds.
 */
#define CPUS 4
#define VARS 2
#define READS(cpu, v) ((cpu) > 1)
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

byte c_1, c_2, d_1, d_2;

#define FORBIDDEN (c_1 == 1 && c_2 == 0 && d_1 == 1 && d_2 == 0)
#define SEEN (c_1 == 1 && c_2 == 0 && d_1 == 1)
#include "outcome.pml"

inline reader(cpu, first, first_read, second, second_read)
{
	first_read = LOAD(cpu, first);
#ifndef MUTANT_NO_RMB
	SMP_RMB(cpu);
#endif
	second_read = LOAD(cpu, second);
	END
}

active proctype processor_A()
{
	STORE(0, ALPHA, 1);
	END
}

active proctype processor_B()
{
	STORE(1, BETA, 1);
	END
}

active proctype processor_C()
{
	reader(2, ALPHA, c_1, BETA, c_2)
}

active proctype processor_D()
{
	reader(3, BETA, d_1, ALPHA, d_2)
}
