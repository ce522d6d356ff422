/* SPDX-License-Identifier: MIT */
/*
 * The beginning of a session, as shipped: the recorder fills the control block in, magic last; a
 * process maps it, checks it, and keeps a copy. Paper: B 3.4. docs/formats/session.md.
 * Rust: tools/session Session::fill_in(). C: user/attach.c control_valid(), rings_attach(),
 * session_attach(); user/probe.c reserve().
 *
 *	recorder          | process                        | another process (HOSTILE)
 *	geometry          | no magic: no session           | writes any geometry, at any time
 *	active = 1        | geometry: not valid: refuse    |
 *	magic (release)   | geometry: map as many rings    |
 *	start the program | geometry: ring of this CPU     |
 *	                  | active?                        |
 *
 * The geometry is one word, the number of rings; the file has room for ROOM.
 *
 * Proved, by assertions: a process that the recorder started finds the session complete and active,
 * so that its first event is recorded. A process that comes too early (TOO_EARLY), by a name that
 * the recorder did not give to it, finds no session or a complete one. With HOSTILE, another
 * process of the session that changes the geometry between check and use does not make this
 * process use a ring that it has not mapped.
 *
 * Mutants that an assertion catches: MAGIC_EARLY (magic is stored before the rest), MAGIC_RELAXED
 * (magic is stored without release), MAGIC_READ_RELAXED (it is loaded without acquire; only ALPHA
 * shows this), READ_AGAIN (the control block is read again after it was checked). This model found
 * the last two in attach.c.
 *
 * Bounds: one process that attaches. Not modelled: patterns and the event table, which attach.c
 * reads in the same way; sizes of files. 5 thousand states at most, 0.1 s.
 */
#define CPUS 3
#define VARS 3
#define MAGIC 0
#define COUNT 1
#define ACTIVE 2
#include "../machine/machine.pml"

#define ROOM 2
#ifdef TOO_EARLY
bit started = 1;
#else
bit started;
#endif

#ifdef COVER_NO_SESSION
#define COVER_ABSENT assert(false)
#else
#define COVER_ABSENT skip
#endif
#ifdef COVER_REFUSED
#define COVER_REFUSAL assert(false)
#else
#define COVER_REFUSAL skip
#endif
#ifdef HOSTILE
#define IS_HONEST false
#else
#define IS_HONEST true
#endif

inline refuse()
{
	COVER_REFUSAL;
	assert(!IS_HONEST) /* a process that found the session is in it */
}

active proctype recorder()
{
#ifdef MUTANT_MAGIC_EARLY
	STORE(0, MAGIC, 1);
#endif
	STORE(0, COUNT, ROOM);
	STORE(0, ACTIVE, 1);
#ifndef MUTANT_MAGIC_EARLY
#ifdef MUTANT_MAGIC_RELAXED
	STORE(0, MAGIC, 1);
#else
	STORE_RELEASE(0, MAGIC, 1); /* [session.magic:A] */
#endif
#endif
	/* To start a program orders what came before for it, on whatever CPU it runs. */
	d_step { barrier_(0); barrier_(1); started = 1 }
}

active proctype process()
{
	byte magic, checked, mapped, count;
	bit active_found;

	started;
#ifdef MUTANT_MAGIC_READ_RELAXED
	magic = LOAD(1, MAGIC);
#else
	LOAD_ACQUIRE(1, MAGIC, magic); /* [session.attach:A] */
#endif
	if
	:: !magic -> COVER_ABSENT
	:: else ->
		checked = LOAD(1, COUNT);
		if
		:: checked == 0 -> refuse()
		:: else ->
#ifdef MUTANT_READ_AGAIN
			mapped = LOAD(1, COUNT);
#else
			mapped = checked;
#endif
			if
			:: mapped > ROOM -> refuse()
			:: else ->
#ifdef MUTANT_READ_AGAIN
				count = LOAD(1, COUNT);
#else
				count = mapped;
#endif
				assert(count <= mapped); /* no CPU's ring is one never mapped */
				active_found = LOAD(1, ACTIVE);
				assert(active_found) /* its first event is recorded */
			fi
		fi
	fi
}

#ifdef HOSTILE
active proctype other()
{
	started;
end:	do
	:: STORE(2, COUNT, 0)
	:: STORE(2, COUNT, 1)
	:: STORE(2, COUNT, ROOM)
	:: STORE(2, COUNT, ROOM + 1)
	od
}
#endif
