/* SPDX-License-Identifier: MIT */
/*
 * Three places where threads of QDo's host sleep. Paper: Q 4.5, 4.6, 4.7.
 *
 *	MONITOR	waker				| monitor
 *		prompted = 1	[qdo.prompt:A]	| state = asleep		[qdo.rest:A]
 *		state awake?			| prompted? then not
 *		no: state = awake, futex wake	| futex wait while asleep
 *	BARRIER	request done			| barrier
 *		outstanding - 1	[qdo.finish:A]	| awaited = 1		[qdo.await:A]
 *		awaited? awaited = 0, wake	| outstanding? futex wait
 *	GATE	requester			| fork
 *		inside + 1	[qdo.ask:A]	| closed = 1		[qdo.close:A]
 *		closed? leave and wait		| inside? futex wait
 *		inside - 1	[qdo.ask:B]	| copies; closed = 0, wake
 *		closed? wake			|
 *
 * -DMONITOR, -DBARRIER or -DGATE chooses one of them. C functions: wake, rest,
 * lull_qdo_request_done, drain, enter_gate, leave_gate, close_gates, open_gates.
 *
 * Proved: no thread sleeps on while it has something to do (no deadlock); a fork finds no thread
 * within a request (assertion).
 *
 * Mutants. Each removes the order of one access: PROMPT_RELAXED [qdo.prompt:A], REST_RELAXED
 * [qdo.rest:A], FINISH_RELAXED [qdo.finish:A], AWAIT_RELAXED [qdo.await:A] and ASK_B_RELAXED
 * [qdo.ask:B] are caught by a deadlock, ASK_A_RELAXED [qdo.ask:A] and CLOSE_RELAXED [qdo.close:A]
 * by the assertion. For a count by an atomic instruction, the mutant also removes the instruction,
 * because atomic counts and exchanges order fully on every machine here.
 *
 * A futex wait is one step that compares, then sleeps until woken, and orders fully: the kernel's
 * lock does both. Not modelled: time-outs, spurious wake-ups; the phases of qdo_barrier().
 *
 * Typical: less than 1,000 states and a second.
 */
#define CPUS 2
#define VARS 2

#include "../machine/machine.pml"

bit is_asleep; /* the sleeper is in its futex's queue */
byte is_done;

#define FUTEX_WAIT(cpu, v, x) \
	atomic { \
		SMP_MB(cpu); \
		if \
		:: mem[v] == (x) -> is_asleep = 1 \
		:: else \
		fi \
	}; \
	!is_asleep
#define FUTEX_WAKE(cpu) d_step { barrier_(cpu); is_asleep = 0 }

#if defined(MONITOR)
#define PROMPTED 0
#define STATE 1 /* 0: awake */

active proctype waker()
{
	byte found;

#ifdef MUTANT_PROMPT_RELAXED
	STORE(0, PROMPTED, 1);
#else
	EXCHANGE(0, PROMPTED, 1, found); /* [qdo.prompt:A] */
#endif
	if
	:: LOAD(0, STATE) == 0
	:: else ->
		EXCHANGE(0, STATE, 0, found);
		if
		:: found -> FUTEX_WAKE(0)
		:: else
		fi
	fi
}

active proctype monitor()
{
	byte found;

	do
	:: true ->
		if
		:: LOAD(1, PROMPTED) -> EXCHANGE(1, PROMPTED, 0, found); break
		:: else
		fi;
#ifdef MUTANT_REST_RELAXED
		STORE(1, STATE, 1);
#else
		STORE_FULL(1, STATE, 1); /* [qdo.rest:A] */
#endif
		if
		:: LOAD(1, PROMPTED)
		:: else -> FUTEX_WAIT(1, STATE, 1)
		fi;
		STORE_FULL(1, STATE, 0)
	od
}

#elif defined(BARRIER)
#define OUTSTANDING 0
#define AWAITED 1

active proctype executor()
{
	byte found;

	/* The request was made before the barrier. */
	is_done == 1;
#ifdef MUTANT_FINISH_RELAXED
	STORE(0, OUTSTANDING, 0);
#else
	ADD(0, OUTSTANDING, -1, found); /* [qdo.finish:A] */
#endif
	if
	:: LOAD(0, AWAITED) ->
		EXCHANGE(0, AWAITED, 0, found);
		if
		:: found -> FUTEX_WAKE(0)
		:: else
		fi
	:: else
	fi
}

active proctype drain()
{
	byte found;

	atomic { ADD(1, OUTSTANDING, 1, found); SMP_MB(0); is_done = 1 };
	do
	:: true ->
#ifdef MUTANT_AWAIT_RELAXED
		STORE(1, AWAITED, 1);
#else
		STORE_FULL(1, AWAITED, 1); /* [qdo.await:A] */
#endif
		if
		:: LOAD(1, OUTSTANDING) == 0 -> break
		:: else -> FUTEX_WAIT(1, AWAITED, 1)
		fi
	od;
	is_done = 2;
	STORE(1, AWAITED, 0)
}

#elif defined(GATE)
#define INSIDE 0
#define CLOSED 1

bit is_within; /* in the middle of a request */
bit fork_asleep;

inline leave_gate()
{
#ifdef MUTANT_ASK_B_RELAXED
	STORE(0, INSIDE, 0);
#else
	ADD(0, INSIDE, -1, found); /* [qdo.ask:B] */
#endif
	if
	:: LOAD(0, CLOSED) -> d_step { barrier_(0); fork_asleep = 0 }
	:: else
	fi
}

active proctype asker()
{
	byte found;

	do
	:: true ->
#ifdef MUTANT_ASK_A_RELAXED
		STORE(0, INSIDE, 1);
#else
		ADD(0, INSIDE, 1, found); /* [qdo.ask:A] */
#endif
		if
		:: LOAD(0, CLOSED) == 0 -> break
		:: else
		fi;
		leave_gate();
		FUTEX_WAIT(0, CLOSED, 1)
	od;
	is_within = 1;
	is_within = 0;
	leave_gate()
}

active proctype fork()
{
#ifdef MUTANT_CLOSE_RELAXED
	STORE(1, CLOSED, 1);
#else
	STORE_FULL(1, CLOSED, 1); /* [qdo.close:A] */
#endif
	do
	:: LOAD(1, INSIDE) == 0 -> break
	:: LOAD(1, INSIDE) != 0 ->
		atomic {
			SMP_MB(1);
			if
			:: mem[INSIDE] == 1 -> fork_asleep = 1
			:: else
			fi
		};
		!fork_asleep
	od;
	/* a child finds no half of a request */
	assert(!is_within);
	STORE_FULL(1, CLOSED, 0);
	FUTEX_WAKE(1)
}
#endif
