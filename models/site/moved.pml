/* SPDX-License-Identifier: MIT */
/*
 * The list of objects that were looked at, as shipped: a thread that becomes another user walks it,
 * unless another thread is writing it. C: user/objects.c lull_objects_scan(), object_scan(),
 * lull_objects_move(). Paper: O 4.1.
 *
 *	a thread that loads an object	| a thread that becomes another user
 *	is_scanned = 1			| is_scanned [objects.move:A]
 *	the object			|   1: leave the list alone
 *	the count of objects		|   0: the count, then as many objects
 *	is_scanned = 0 [objects.scan:A]	|
 *
 * The model has a value of its own for the 0 of the end, DONE: who reads the 0 of the beginning
 * may walk the list as it begins to change, which the caller rules out (liblull.h), and what it
 * finds then is not claimed.
 *
 * Proved: who reads that the scan is over finds the object, whole. Mutants: SCANNED_RELAXED and
 * MOVE_READ_RELAXED, the release and the acquire. Bounds: one object. 200 states.
 */
#define CPUS 2
#define VARS 3
#include "../machine/machine.pml"
#define IS_SCANNED 0
#define COUNT 1
#define OBJECT 2
#define DONE 2

#ifdef COVER_WALKED
#define COVER_WALK assert(false)
#else
#define COVER_WALK skip
#endif

active proctype scan()
{
	STORE(0, IS_SCANNED, 1);
	STORE(0, OBJECT, 1);
	STORE(0, COUNT, 1);
#ifdef MUTANT_SCANNED_RELAXED
	STORE(0, IS_SCANNED, DONE) /* [objects.scan:A] */
#else
	STORE_RELEASE(0, IS_SCANNED, DONE) /* [objects.scan:A] */
#endif
}

active proctype move()
{
	byte is_scanned, count, object;

#ifdef MUTANT_MOVE_READ_RELAXED
	is_scanned = LOAD(1, IS_SCANNED); /* [objects.move:A] */
#else
	LOAD_ACQUIRE(1, IS_SCANNED, is_scanned); /* [objects.move:A] */
#endif
	if
	:: is_scanned == DONE ->
		count = LOAD(1, COUNT);
		object = LOAD(1, OBJECT);
		COVER_WALK;
		assert(count == 1 && object == 1)
	:: else
	fi
}
