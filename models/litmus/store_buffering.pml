/* SPDX-License-Identifier: MIT */
/*
 * Store buffering: each of two processors stores a word and then loads the other's, and one sees
 * the other. Only a full barrier ensures that, on every machine but SC. Paper: T 7.5.2's test, in
 * program order; scheduled_store_buffering.pml is the thesis's own.
 *
 *	processor A		processor B
 *	alpha = 1		beta = 1
 *	barrier			barrier
 *	x = beta		y = alpha
 *
 * The barrier is smp_mb(), or:
 *	FULL_ORDER	any operation that promises full order, chosen for each side separately
 *	ADD_RELEASE_	an addition to a third word that promises release only. On TSO it is locked
 *			and a full barrier all the same; not on ALPHA. POWER does not show the
 *			difference, for loads are not executed early without OoOisched
 *	WMB_RMB		both halves of a barrier, without what joins them. On T's OoOmem they are
 *			as strong as smp_mb(): its write barrier lets stores land (T 7.6.3 says so).
 *			On TSO, and with BARRIERS_ORDER_ONLY, they are weaker
 *	RELEASE_ACQUIRE	a release store, an acquire load: neither orders one before the other
 * TSO agrees with x86: allowed as it stands, forbidden by mfence or any locked instruction.
 * 50 to 1,300 states, 0 seconds.
 */
#define CPUS 2
#define VARS 4
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1
#define OWN_OF_A 2 /* words that no other processor loads */

byte x, y;
byte found_a, found_b;

#define FORBIDDEN (x == 0 && y == 0)
#include "outcome.pml"

#if defined(FULL_ORDER)
inline store_and_order(cpu, v, found)
{
	if
	:: STORE_FULL(cpu, v, 1)
	:: EXCHANGE(cpu, v, 1, found)
	:: CAS(cpu, v, 0, 1, found)
	:: ADD(cpu, v, 1, found)
	:: STORE(cpu, v, 1); CAS(cpu, OWN_OF_A + cpu, 0, 1, found)
	:: STORE(cpu, v, 1); CAS(cpu, OWN_OF_A + cpu, 2, 1, found) /* fails, and orders too */
	fi;
	found = 0
}
#elif defined(ADD_RELEASE_)
inline store_and_order(cpu, v, found)
{
	STORE(cpu, v, 1);
	ADD_RELEASE(cpu, OWN_OF_A + cpu, 1, found)
}
#elif defined(WMB_RMB)
inline store_and_order(cpu, v, found)
{
	STORE(cpu, v, 1);
	SMP_WMB(cpu);
	SMP_RMB(cpu)
}
#elif defined(RELEASE_ACQUIRE)
#define store_and_order(cpu, v, found) STORE_RELEASE(cpu, v, 1)
#elif defined(MUTANT_NO_MB)
#define store_and_order(cpu, v, found) STORE(cpu, v, 1)
#else
inline store_and_order(cpu, v, found)
{
	STORE(cpu, v, 1);
	SMP_MB(cpu)
}
#endif

#ifdef RELEASE_ACQUIRE
#define load(cpu, v, result) LOAD_ACQUIRE(cpu, v, result)
#else
#define load(cpu, v, result) result = LOAD(cpu, v)
#endif

active proctype processor_A()
{
	store_and_order(0, ALPHA, found_a);
	load(0, BETA, x);
	END
}

active proctype processor_B()
{
#ifdef MUTANT_NO_MB_OF_ONE
	STORE(1, BETA, 1);
#else
	store_and_order(1, BETA, found_b);
#endif
	load(1, ALPHA, y);
	END
}
