/* SPDX-License-Identifier: MIT */
/*
 * A place in a queue of deferred calls, as shipped: the thread that owns the queue writes it, the
 * thread that drains the queue copies it and frees it, and the owner writes it again. Memory and
 * instructions out of order (T 7.4, 7.5). C: rcu/call/defer.c rcu_domain_defer(), make_room();
 * rcu/call/deferred.c queue_take().
 *
 *	owner, for each call			| drainer, for each call
 *	taken_count [defer.full:A]: room?	| put_count (acquire) [defer.take:A]
 *	write the entry				| read: the entry
 *	put_count (release) [defer.put:A]	| free: taken_count (release) [defer.take:B]
 *						| call what was read
 *
 * The owner's write waits for its look at taken_count on every machine, for it comes after the
 * branch. The drainer's two accesses are instructions that run in any order that their tokens
 * allow.
 *
 * Proved: what is called is the entry that was put.
 *
 * Mutant: DEFER_TAKE_RELAXED (the place is free before the entry is read) is caught by an
 * assertion.
 *
 * Bounds: one place, two calls. Not modelled: grace periods, sleeping. 180 states.
 */
#define CPUS 2
#define VARS 3
#include "../machine/ooisched.pml"
#include "../machine/machine.pml"
#define PUT_COUNT 0
#define TAKEN_COUNT 1
#define ENTRY 2
#define CALLS 2

#define READ (1 << 0)
#define FREE (1 << 1)
#ifdef MUTANT_DEFER_TAKE_RELAXED
#define FREE_NEEDS 0
#else
#define FREE_NEEDS READ
#endif

active proctype owner()
{
	byte call = 0, taken;

	do
	:: call == CALLS -> break
	:: call < CALLS ->
		LOAD_ACQUIRE(0, TAKEN_COUNT, taken); /* [defer.full:A] */
		if
		:: taken == call ->
			call++;
			STORE(0, ENTRY, call);
			STORE_RELEASE(0, PUT_COUNT, call) /* [defer.put:A] */
		:: else
		fi
	od
}

active proctype drainer()
{
	byte call = 0, put, entry, tokens;

	do
	:: call == CALLS -> break
	:: call < CALLS ->
		LOAD_ACQUIRE(1, PUT_COUNT, put); /* [defer.take:A] */
		if
		:: put > call ->
			call++;
			tokens = 0;
			do
			:: atomic { INSTRUCTION(tokens, 0, READ) ->
				entry = LOAD(1, ENTRY);
				PRODUCE_TOKENS(tokens, READ) }
			:: atomic { INSTRUCTION(tokens, FREE_NEEDS, FREE) ->
				STORE_RELEASE(1, TAKEN_COUNT, call); /* [defer.take:B] */
				PRODUCE_TOKENS(tokens, FREE) }
			:: CONSUME_TOKENS(tokens, READ | FREE, 0) -> break
			od;
			assert(entry == call)
		:: else
		fi
	od
}
