/* SPDX-License-Identifier: MIT */
/*
 * Snapshot: a request keeps the generations of all CPUs of its set, and waits for all at once.
 * Paper: Q 3.3.2, figures 3.5 to 3.7.
 *
 *	operation, CPU 1 (and 0)	| step of the request's CPU
 *	enters by parity		| take, heavy fence
 *	reads, writes			| generations[i] = generation of each CPU i of the set
 *	leaves				| passed on CPU at? at = the next
 *					| none left: done
 *
 * C functions: qdo_snapshot_begin, is_quiescent, qdo_snapshot_step.
 *
 * Proved, as in generation.pml: a callback runs after the operations that may use what its request
 * took away (assertions), and it runs (no deadlock). Mutants that an assertion catches:
 * QDO_SNAPSHOT_FIRST (the request waits for the first CPU of its set only), QDO_TAKE_NO_FENCE
 * (requests are taken without a heavy fence).
 *
 * Operations and steps are those of operation.pml and monitor.pml, whose headers say what is
 * abstracted. Bounds: 2 CPUs, each of which judges the other; 1 or 2 requests, 1 or 2 operations.
 * Not modelled: timers (own_generation_only), by which generations advance without requests.
 *
 * Typical: 20,000 states, less than a second; two requests 1,800,000 and 4 s.
 */
#define PLACES 2
#ifndef REQUESTS
#define REQUESTS 1
#endif
#ifndef SET
#define SET(r) 3
#endif
#define ORIGIN(r) (r)
#ifndef OPERATIONS
#define OPERATIONS 1
#endif
#define OPERATION_AT(i) (1 - (i))
#if OPERATIONS == 1
#define OPERATION_PLACE 1
#define POINTER(r) (6 + (r))
#else
#define POINTER(r) (10 + (r))
#endif
#define OBJECT POINTER(REQUESTS)
#define PENDING (OBJECT + 1)
#define CPUS 2
#define VARS (PENDING + 1)

#include "../machine/machine.pml"
#include "operation.pml"
#include "request.pml"

byte generations[REQUESTS * PLACES];
byte at[REQUESTS];

#define GENERATION_OF(r, c) generations[(r) * PLACES + (c)]

/* The first CPU of the set at at[r] or after it. */
inline set_next(r)
{
	do
	:: at[r] < PLACES && !(SET(r) >> at[r] & 1) -> at[r]++
	:: else -> break
	od
}

/* Each CPU's generation is one access. */
inline begin(cpu, c, r)
{
	at[r] = 0;
	do
	:: at[r] < PLACES ->
		GENERATION_OF(r, at[r]) = LOAD(cpu, GENERATION(at[r]));
		at[r]++
	:: else -> break
	od;
	atomic { at[r] = 0; set_next(r); QDO_WAIT(c, r) }
}

inline is_quiescent(cpu, c, r)
{
	do
	:: at[r] == PLACES -> break
	:: else ->
		passed(cpu, c, at[r], GENERATION_OF(r, at[r]));
		atomic {
			if
			:: quiescent ->
				quiescent = 0;
				GENERATION_OF(r, at[r]) = 0;
				at[r]++;
				set_next(r);
#ifdef MUTANT_QDO_SNAPSHOT_FIRST
				at[r] = PLACES
#endif
			:: else -> break
			fi
		}
	od
}

inline go_on(cpu, c)
{
#ifdef OWN_GENERATION_ONLY
	scratch = LOAD(cpu, PENDING);
	if
	:: scratch -> advance(cpu, c, 3); generation = 0
	:: else
	fi;
#endif
	atomic { WAITING_ALL(c, scratch); r = 0 };
	do
	:: r < REQUESTS && (scratch >> r & 1) ->
		is_quiescent(cpu, c, r);
		if
		:: at[r] == PLACES -> qdo_done(cpu, r)
		:: else -> QDO_WAIT(c, r)
		fi;
		r++
	:: r < REQUESTS && !(scratch >> r & 1) -> r++
	:: r == REQUESTS -> break
	od;
	atomic { r = 0; scratch = 0; waits[c] = (waiting[c] != 0) }
}

inline begin_all()
{
	skip
}

#include "monitor.pml"
