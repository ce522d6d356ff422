/* SPDX-License-Identifier: MIT */
/*
 * Single token ring: one token goes round while a request is pending, each CPU keeps it until that
 * CPU is quiescent, and a request is done when the token arrives for the second time.
 * Paper: Q 2.2.2, 3.3.2, figure 2.10.
 *
 *	step of a CPU						| step of the next
 *	take, heavy fence [qdo.take:A] = [qdo.wake:A]		| token?
 *	first pending? prompt token_at				| pending? [qdo.hold:B]
 *	token, pending: new here? since = generation, arrive	| new here? ...
 *	passed? token = 0, token_at, token of next [qdo.pass:A]	|
 *
 * C functions: qdo_token_begin, arrive, pass, qdo_token_step.
 *
 * Proved, as in generation.pml: a callback runs after the operations that may use what its request
 * took away (assertions), and it runs (no deadlock). Also: there is one token, even as a third CPU
 * sees memory, and it does not lie still while a request is pending.
 *
 * Mutants. An assertion catches QDO_TOKEN_FIRST (a request is done at the token's first arrival),
 * QDO_TOKEN_KEPT (the CPU that passes the token keeps it) and QDO_PASS_RELAXED (the token is stored
 * without release). A deadlock shows QDO_NO_WAKE: the first request does not prompt the CPU that
 * has the token. HOLD_UNORDERED, without [qdo.hold:B], and QDO_TAKE_NO_FENCE, without [qdo.wake:A],
 * pass here: on machines that show a store to all CPUs at once, prompts and the fence in passed()
 * order the same accesses.
 *
 * Operations and steps are those of operation.pml and monitor.pml, whose headers say what is
 * abstracted. Bounds: 2 CPUs; 1 request and 1 operation, or 2 requests; TOKEN_START;
 * own_generation_only (every CPU steps by its timer, and prompts none) with OWN_GENERATION_ONLY.
 *
 * Typical: 62,000 states and less than a second on SC, 750,000 and 4 s on ALPHA.
 */
#ifndef PLACES
#define PLACES 2
#endif
#ifndef REQUESTS
#define REQUESTS 1
#endif
#define SET(r) 7
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
#ifndef TOKEN_START
#define TOKEN_START 1
#endif
#define TOKEN(c) (QDO_WORDS + (c))
#define TOKEN_AT (QDO_WORDS + PLACES)
#define POINTER(r) (QDO_WORDS + PLACES + 1 + (r))
#define OBJECT (QDO_WORDS + PLACES + 1 + REQUESTS)
#define PENDING (QDO_WORDS + PLACES + 2 + REQUESTS)
#ifdef STEPS_ELSEWHERE
#define CPUS 2
#else
#define CPUS PLACES
#endif
#define VARS (PLACES + 4 + PLACES + 3 + REQUESTS)

#include "../machine/machine.pml"
#include "operation.pml"
#include "request.pml"

byte batch[PLACES]; /* the token that cpu_since belongs to */
byte cpu_since[PLACES];

/* Numbers of tokens are compared for equality alone, at one CPU: PLACES + 1 of them are enough. */
#define TOKEN_AFTER(token) ((token) % (PLACES + 1) + 1)
#define NEXT(c) (((c) + 1) % PLACES)

/* [qdo.wake:A] is the heavy fence of take(). */
inline begin(cpu, c, r)
{
	scratch = since[r];
	since[r] = 0;
	QDO_WAIT(c, r);
#if !defined(OWN_GENERATION_ONLY) && !defined(MUTANT_QDO_NO_WAKE)
	if
	:: scratch -> scratch = LOAD(cpu, TOKEN_AT); PROMPT(cpu, scratch)
	:: else
	fi;
#endif
	scratch = 0
}

inline arrive(cpu, c)
{
	batch[c] = scratch;
	cpu_since[c] = LOAD(cpu, GENERATION(c));
	atomic { WAITING_ALL(c, taken); r = 0 };
	do
	:: r == REQUESTS -> break
	:: r < REQUESTS && !(taken >> r & 1) -> r++
	:: r < REQUESTS && (taken >> r & 1) ->
#ifndef MUTANT_QDO_TOKEN_FIRST
		if
		:: since[r] -> qdo_done(cpu, r)
		:: else -> since[r] = scratch; QDO_WAIT(c, r)
		fi;
#else
		qdo_done(cpu, r);
#endif
		r++
	od;
	atomic { r = 0; taken = 0 }
}

inline pass(cpu, c)
{
#ifndef MUTANT_QDO_TOKEN_KEPT
	STORE(cpu, TOKEN(c), 0);
#endif
#ifndef OWN_GENERATION_ONLY
	STORE(cpu, TOKEN_AT, NEXT(c));
#endif
#ifdef MUTANT_QDO_PASS_RELAXED
	STORE(cpu, TOKEN(NEXT(c)), TOKEN_AFTER(scratch));
#else
	STORE_RELEASE(cpu, TOKEN(NEXT(c)), TOKEN_AFTER(scratch)); /* [qdo.pass:A] */
#endif
#ifndef OWN_GENERATION_ONLY
	PROMPT(cpu, NEXT(c))
#endif
}

#if PLACES == 2
#define IS_ALONE(c) (mem[TOKEN(NEXT(c))] == 0)
#else
#define IS_ALONE(c) (mem[TOKEN(NEXT(c))] == 0 && mem[TOKEN(NEXT(NEXT(c)))] == 0)
#endif

inline go_on(cpu, c)
{
	atomic {
		scratch = LOAD(cpu, TOKEN(c)); /* the fence below orders it */
		/* one CPU holds the token */
		assert(!scratch || IS_ALONE(c))
	};
	if
	:: scratch ->
#ifndef MUTANT_HOLD_UNORDERED
		SMP_MB(cpu); /* [qdo.hold:B] */
#endif
		if
		:: LOAD(cpu, PENDING) ->
			if
			:: batch[c] != scratch -> arrive(cpu, c)
			:: else
			fi;
			passed(cpu, c, c, cpu_since[c]);
			if
			:: quiescent -> pass(cpu, c)
			:: else -> waits[c] = 1
			fi;
			quiescent = 0
		:: else
		fi
	:: else
	fi;
	scratch = 0
}

inline begin_all()
{
	begin_with(TOKEN(TOKEN_START), 1);
	begin_with(TOKEN_AT, TOKEN_START)
}

#include "monitor.pml"
