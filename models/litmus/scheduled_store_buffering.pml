/* SPDX-License-Identifier: MIT */
/*
 * The test of OoOisched, with the tokens of T figure 7.4 and the claim and the injections of
 * T 7.5.2: each of two processors stores a word and then loads the other's, and one sees the other.
 *
 *	processor A		processor B
 *	alpha = 1		beta = 1
 *	smp_wmb()		smp_wmb()	the four
 *	core synchronization	...		parts of
 *	smp_rmb()		smp_rmb()	smp_mb()
 *	x = beta		y = alpha
 *
 * An injection produces a part's token before anything runs: that part is not executed, and nothing
 * waits for it. Each of them allows x == 0 && y == 0 on ALPHA. On POWER a read barrier has
 * nothing to fetch, and the load waits for the core synchronization anyway: to leave the read
 * barrier out changes nothing there, as T's tables 7.2 and 7.4 find for RCU.
 * x and y begin at 1, as in the thesis, so that the claim holds before the loads.
 * Up to 400 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/ooisched.pml"
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

#define PROD_NONE (1 << 0)
#define WRITE (1 << 1)
#define WMB (1 << 2)
#define SYNC_CORE (1 << 3)
#define RMB (1 << 4)
#define READ (1 << 5)
#define ALL (PROD_NONE | WRITE | WMB | SYNC_CORE | RMB | READ)

#if defined(MUTANT_NO_MB)
#define INJECTED (WMB | SYNC_CORE | RMB)
#elif defined(MUTANT_NO_WMB_PART)
#define INJECTED WMB
#elif defined(MUTANT_NO_RMB_PART)
#define INJECTED RMB
#elif defined(MUTANT_NO_SYNC_CORE)
#define INJECTED SYNC_CORE
#else
#define INJECTED 0
#endif

byte pa_tokens, pb_tokens;
byte x = 1, y = 1;

inline processor(cpu, tokens, written, read, result)
{
	PRODUCE_TOKENS(tokens, PROD_NONE | INJECTED);
	do
	:: atomic { CONSUME_TOKENS(tokens, PROD_NONE, WRITE) ->
		STORE(cpu, written, 1);
		PRODUCE_TOKENS(tokens, WRITE) }
	:: atomic { CONSUME_TOKENS(tokens, WRITE, WMB) ->
		SMP_WMB(cpu);
		PRODUCE_TOKENS(tokens, WMB) }
	:: atomic { CONSUME_TOKENS(tokens, WRITE | WMB, SYNC_CORE) ->
		PRODUCE_TOKENS(tokens, SYNC_CORE) }
	:: atomic { CONSUME_TOKENS(tokens, SYNC_CORE, RMB) ->
		SMP_RMB(cpu);
		PRODUCE_TOKENS(tokens, RMB) }
	:: atomic { CONSUME_TOKENS(tokens, SYNC_CORE | RMB, READ) ->
		result = LOAD(cpu, read);
		PRODUCE_TOKENS(tokens, READ) }
	:: CONSUME_TOKENS(tokens, ALL, 0) ->
		CLEAR_TOKENS(tokens, ALL);
		break
	od
}

active proctype processor_A()
{
	processor(0, pa_tokens, ALPHA, BETA, x)
}

active proctype processor_B()
{
	processor(1, pb_tokens, BETA, ALPHA, y)
}

/* One at least reads what the other wrote. */
ltl one_sees_the_other { [] (x == 1 || y == 1) }
