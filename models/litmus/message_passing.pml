/* SPDX-License-Identifier: MIT */
/*
 * Message passing, the litmus test of T 7.4.2: a processor that sees the second store sees the
 * first.
 *
 *	processor A		processor B
 *	alpha = 1		x = beta
 *	smp_wmb()		smp_rmb()
 *	beta = 1		y = alpha
 *
 * Without an order of its own (-DRELEASE and the like) it is the thesis's. The other orders are
 * a release store for A, or an addition that is one, and an acquire load for B.
 * TSO forbids the outcome with no barrier at all, as the published x86-TSO does: stores land
 * in order and loads are executed in order. POWER needs no smp_rmb() here, for loads are
 * executed in order without OoOisched: scheduled_shapes.pml has that case.
 * Not modelled: the compiler. 60 to 200 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

byte x, y;
byte sum; /* what the additions return */

#define FORBIDDEN (x == 1 && y == 0)
#define SEEN (x == 1 && y == 1)
#ifdef CLAIMED
#define END skip
#else
#include "outcome.pml"
#endif

active proctype processor_A()
{
	STORE(0, ALPHA, 1);
#if defined(MUTANT_NO_WMB)
	STORE(0, BETA, 1);
#elif defined(RELEASE)
	STORE_RELEASE(0, BETA, 1);
#elif defined(RELEASE_BY_ADD)
	ADD_RELEASE(0, BETA, 1, sum);
#elif defined(RELEASE_BY_LOCAL_ADD)
	ADD_LOCAL(0, BETA, 1, sum);
#else
	SMP_WMB(0);
	STORE(0, BETA, 1);
#endif
	END
}

active proctype processor_B()
{
#if defined(MUTANT_NO_RMB)
	x = LOAD(1, BETA);
#elif defined(RELEASE)
	LOAD_ACQUIRE(1, BETA, x);
#else
	x = LOAD(1, BETA);
	SMP_RMB(1);
#endif
	y = LOAD(1, ALPHA);
	END
}

/* The thesis's claim: a process that saw beta sees alpha. CLAIMED leaves out our claim. */
ltl seen_in_order { [] (x == 1 -> <> (y == 1)) }
