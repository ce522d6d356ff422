/* SPDX-License-Identifier: MIT */
/*
 * Callbacks that are taken one by one while another thread forks, as shipped: those of a worker's
 * batch, and with QUEUE deferred calls. Memory out of order (T 7.4). C: rcu/call/work.c
 * next_callback(), rcu/call/fork.c batch_take(); with QUEUE rcu/call/deferred.c queue_take(),
 * queues_add_locked().
 *
 *	worker, for each callback		| fork
 *	first: none left? end			| first: exchange it for none: those that are left
 *	first: compare-and-swap by the next one	| fork: the child has these
 *	call it
 *
 *	drainer, for each call			| fork
 *	taken_count: all taken? end		| taken_count: add the bit that closes the queue
 *	taken_count: compare-and-swap by one	| fork: the child has those from the count on
 *	more; when it is closed, again		| taken_count: take the bit away
 *	call it
 *
 * Proved: the child has exactly the callbacks that its parent has not begun to call; a callback is
 * begun once in the parent; with QUEUE, none is begun during the fork, and all are at the end.
 *
 * Mutants, caught by assertions: CALL_TAKE_STORE, DEFER_TAKE_STORE (a callback is taken by a load
 * and a store), CALL_FORK_STORE (the fork takes the others by a load and a store),
 * DEFER_CLOSE_STORE (the fork closes the queue by a load and a store).
 *
 * Bounds: three callbacks, one fork. The accesses are full here and relaxed in C: there is one
 * word, and nothing rests on the order of others. Not modelled: lanes, links, the next batch.
 */
#define CPUS 2
#define VARS 1
#include "../machine/machine.pml"
#define CALLS 3
#define ALL ((1 << CALLS) - 1)
/* Callbacks are numbered from 1. The word: the first one in the batch, 0 for none. */
#define FIRST 0
/* With QUEUE: twice as many as were taken, and 1 while the queue is closed. */
#define TAKEN_COUNT 0
#define CLOSED 1
#define ONE 2

byte begun, closed;

inline begin(number)
{
	assert(!(begun & (1 << (number - 1))) && !closed);
	begun = begun | (1 << (number - 1))
}

#ifndef QUEUE
bool queued;

init
{
	atomic { STORE_FULL(0, FIRST, 1); queued = true }
}

active proctype worker()
{
	byte head, next, found;

	queued;
	do
	:: head = LOAD(0, FIRST);
		if
		:: head == 0 -> break
		:: else -> next = (head == CALLS -> 0 : head + 1)
		fi;
#ifdef MUTANT_CALL_TAKE_STORE
		found = LOAD(0, FIRST);
		atomic {
			STORE(0, FIRST, next);
#else
		atomic {
			CAS(0, FIRST, head, next, found);
#endif
			if
			:: found == head -> begin(head)
			:: else
			fi
		}
	od
}

active proctype fork()
{
	byte left;

	queued;
#ifdef MUTANT_CALL_FORK_STORE
	left = LOAD(1, FIRST);
	STORE(1, FIRST, 0);
#else
	EXCHANGE(1, FIRST, 0, left);
#endif
	/* the child has callback number left and those after it, as long as the fork may last */
	assert(begun == (left == 0 -> ALL : (1 << (left - 1)) - 1));
	assert(begun == (left == 0 -> ALL : (1 << (left - 1)) - 1))
}
#else
active proctype drainer()
{
	byte taken, found;

	do
	:: taken = LOAD(0, TAKEN_COUNT);
		taken = taken & ~CLOSED;
		if
		:: taken == CALLS * ONE -> break
		:: else
		fi;
#ifdef MUTANT_DEFER_TAKE_STORE
		found = LOAD(0, TAKEN_COUNT);
		atomic {
			STORE(0, TAKEN_COUNT, found + ONE);
#else
		atomic {
			CAS(0, TAKEN_COUNT, taken, taken + ONE, found);
#endif
			if
			:: found == taken -> begin(taken / ONE + 1)
			:: else
			fi
		}
	od;
	assert(begun == ALL)
}

active proctype fork()
{
	byte taken;

#ifdef MUTANT_DEFER_CLOSE_STORE
	taken = LOAD(1, TAKEN_COUNT);
	taken = taken + CLOSED;
	STORE(1, TAKEN_COUNT, taken);
	closed = true;
#else
	atomic { ADD(1, TAKEN_COUNT, CLOSED, taken); closed = true };
#endif
	assert(begun == (1 << (taken / ONE)) - 1);
	closed = false;
	ADD(1, TAKEN_COUNT, -CLOSED, taken)
}
#endif
