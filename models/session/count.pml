/* SPDX-License-Identifier: MIT */
/*
 * A table of counts, as shipped: threads of a user's processes find or make the slot of a key, and
 * may die at any step; the recorder reads it at any time. Design: docs/design/72-count.md.
 * C: user/counts.c lull_count_slot_add(), slot_fill(). Rust: tools/session Tables::slot_read().
 *
 *	a thread, for each slot from the first        | recorder, for each slot
 *	state is our key's and ready: add 1, done     | state (acquire); not ready: next slot
 *	claim: compare-and-swap the state, 0 to ours  | key, count
 *	  not 0: next slot                            |
 *	key, count of 1                               |
 *	state is ready (release)                      |
 *	no slot: add 1 to the count of all others     |
 *
 * Proved, by assertions: a slot that is told has the key and at least the occurrence with which it
 * was published; no two threads fill in one slot; in the end, what slots and the count of others
 * tell is what occurred, but for a thread that died. No thread waits (no deadlock).
 *
 * Mutants: COUNT_EARLY (ready is stored before the key), COUNT_RELAXED (without release),
 * COUNT_READ_RELAXED (the recorder reads it without acquire), COUNT_CLAIM_STORED (a slot is claimed
 * by a load and a store) are caught by an assertion.
 *
 * Bounds: two threads, two keys, a table of two slots, of which one may be lost to a death; one
 * occurrence of each key each. Not modelled: texts, histograms, hashes that collide.
 */
#define CPUS 3
#define VARS 7
#define STATE(slot) (slot)
#define KEY(slot) (2 + (slot))
#define COUNT(slot) (4 + (slot))
#define OTHERS 6
#include "../machine/machine.pml"

#define SLOTS 2
#define CLAIMED 3
byte owner[SLOTS]; /* ghost: the thread that fills the slot in */
byte ended; /* ghost: threads that have ended, or died */

/* At most one thread dies. */
bit somebody_died;
#define MAY_DIE \
	if :: d_step { !somebody_died -> somebody_died = 1 }; goto dead :: true fi

/* A state is 0, CLAIMED, or the key that is ready. */
inline fill(slot, wanted)
{
	d_step { assert(owner[slot] == 0); owner[slot] = cpu };
	MAY_DIE;
#ifdef MUTANT_COUNT_EARLY
	STORE(cpu, STATE(slot), wanted);
#endif
	STORE(cpu, KEY(slot), wanted);
	STORE(cpu, COUNT(slot), 1);
	MAY_DIE;
	/* [count.publish:A] */
#ifdef MUTANT_COUNT_RELAXED
	STORE(cpu, STATE(slot), wanted)
#else
	STORE_RELEASE(cpu, STATE(slot), wanted)
#endif
}

inline count_add(wanted)
{
	at = 0;
	do
	:: at == SLOTS -> ADD_RELEASE(cpu, OTHERS, 1, found); break
	:: at < SLOTS ->
		found = LOAD(cpu, STATE(at));
		if
		:: found == (wanted) -> ADD_RELEASE(cpu, COUNT(at), 1, found); break
		:: found != (wanted) && found != 0 -> at++
		:: found == 0 ->
#ifdef MUTANT_COUNT_CLAIM_STORED
			STORE(cpu, STATE(at), CLAIMED);
#else
			CAS(cpu, STATE(at), 0, CLAIMED, found);
#endif
			if
			:: found == 0 -> fill(at, wanted); break
			:: else -> skip /* the slot is looked at again */
			fi
		fi
	od;
	at = 0;
	found = 0
}

proctype thread(byte cpu)
{
	byte at, found;

	if
	:: count_add(1); count_add(2)
	:: count_add(2); count_add(1)
	fi;
	/* What it stored lands in the end, without a barrier of its own. */
	SMP_MB(cpu);
dead:	ended++
}

inline read_slot(slot)
{
	/* [count.read:A] */
#ifdef MUTANT_COUNT_READ_RELAXED
	state = LOAD(0, STATE(slot));
#else
	LOAD_ACQUIRE(0, STATE(slot), state);
#endif
	if
	:: state == 0 || state == CLAIMED
	:: else ->
		key = LOAD(0, KEY(slot));
		number = LOAD(0, COUNT(slot));
		assert(key == state && number >= 1)
	fi;
	d_step { state = 0; key = 0; number = 0 }
}

active proctype recorder()
{
	byte state, key, number;

	run thread(1);
	run thread(2);
	read_slot(0);
	read_slot(1);
	/* When no thread runs any more, nothing that was counted is missing. */
	ended == 2;
	SMP_MB(0);
	assert(somebody_died || mem[COUNT(0)] + mem[COUNT(1)] + mem[OTHERS] == 4)
}
