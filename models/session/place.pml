/* SPDX-License-Identifier: MIT */
/*
 * A place among a process's sessions that is used again, as shipped: no grace period. C:
 * user/probe.c destination_find(), reserve(), lull_probe_line_set(); user/attach.c
 * lull_session_add(), lull_session_forget(); user/objects.c lull_objects_change(),
 * lull_probe_enable(); core/include/lull/trace.h. Papers: T 4.6.1, B 3.4. docs/adr/0016.
 *
 *	a change (by any thread)                    | a probe
 *	join: the rest of the line                  | the mask: no bit: nothing [site.probe:A]
 *	  rings (release) [session.line:A]          | the rings [session.line:B]
 *	  identifier                                | the mask again: no bit: nothing
 *	  the bit (release) [site.enable:A]         | the identifier; the rest of the line
 *	leave: no bit                               | write to the memory of these rings
 *	  private zeros in place of the memory      |
 *
 * Sessions 1 to SESSIONS have the place one after the other. Each word's value is the session that
 * it is of; the bit's is 0 or 1. The change may stop for ever at any step: it is killed, or this is
 * the memory of a child that another thread forked then.
 *
 * Proved, by assertions: what is written to the memory of a session that was not left has the
 * identifier and the flag of that session. Nobody waits. What is written to one that was left is
 * nobody's.
 *
 * Mutants that an assertion catches: LINE_EARLY (the rings are stored before the bit of the session
 * before is taken away), LINE_RELAXED (they are stored without release), LINE_READ_RELAXED (they
 * are loaded without acquire; ALPHA shows this), MASK_FIRST (a probe believes the identifier that
 * it loaded before the rings, as its caller does).
 *
 * Bounds: one place, one probe at a time for ever, three sessions. Not modelled: filters, the ring.
 */
#define CPUS 2
#define VARS 4
#define RINGS 0
#define MASK 1
#define ID 2
#define ACTIVE 3
#include "../machine/machine.pml"

#ifndef SESSIONS
#define SESSIONS 3
#endif
bit left[SESSIONS + 1]; /* private zeros are in place of its memory */

#ifdef COVER_LATE
#define COVER_WRITE assert(!left[rings])
#else
#define COVER_WRITE skip
#endif
#ifdef COVER_THIRD
#define COVER_LAST assert(rings < SESSIONS)
#else
#define COVER_LAST skip
#endif

active proctype probe()
{
	byte rings, mask, id, active_;

end:	do
	:: LOAD_ACQUIRE(1, MASK, mask); /* [site.probe:A] */
		if
		:: !mask
		:: else ->
#ifdef MUTANT_MASK_FIRST
			id = LOAD(1, ID);
#endif
#ifdef MUTANT_LINE_READ_RELAXED
			rings = LOAD(1, RINGS); /* [session.line:B] */
			mask = LOAD(1, MASK);
#else
			LOAD_ACQUIRE(1, RINGS, rings); /* [session.line:B] */
			LOAD_ACQUIRE(1, MASK, mask);
#endif
			if
			:: !mask
			:: else ->
#ifndef MUTANT_MASK_FIRST
				id = LOAD(1, ID);
#endif
				active_ = LOAD(1, ACTIVE);
				atomic {
					COVER_WRITE;
					COVER_LAST;
					assert(left[rings] || (id == rings && active_ == rings))
				}
			fi
		fi;
		d_step { rings = 0; mask = 0; id = 0; active_ = 0 }
	od
}

inline line_set(session)
{
	STORE(0, ACTIVE, session);
#ifdef MUTANT_LINE_RELAXED
	STORE(0, RINGS, session) /* [session.line:A] */
#else
	STORE_RELEASE(0, RINGS, session) /* [session.line:A] */
#endif
}

active proctype change()
{
	byte session = 1;

	do
	:: true ->
#ifdef MUTANT_LINE_EARLY
		if
		:: session == 1 -> line_set(session)
		:: else
		fi;
#else
		line_set(session);
#endif
		STORE(0, ID, session);
		STORE_RELEASE(0, MASK, 1); /* [site.enable:A] */
#ifdef MUTANT_LINE_EARLY
		if
		:: session < SESSIONS -> line_set(session + 1)
		:: else
		fi;
#endif
		STORE(0, MASK, 0);
		left[session] = 1;
		if
		:: session == SESSIONS -> break
		:: else -> session++
		fi
	:: true -> break /* it stops here, or before any session */
	od
}
