/* SPDX-License-Identifier: MIT */
/*
 * Multiple token rings: a request goes round the CPUs of its set, and waits on each.
 * Paper: Q 3.3.2, figure 3.4.
 *
 *	step of a CPU				| step of the next
 *	arrived: since = generation		| arrived: since = generation
 *	passed? on to the next of the set,	| passed? ...
 *	    pushed there, and prompted		|
 *	none left: done				|
 *
 * C functions: ring_next, visit, qdo_multi_token_begin, qdo_multi_token_step.
 *
 * Proved, as in generation.pml: a callback runs after the operations that may use what its request
 * took away (assertions), and it runs (no deadlock). Mutants that an assertion catches:
 * QDO_ARRIVE_KEPT (a request keeps the generation of the CPU before), QDO_RING_SHORT (a request is
 * done after one CPU).
 *
 * Operations and steps are those of operation.pml and monitor.pml, whose headers say what is
 * abstracted. Bounds: 2 or 3 CPUs; 1 or 2 requests; 1 operation; OWN_GENERATION_ONLY as in
 * token.pml.
 *
 * Typical: 28,000 states, less than a second; two requests 790,000 and 3 s.
 */
#ifndef PLACES
#define PLACES 2
#endif
#ifndef REQUESTS
#define REQUESTS 1
#endif
#ifndef SET
#define SET(r) 7
#endif
#ifndef FIRST_ORIGIN
#define FIRST_ORIGIN 0
#endif
#define ORIGIN(r) (((r) + FIRST_ORIGIN) % PLACES)
#ifndef OPERATIONS
#define OPERATIONS 1
#endif
#ifndef OPERATION_PLACE
#define OPERATION_PLACE 1
#endif
#define OPERATION_AT(i) OPERATION_PLACE
#define POINTER(r) (QDO_WORDS + (r))
#define OBJECT (QDO_WORDS + REQUESTS)
#define PENDING (QDO_WORDS + REQUESTS + 1)
#define CPUS PLACES
#define VARS (PLACES + 4 + REQUESTS + 2)

#include "../machine/machine.pml"
#include "operation.pml"
#include "request.pml"

byte arrived[PLACES]; /* bits: requests */
byte at[REQUESTS];

/* The next CPU of the set in the ring that begins at the origin; PLACES: none is left. */
inline ring_next(r, from, wrapped)
{
	at[r] = from;
	scratch = wrapped;
	do
	:: !scratch && at[r] < PLACES && (SET(r) >> at[r] & 1) -> break
	:: !scratch && at[r] < PLACES && !(SET(r) >> at[r] & 1) -> at[r]++
	:: !scratch && at[r] >= PLACES -> at[r] = 0; scratch = 1
	:: scratch && at[r] < ORIGIN(r) && (SET(r) >> at[r] & 1) -> break
	:: scratch && at[r] < ORIGIN(r) && !(SET(r) >> at[r] & 1) -> at[r]++
	:: scratch && at[r] >= ORIGIN(r) -> at[r] = PLACES; break
	od;
	scratch = 0
}

inline visit(cpu, c, r)
{
	if
	:: at[r] == PLACES -> qdo_done(cpu, r)
	:: at[r] == c -> since[r] = LOAD(cpu, GENERATION(c)); QDO_WAIT(c, r)
	:: at[r] < PLACES && at[r] != c ->
		scratch = at[r]; /* it is another step's from here on */
		d_step { barrier_(cpu); arrived[scratch] = arrived[scratch] | (1 << r) };
#ifndef OWN_GENERATION_ONLY
		PROMPT(cpu, scratch);
#endif
		scratch = 0
	fi
}

inline begin(cpu, c, r)
{
	atomic { since[r] = 0; ring_next(r, c, 0) };
	visit(cpu, c, r)
}

inline go_on(cpu, c)
{
	atomic {
		taken = arrived[c];
		if
		:: taken -> arrived[c] = 0; SMP_MB(cpu)
		:: else
		fi
	};
	do
	:: r == REQUESTS -> break
	:: r < REQUESTS && !(taken >> r & 1) -> r++
	:: r < REQUESTS && (taken >> r & 1) ->
#ifndef MUTANT_QDO_ARRIVE_KEPT
		since[r] = LOAD(cpu, GENERATION(c));
#endif
		QDO_WAIT(c, r);
		r++
	od;
	atomic { r = 0; WAITING_ALL(c, taken) };
	do
	:: r == REQUESTS -> break
	:: r < REQUESTS && !(taken >> r & 1) -> r++
	:: r < REQUESTS && (taken >> r & 1) ->
		passed(cpu, c, c, since[r]);
		if
		:: quiescent ->
			atomic {
				quiescent = 0;
				since[r] = 0;
#ifdef MUTANT_QDO_RING_SHORT
				at[r] = PLACES
#else
				ring_next(r, c + 1, c < ORIGIN(r))
#endif
			};
			visit(cpu, c, r)
		:: else -> QDO_WAIT(c, r)
		fi;
		r++
	od;
	atomic { r = 0; taken = 0; waits[c] = (waiting[c] != 0) }
}

inline begin_all()
{
#ifdef GENERATION_START
	begin_with(GENERATION(OPERATION_PLACE), GENERATION_START)
#else
	skip
#endif
}

#include "monitor.pml"
