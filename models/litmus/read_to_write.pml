/* SPDX-License-Identifier: MIT */
/*
 * Order carried through a read: the shapes WRC, R and S.
 *
 *	-DSHAPE_WRC	processor A	processor B	processor C
 *			alpha = 1	x = alpha	y = beta
 *					beta = 1	smp_rmb()
 *							z = alpha
 *		forbidden: x == 1 && y == 1 && z == 0: C sees B's store, which B made after it
 *		saw A's. B's store stays behind its load without OoOisched, and a store seen by B
 *		is seen by C: real POWER would need a barrier in B.
 *	-DSHAPE_R	processor A	processor B
 *			alpha = 1	beta = 2
 *			smp_wmb()	smp_mb()
 *			beta = 1	x = alpha
 *		forbidden: beta ends as 2 && x == 0. x86-TSO allows it without smp_mb(), and needs
 *		no smp_wmb(). T's write barrier and POWER both ask for the two.
 *	-DSHAPE_S	processor A	processor B
 *			alpha = 2	x = beta
 *			smp_wmb()	alpha = 1
 *			beta = 1
 *		forbidden: x == 1 && alpha ends as 2. x86-TSO forbids it without barriers.
 * At most 1,937 states, 0 seconds.
 */
#if defined(SHAPE_WRC)
#define CPUS 3
#else
#define CPUS 2
#endif
#define VARS 2
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

byte x, y, z;

#if defined(SHAPE_WRC)
#define FORBIDDEN (x == 1 && y == 1 && z == 0)
#define SEEN (x == 1 && y == 1 && z == 1)
#elif defined(SHAPE_R)
#define FORBIDDEN (mem[BETA] == 2 && x == 0)
#define SEEN (mem[BETA] == 2 && x == 1)
#elif defined(SHAPE_S)
#define FORBIDDEN (x == 1 && mem[ALPHA] == 2)
#define SEEN (x == 1 && mem[ALPHA] == 1)
#else
#error "define one of SHAPE_WRC, SHAPE_R, SHAPE_S"
#endif
#include "outcome.pml"

active proctype processor_A()
{
#ifdef SHAPE_WRC
	STORE(0, ALPHA, 1);
#else
#ifdef SHAPE_R
	STORE(0, ALPHA, 1);
#else
	STORE(0, ALPHA, 2);
#endif
#ifndef MUTANT_NO_WMB
	SMP_WMB(0);
#endif
	STORE(0, BETA, 1);
#endif
	END
}

active proctype processor_B()
{
#ifdef SHAPE_R
	STORE(1, BETA, 2);
#ifndef MUTANT_NO_MB
	SMP_MB(1);
#endif
	x = LOAD(1, ALPHA);
#elif defined(SHAPE_WRC)
	x = LOAD(1, ALPHA);
	STORE(1, BETA, 1);
#else
	x = LOAD(1, BETA);
	STORE(1, ALPHA, 1);
#endif
	END
}

#ifdef SHAPE_WRC
active proctype processor_C()
{
	y = LOAD(2, BETA);
#ifndef MUTANT_NO_RMB
	SMP_RMB(2);
#endif
	z = LOAD(2, ALPHA);
	END
}
#endif
