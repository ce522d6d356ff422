/* SPDX-License-Identifier: MIT */
/*
 * A change of what probes do beside a thread that unloads an object, as shipped: two words, no
 * lock. C: user/change.c lull_change_begin(), lull_change_end(), lull_loading_begin(),
 * lull_loading_end(). Paper: none; T 4.6.1 holds a mutex.
 *
 *	a change                              | a thread that unloads
 *	changing = 1 (full) [objects.begin:A] | loading = 1 (full) [objects.load:A]
 *	loading? [objects.move:A]             | wait while changing [objects.wait:A]
 *	  changing = 0: -EBUSY                | the object goes, and then its place in the list
 *	its mask = the mask with a bit more   | another one's mask = the mask with a bit more
 *	changing = 0 [objects.finish:A]       | loading = 0 [objects.scan:A]
 *
 * Proved, by assertions: a change writes to no object that is gone; no bit of the mask is lost.
 * The change waits for nothing, the other thread for the change only. Mutants that an assertion
 * catches: BEGIN_RELAXED, LOAD_RELAXED (one side's store can be overtaken by its load),
 * FINISH_RELAXED, WAIT_READ_RELAXED (ALPHA shows this). Bounds: one of each. Not modelled: a forked
 * child, whose generation tells it that changing is its parent's.
 */
#define CPUS 2
#define VARS 4
#include "../machine/machine.pml"
#define CHANGING 0
#define LOADING 1
#define MASK 2
#define UNLISTED 3 /* the list of objects has the object no more */

bit gone;
bit changed;

#ifdef COVER_BOTH
#define COVER_CHANGED assert(!changed)
#else
#define COVER_CHANGED skip
#endif

active proctype change()
{
	byte loading, mask, found, unlisted;

#ifdef MUTANT_BEGIN_RELAXED
	STORE(0, CHANGING, 1); /* [objects.begin:A] */
#else
	CAS(0, CHANGING, 0, 1, found); /* [objects.begin:A] */
#endif
	LOAD_ACQUIRE(0, LOADING, loading); /* [objects.move:A] */
	if
	:: loading
	:: else ->
		unlisted = LOAD(0, UNLISTED);
		mask = LOAD(0, MASK);
		assert(unlisted || !gone);
		STORE(0, MASK, mask | 1);
		assert(unlisted || !gone);
		changed = 1
	fi;
#ifdef MUTANT_FINISH_RELAXED
	STORE(0, CHANGING, 0) /* [objects.finish:A] */
#else
	STORE_RELEASE(0, CHANGING, 0) /* [objects.finish:A] */
#endif
}

active proctype unload()
{
	byte changing, mask, loading;

#ifdef MUTANT_LOAD_RELAXED
	STORE(1, LOADING, 1); /* [objects.load:A] */
#else
	ADD(1, LOADING, 1, loading); /* [objects.load:A] */
#endif
	do
#ifdef MUTANT_WAIT_READ_RELAXED
	:: changing = LOAD(1, CHANGING); /* [objects.wait:A] */
#else
	:: LOAD_ACQUIRE(1, CHANGING, changing); /* [objects.wait:A] */
#endif
		if
		:: !changing -> break
		:: else
		fi
	od;
	gone = 1;
	mask = LOAD(1, MASK);
	/* What a change did before is still there when this thread has written. */
	COVER_CHANGED;
	assert(!changed || (mask & 1));
	STORE(1, MASK, mask | 2);
	STORE(1, UNLISTED, 1);
	STORE_RELEASE(1, LOADING, 0) /* [objects.scan:A] */
}
