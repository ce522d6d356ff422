/* SPDX-License-Identifier: MIT */
/*
 * The list of objects that were looked at, as shipped: a thread that becomes another user walks it,
 * unless another thread is writing it; so does every change (change.pml). C: user/change.c
 * lull_loading_end(), lull_change_begin(); user/objects.c object_scan(), lull_objects_move(),
 * lull_objects_change(). Paper: O 4.1.
 *
 *	a thread that loads an object	| a thread that becomes another user
 *	loading = 1			| loading [objects.move:A]
 *	the object			|   1: leave the list alone
 *	the count of objects		|   0: the count, then as many objects
 *	loading = 0 [objects.scan:A]	|
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
#define LOADING 0
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
	STORE(0, LOADING, 1);
	STORE(0, OBJECT, 1);
	STORE(0, COUNT, 1);
#ifdef MUTANT_SCANNED_RELAXED
	STORE(0, LOADING, DONE) /* [objects.scan:A] */
#else
	STORE_RELEASE(0, LOADING, DONE) /* [objects.scan:A] */
#endif
}

active proctype move()
{
	byte loading, count, object;

#ifdef MUTANT_MOVE_READ_RELAXED
	loading = LOAD(1, LOADING); /* [objects.move:A] */
#else
	LOAD_ACQUIRE(1, LOADING, loading); /* [objects.move:A] */
#endif
	if
	:: loading == DONE ->
		count = LOAD(1, COUNT);
		object = LOAD(1, OBJECT);
		COVER_WALK;
		assert(count == 1 && object == 1)
	:: else
	fi
}
