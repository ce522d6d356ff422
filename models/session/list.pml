/* SPDX-License-Identifier: MIT */
/*
 * The papers' list of sessions, for a tracer whose sessions come and go while its probes run:
 * create, start, replace, stop, destroy. Lull in user space has no such list (stop.pml): a
 * process's sessions are set once. Papers: T 4.6.1, B 3.4.
 *
 *	control                            | a probe
 *	create: fields, then the pointer   | section begins
 *	start:  active; grace period       |   for each session from head on:
 *	replace by a copy: its next, then  |     active? reserve, commit
 *	  the pointer; grace period; free  | section ends
 *	stop:   no longer active;          |
 *	  grace period; drain              |
 *	destroy: out of the list;          |
 *	  grace period; free               |
 *
 * head -> 2 or its copy 3 -> 1. Each node has a next, a flag and one field that stands for the
 * rest. Freed memory gets another use: its words are set to zero.
 *
 * Proved, by assertions: no probe touches a freed session or finds an incomplete one; once start
 * has returned, every event that begins is recorded, also while another session is replaced and
 * destroyed; once stop has returned no probe writes any more, so that a drain then finds every
 * event. Probes never wait.
 *
 * Mutants that an assertion catches: PUBLISH_RELAXED (a pointer is stored without release),
 * DEPENDENCY_LOST (a probe loads it without acquire; ALPHA shows this), COPY_NEXT_LATE (a copy is
 * published before its next), START_NO_GRACE, STOP_NO_GRACE and FREE_NO_GRACE (one grace period is
 * left out).
 *
 * Bounds: three nodes, one CPU with probes, for ever. Not modelled: the ring; the mutex
 * between threads that control sessions. 17 thousand states in 0.1 s.
 */
#define CPUS 2
#define VARS 10
#define HEAD 0
#define NEXT(node) (3 * (node) - 2)
#define ACTIVE(node) (3 * (node) - 1)
#define FIELD(node) (3 * (node))
#include "../machine/machine.pml"
#include "section.pml"

#define NODES 3
bit exists[NODES + 1]; /* the memory of node i is a session's */
bit started[NODES + 1]; /* start has returned, stop has not begun */
bit drained[NODES + 1]; /* what was committed is read, for the last time */

#ifdef COVER_TWO_RECORDED
#define COVER_LIST assert(count < 2)
#else
#define COVER_LIST skip
#endif

active proctype probe()
{
	byte node, count;
	bit recording, field, due, recorded;

end:	do
	:: due = started[1];
#ifdef MUTANT_DEPENDENCY_LOST
		node = LOAD(1, HEAD);
#else
		LOAD_ACQUIRE(1, HEAD, node);
#endif
		do
		:: node == 0 -> break
		:: else ->
			assert(exists[node]);
			recording = LOAD(1, ACTIVE(node));
			if
			:: recording ->
				field = LOAD(1, FIELD(node));
				/* It writes to its session's memory. */
				assert(exists[node] && field);
				/* reserve; then commit: */
				d_step { assert(exists[node] && !drained[node]);
					recorded = recorded || node == 1;
					count++; field = 0; recording = 0 };
				COVER_LIST
			:: else
			fi;
			assert(exists[node]);
#ifdef MUTANT_DEPENDENCY_LOST
			node = LOAD(1, NEXT(node))
#else
			LOAD_ACQUIRE(1, NEXT(node), node)
#endif
		od;
		/* What began after start and ended before stop is in the trace. */
		atomic { assert(!due || !started[1] || recorded);
			due = 0; recorded = 0; count = 0 }
	:: SCHEDULE(1)
	od
}

inline publish(pointer, node)
{
#ifdef MUTANT_PUBLISH_RELAXED
	STORE(0, pointer, node)
#else
	STORE_RELEASE(0, pointer, node)
#endif
}

inline create(node, next, flag)
{
	d_step { exists[node] = 1; drained[node] = 0 };
	STORE(0, FIELD(node), 1);
	STORE(0, ACTIVE(node), flag);
#ifdef MUTANT_COPY_NEXT_LATE
	publish(HEAD, node);
	STORE(0, NEXT(node), next)
#else
	STORE(0, NEXT(node), next);
	publish(HEAD, node)
#endif
}

inline start(node)
{
	STORE(0, ACTIVE(node), 1);
#ifndef MUTANT_START_NO_GRACE
	synchronize();
#endif
	started[node] = 1
}

inline stop(node)
{
	started[node] = 0;
	STORE(0, ACTIVE(node), 0);
#ifndef MUTANT_STOP_NO_GRACE
	synchronize();
#endif
	drained[node] = 1
}

/* No probe finds the node any more: pointer leads past it. */
inline free_after_grace(node)
{
#ifndef MUTANT_FREE_NO_GRACE
	synchronize();
#endif
	exists[node] = 0;
	STORE(0, FIELD(node), 0);
	STORE(0, NEXT(node), 0);
	STORE(0, ACTIVE(node), 0)
}

active proctype control()
{
end:	do
	:: create(1, 0, 0);
		start(1);
		create(2, 1, 0);
		start(2);
		/* A copy with another field, which takes its place. */
		create(3, 1, 1);
		started[2] = 0;
		free_after_grace(2);
		stop(3);
		STORE(0, HEAD, 1);
		free_after_grace(3);
		stop(1);
		STORE(0, HEAD, 0);
		free_after_grace(1)
	od
}
