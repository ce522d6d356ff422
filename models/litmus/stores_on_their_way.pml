/* SPDX-License-Identifier: MIT */
/*
 * The machines' own rules about stores on their way, on one CPU beside an observer.
 *
 *	processor A			observer
 *	alpha = 1			beta = 9, in full
 *	own loads see 1
 *	beta = 2; smp_rmb()
 *	own loads see 2, until it landed
 *	last = 3, in full		an observer that sees 3 sees the others
 *
 * - A CPU's loads see its own stores from the next instruction on (TSO: forwarding).
 * - A line fetched does not overwrite a store that has not landed (OoOmem: the dirty bit).
 * - STORE_FULL and SMP_MB leave no store on its way.
 * - TSO_DEPTH=1: a store waits while another is on its way; the FIFO never holds two.
 * - The sixteenth word has a line and a dirty bit like the first.
 * Each mutant replaces one rule of the machine by a broken one, and an assertion catches it on a
 * machine that has the rule.
 * At most 784 states, 0 seconds.
 */
#define CPUS 2
#define VARS 16
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 15
#define LAST 7

#ifdef MUTANT_FETCH_OVERWRITES
#undef SMP_RMB
#define SMP_RMB(cpu) \
	d_step { each_ = VARS; do :: each_ > 0 -> each_--; cached[LINE(cpu, each_)] = mem[each_] \
		:: else -> break od; each_ = 0 }
#endif
#ifdef MUTANT_NO_FORWARDING
#undef LOAD
#define LOAD(cpu, v) mem[v]
#endif
#ifdef MUTANT_FULL_DOES_NOT_DRAIN
#undef STORE_FULL
#define STORE_FULL(cpu, v, x) STORE(cpu, v, x)
#endif

byte own;

#ifdef MACHINE_TSO
#define HOLDS_TOO_MANY (tso_count[0] > TSO_DEPTH)
#define IS_FULL (tso_count[0] == TSO_DEPTH)
#define BETA_ON_ITS_WAY (tso_count[0] > 0) /* the last one */
#else
#define HOLDS_TOO_MANY false
#define IS_FULL (IS_DIRTY(0, ALPHA) && IS_DIRTY(0, BETA))
#define BETA_ON_ITS_WAY IS_DIRTY(0, BETA)
#endif

active proctype processor_A()
{
	STORE(0, ALPHA, 1);
	own = LOAD(0, ALPHA);
	assert(own == 1);
	STORE(0, BETA, 2);
	assert(!HOLDS_TOO_MANY);
#ifdef COVER_FULL
	assert(!IS_FULL);
#endif
	SMP_RMB(0);
	atomic {
		own = LOAD(0, BETA);
		assert(own == 2 || !BETA_ON_ITS_WAY)
	};
	STORE_FULL(0, LAST, 3);
	assert(LANDED(0) && mem[ALPHA] == 1 && mem[LAST] == 3);
	STORE(0, ALPHA, 4);
	SMP_MB(0);
	assert(LANDED(0) && mem[ALPHA] == 4)
}

active proctype observer()
{
	STORE_FULL(1, BETA, 9);
	if
	:: LOAD(1, LAST) == 3 -> SMP_RMB(1); assert(LOAD(1, ALPHA) != 0 && LOAD(1, BETA) != 0)
	:: else
	fi
}
