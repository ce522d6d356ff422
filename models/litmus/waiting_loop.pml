/* SPDX-License-Identifier: MIT */
/*
 * A loop that waits for a word, on memory that is lazy: nothing obliges a store to land or a line
 * to be fetched, ever, except a barrier (T 7.6: buffers of unlimited size). The claim is
 * progress: once the flag is stored, the loop ends.
 *
 *	sender				waiter
 *	flag = 1			loop until flag is 1:
 *	smp_mb()				smp_mb()
 *
 * With MEMORY_LAZY the waiter's barrier is needed on ALPHA, where a line may never be fetched
 * again (T's injection "Remove loop smp_mb()"), and the sender's everywhere but SC. With
 * MEMORY_FAIR, as hardware is, neither is needed. A process that has ended stays at a progress
 * label, so that memory that idles for ever is not itself an error.
 * At most 28 states, 0 seconds.
 */
#define CPUS 2
#define VARS 1
#define HEAVY_FROM(cpu) 0
#include "../machine/machine.pml"
#define FLAG 0

active proctype sender()
{
	STORE(0, FLAG, 1);
#ifndef MUTANT_NO_SENDER_MB
	SMP_MB(0);
#endif
}

active proctype waiter()
{
	do
	:: LOAD(1, FLAG) == 1 -> break
	:: else ->
#ifdef MUTANT_NO_LOOP_MB
		skip
#else
		SMP_MB(1)
#endif
	od;
end:
progress:
	false
}
