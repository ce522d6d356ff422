/* SPDX-License-Identifier: MIT */
/*
 * A place in the pool of thread starts, as shipped: what a new thread has to know waits there, and
 * the place is another thread's as soon as the new one has copied it. Memory and instructions out
 * of order (T 7.4, 7.5). C: user/interpose/thread.c start_claim(), start_enter(), start_release().
 *
 *	creator, once a thread			| new thread
 *	claim: compare-and-swap, 0 to 1		| read: the place
 *	  [thread.claim:A]			| free: claimed = 0
 *	write: the place			|   [thread.release:A]
 *	create the thread
 *
 * pthread_create() orders all before it for the new thread. The write waits for the claim, for no
 * machine stores before the branch that decides on it. The new thread's two accesses are
 * instructions that run in any order that their tokens allow.
 *
 * Proved: each thread reads what was written for it. Mutant START_RELEASE_RELAXED: the place is
 * free before it was read. Bounds: one place, two threads. 420 states.
 */
#define CPUS 3
#define VARS 2
#include "../machine/ooisched.pml"
#include "../machine/machine.pml"
#define CLAIMED 0
#define PLACE 1

#define READ (1 << 0)
#define FREE (1 << 1)
#ifdef MUTANT_START_RELEASE_RELAXED
#define FREE_NEEDS 0
#else
#define FREE_NEEDS READ
#endif

proctype thread(byte self)
{
	byte tokens, found;

	do
	:: atomic { INSTRUCTION(tokens, 0, READ) ->
		found = LOAD(self, PLACE);
		PRODUCE_TOKENS(tokens, READ) }
	:: atomic { INSTRUCTION(tokens, FREE_NEEDS, FREE) ->
		STORE_RELEASE(self, CLAIMED, 0); /* [thread.release:A] */
		PRODUCE_TOKENS(tokens, FREE) }
	:: CONSUME_TOKENS(tokens, READ | FREE, 0) -> break
	od;
	assert(found == self) /* the function that it was created for */
}

active proctype creator()
{
	byte next = 1, found;

	do
	:: next == CPUS -> break
	:: next < CPUS ->
		CAS(0, CLAIMED, 0, 1, found); /* [thread.claim:A] */
		if
		:: found == 0 ->
			STORE(0, PLACE, next);
			/* pthread_create() */
			atomic { barrier_(0); barrier_(next); run thread(next); next++ }
		:: else -> found = 0
		fi
	od
}
