/* SPDX-License-Identifier: MIT */
/*
 * The event table, as shipped: processes of a session find or make the identifier of a
 * description, and may die before they publish it or while they do. Paper: T 8.1;
 * docs/formats/session.md (event table). C: user/events.c lull_event_register(), describe().
 * Rust: tools/session event_description().
 *
 *	a process, for each identifier from the first   | recorder
 *	claim: compare-and-swap the hash, 0 to ours     | offset (acquire); 0: none yet
 *	  another hash is there: next identifier        | text
 *	offset is not 0: this is the event              |
 *	room in the arena: add to arena_used            |
 *	text                                            |
 *	offset (release)                                |
 *
 * Proved: processes that register the same description get the same identifier, and different
 * descriptions get different ones, even if the process that claimed it first dies; a description
 * that is found is complete, so that an event in the trace has its name (assertions); no process
 * waits for another (no deadlock).
 *
 * Mutants: OFFSET_EARLY (the offset is stored before the text), OFFSET_RELAXED (it is stored
 * without release), OFFSET_READ_RELAXED (the recorder reads it without acquire), CLAIM_STORED (the
 * hash is stored, not swapped) and ARENA_STORED (so is arena_used) are caught by an assertion;
 * CLAIMANT_AWAITED (a process waits until the first to claim has published) by a deadlock.
 *
 * Bounds: two processes, of which one may die; each registers both descriptions, in either order; a
 * table of two; a text and its length are one word; hashes without collision; room for every
 * attempt. C loads a hash first and swaps only a 0; here, a swap that fails stands for a load of
 * another value. lull_event_known() compares what it reads with what it looks for, so that it
 * needs no order. Not modelled: a full table or arena, which leaves the site disabled and is
 * counted. ALPHA is left out of the short form, but for OFFSET_READ_RELAXED. 244 thousand states in
 * 1 s (TSO).
 */
#define CPUS 3
#define VARS 9
#define HASH(id) (id)
#define OFFSET(id) (2 + (id))
#define USED 4
#define TEXT(offset) (4 + (offset)) /* offset is one more than the place, 1 to 4 */
#include "../machine/machine.pml"

#define NO_ID 2
byte given[2] = { NO_ID, NO_ID }; /* the identifier that description i has, once anybody got one */

#ifdef COVER_HELPED
#define COVER_PUBLISH assert(found == 0)
#else
#define COVER_PUBLISH skip
#endif

/* At most one process dies. */
bit somebody_died;
#define MAY_DIE \
	if :: d_step { !somebody_died -> somebody_died = 1 }; goto dead :: true fi

inline publish(entry, text)
{
	COVER_PUBLISH;
	MAY_DIE;
	/* describe(): a loop around a compare-and-swap in C, one step here. */
#ifdef MUTANT_ARENA_STORED
	offset = LOAD(cpu, USED);
	offset++;
	STORE(cpu, USED, offset);
#else
	ADD_RELEASE(cpu, USED, 1, offset);
#endif
#ifdef MUTANT_OFFSET_EARLY
	STORE(cpu, OFFSET(entry), offset);
#endif
	STORE(cpu, TEXT(offset), text);
	MAY_DIE;
	/* [session.describe:A] */
#ifdef MUTANT_OFFSET_RELAXED
	STORE(cpu, OFFSET(entry), offset)
#else
	STORE_RELEASE(cpu, OFFSET(entry), offset)
#endif
}

inline event_register(wanted)
{
	id = 0;
	do
	:: id == NO_ID -> assert(false) /* the table holds them all */
	:: id < NO_ID ->
#ifdef MUTANT_CLAIM_STORED
		found = LOAD(cpu, HASH(id));
		if
		:: found == 0 -> STORE(cpu, HASH(id), wanted)
		:: else
		fi;
#else
		CAS(cpu, HASH(id), 0, wanted, found);
#endif
		if
		:: found == 0 || found == (wanted) ->
			offset = LOAD(cpu, OFFSET(id));
			if
			:: offset
			:: !offset ->
#ifdef MUTANT_CLAIMANT_AWAITED
				if
				:: found == 0 -> publish(id, wanted)
				:: found == (wanted) -> mem[OFFSET(id)] != 0
				fi
#else
				publish(id, wanted)
#endif
			fi;
			/* From here on it is in the trace under this number. */
			d_step { assert(given[(wanted) - 1] == NO_ID || given[(wanted) - 1] == id);
				assert(given[2 - (wanted)] != id);
				given[(wanted) - 1] = id; found = 0; offset = 0 };
			break
		:: else -> atomic { found = 0; id++ }
		fi
	od
}

proctype process(byte cpu)
{
	byte id, found, offset, hash;

	if
	:: hash = 1
	:: hash = 2
	fi;
	event_register(hash);
	event_register(3 - hash);
dead:	skip
}

active proctype recorder()
{
	byte offset, text;

	run process(1);
	run process(2);
	/* An event with number 0 is met whenever its writer has it. */
	/* [session.read:A] */
#ifdef MUTANT_OFFSET_READ_RELAXED
	offset = LOAD(0, OFFSET(0));
#else
	LOAD_ACQUIRE(0, OFFSET(0), offset);
#endif
	if
	:: offset -> text = LOAD(0, TEXT(offset));
		assert(text == 1 || text == 2);
		assert(given[text - 1] == NO_ID || given[text - 1] == 0)
	:: else
	fi
}
