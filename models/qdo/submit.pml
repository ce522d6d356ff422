/* SPDX-License-Identifier: MIT */
/*
 * The three ways in which requests get into their CPU's list, and how a step empties it.
 * Paper: Q 4.8.1-4.8.3.
 *
 *	requester, CPU 0			| the step, on CPU 1
 *	pending + 1; fields			|
 *	LOCK	lock; next = head; head; unlock	| lock; head; head = 0; unlock
 *	FREE	next = head; compare and swap	| exchange by 0
 *	RESTARTABLE				| head is not stepped_taken?
 *		next = head; a step of the CPU	| stepped_taken = head
 *		or, refused, as FREE		| as FREE
 *						| reverses, hands out
 *
 * -DSUBMIT_LOCK or -DSUBMIT_RESTARTABLE choose one; without either it is FREE. AGAIN: request 1 is
 * submitted a second time, in the same memory. C functions: qdo_core_submit, qdo_list_push,
 * step_push, submit_restartable, submit_locked, qdo_list_take, take_stepped, take_locked, reversed.
 *
 * Proved: each request comes out as often as it was submitted, complete, and oldest first
 * (assertions), and it comes out (no deadlock). The order is not checked for the restartable list:
 * a request that its step refused may overtake others or be overtaken.
 *
 * Mutants. An assertion catches QDO_PUSH_STORE (a request is pushed by a store), QDO_NO_LOCK (the
 * list is changed without its lock), PUSH_RELAXED (the push is not a release) and COLLECT_RELAXED
 * (the exchange that empties the list is not an acquire). A deadlock shows QDO_TAKE_STORE (the list
 * is read, then emptied by a store) and QDO_STEPPED_SAME (a request has the same word in the list
 * each time). With SUBMIT_LOCK the lock's own order suffices.
 *
 * Bounds: 2 requests; 2 restarts of at most RESTARTS_MAX, of which one may be without cause.
 * A request's link is not a word of the machine: only its requester or the step that took it writes
 * it, before the same access that publishes its fields, for which FIELD stands. A thread that
 * waits for the lock blocks.
 *
 * Typical: 36,000 states, less than a second.
 */
#define TAKER_CPU 1
#define CPUS 2
#ifndef REQUESTS
#define REQUESTS 2
#endif
#define SUBMITTED 0
#define STEPPED 1
#define STEPPED_TAKEN 2
#define LOCK 3
#define FIELD(r) (3 + (r)) /* requests are numbered from 1; a word of the list is 2 r + bit */
#define PENDING (4 + REQUESTS)
#define VARS (5 + REQUESTS)
#define AGAIN_BIT 1
#define REQUEST_OF(word) ((word) >> 1)
#define WORD(r) ((r) << 1)

#include "../machine/machine.pml"

/* A restartable step does not wait between its look and its store. */
#ifdef MACHINE_TSO
#define CAN_STORE(cpu) (tso_count[cpu] < TSO_DEPTH)
#else
#define CAN_STORE(cpu) true
#endif

byte next[REQUESTS + 1]; /* words */
byte submissions[REQUESTS + 1]; /* how often it was handed in */
byte taken_count[REQUESTS + 1]; /* how often it came out */
byte requesters_left = REQUESTS;
byte stamp[REQUESTS + 1]; /* the checker's: which push into its list it was */
byte pushed_count;
byte last_stamp;

#ifdef MUTANT_PUSH_RELAXED
#define PUSH_CAS(cpu, v, expect, desired, result) \
	d_step { result = mem[v]; \
		if :: result == (expect) -> write_through_(cpu, v, desired) :: else fi }
#define PUSH_STORE_RELEASE(cpu, v, x) STORE(cpu, v, x)
#else
#define PUSH_CAS(cpu, v, expect, desired, result) CAS(cpu, v, expect, desired, result)
#define PUSH_STORE_RELEASE(cpu, v, x) STORE_RELEASE(cpu, v, x)
#endif

/* Compare and swap. */
inline list_push(cpu, r)
{
	found = LOAD(cpu, SUBMITTED);
	do
	:: true ->
		atomic { expect = found; next[r] = expect };
#ifdef MUTANT_QDO_PUSH_STORE
		atomic {
			STORE_RELEASE(cpu, SUBMITTED, WORD(r));
			pushed_count++;
			stamp[r] = pushed_count;
			break
		}
#else
		atomic {
			PUSH_CAS(cpu, SUBMITTED, expect, WORD(r), found); /* [qdo.push:A] */
			if
			:: found == expect -> pushed_count++; stamp[r] = pushed_count; break
			:: else
			fi
		}
#endif
	od;
	atomic { found = 0; expect = 0 }
}

/* A restartable step, which a signal or a migration may refuse; then by compare and swap. */
inline step_push(cpu, r)
{
	do
	:: restarts == 2 -> list_push(cpu, r); break
	:: restarts < 2 ->
		expect = LOAD(cpu, STEPPED);
		word = WORD(r);
#ifndef MUTANT_QDO_STEPPED_SAME
		word = (LOAD(cpu, STEPPED_TAKEN) == word -> word | AGAIN_BIT : word);
#endif
		next[r] = expect;
		if
		:: atomic {
				LOAD(cpu, STEPPED) == expect && CAN_STORE(cpu) ->
				PUSH_STORE_RELEASE(cpu, STEPPED, word);
				expect = 0;
				word = 0;
				break
			}
		:: LOAD(cpu, STEPPED) != expect || restarts == 0 -> restarts++
		fi
	od;
	atomic { restarts = 0; expect = 0; word = 0 }
}

inline locked_push(cpu, r)
{
#ifndef MUTANT_QDO_NO_LOCK
	atomic { mem[LOCK] == 0 -> EXCHANGE(cpu, LOCK, 1, found); found = 0 };
#endif
	next[r] = LOAD(cpu, SUBMITTED);
	atomic {
		STORE(cpu, SUBMITTED, WORD(r));
		pushed_count++;
		stamp[r] = pushed_count
	};
#ifndef MUTANT_QDO_NO_LOCK
	STORE_RELEASE(cpu, LOCK, 0)
#endif
}

/* Hands the request in; when it has come out, once more with AGAIN. */
proctype requester(byte r)
{
	byte found, expect, word, restarts;

	ADD(0, PENDING, 1, found);
	STORE(0, FIELD(r), 1); /* since, which says whether it is a wake */
	submissions[r] = 1;
#if defined(SUBMIT_LOCK)
	locked_push(0, r);
#elif defined(SUBMIT_RESTARTABLE)
	step_push(0, r);
#else
	list_push(0, r);
#endif
#ifdef AGAIN
	if
	:: r == 1 ->
		atomic { taken_count[r] == 1 -> SMP_MB(0) }; /* the callback, in some thread */
		ADD(0, PENDING, 1, found);
		STORE(0, FIELD(r), 2);
		submissions[r] = 2;
		step_push(0, r)
	:: else
	fi;
#endif
	d_step { found = 0; requesters_left-- };
	/* none is lost */
	taken_count[r] == submissions[r]
}

/* From word to until, newest first in the list; handed out oldest first. */
inline reversed(cpu, until)
{
	do
	:: word == until -> break
	:: else ->
		atomic {
			found = REQUEST_OF(word);
			/* what is in a list was handed in, and not yet taken */
			assert(found > 0 && found <= REQUESTS);
			assert(taken_count[found] < submissions[found]);
			/* its fields are there */
			assert(LOAD(cpu, FIELD(found)) == submissions[found]);
			word = next[found];
			next[found] = list;
			list = found
		}
	od;
	atomic { found = 0; word = 0 }
}

inline hand_out(cpu)
{
	do
	:: list == 0 -> break
	:: else ->
		atomic {
			SMP_MB(cpu);
			found = list;
#ifndef SUBMIT_RESTARTABLE
			/* oldest first */
			assert(stamp[found] > last_stamp);
			last_stamp = stamp[found];
#endif
			list = next[found];
			next[found] = 0;
			taken_count[found]++;
			found = 0
		}
	od
}

#ifdef MUTANT_COLLECT_RELAXED
#define COLLECT_EXCHANGE(cpu, v, x, result) \
	d_step { result = mem[v]; write_through_(cpu, v, x) }
#define COLLECT_LOAD(cpu, v, result) result = LOAD(cpu, v)
#else
#define COLLECT_EXCHANGE(cpu, v, x, result) EXCHANGE(cpu, v, x, result)
#define COLLECT_LOAD(cpu, v, result) LOAD_ACQUIRE(cpu, v, result)
#endif

inline list_take(cpu)
{
	if
	:: LOAD(cpu, SUBMITTED) ->
#ifdef MUTANT_QDO_TAKE_STORE
		LOAD_ACQUIRE(cpu, SUBMITTED, word);
		STORE(cpu, SUBMITTED, 0);
#else
		COLLECT_EXCHANGE(cpu, SUBMITTED, 0, word); /* [qdo.collect:A] */
#endif
		reversed(cpu, 0);
		hand_out(cpu)
	:: else
	fi
}

inline stepped_take(cpu)
{
	COLLECT_LOAD(cpu, STEPPED, word);
	taken = LOAD(cpu, STEPPED_TAKEN);
	if
	:: word != taken ->
		STORE(cpu, STEPPED_TAKEN, word);
		reversed(cpu, taken);
		hand_out(cpu)
	:: else -> word = 0
	fi;
	taken = 0
}

inline locked_take(cpu)
{
	if
	:: LOAD(cpu, SUBMITTED) ->
		atomic { mem[LOCK] == 0 -> EXCHANGE(cpu, LOCK, 1, found); found = 0 };
		word = LOAD(cpu, SUBMITTED);
		STORE(cpu, SUBMITTED, 0);
		STORE_RELEASE(cpu, LOCK, 0);
		reversed(cpu, 0);
		hand_out(cpu)
	:: else
	fi
}

/* The step of the CPU: whenever there is something; here it looks at memory to know. */
proctype taker()
{
	byte word, taken, list, found;

end:	do
	:: LOAD(TAKER_CPU, SUBMITTED) != 0 ||
	   LOAD(TAKER_CPU, STEPPED) != LOAD(TAKER_CPU, STEPPED_TAKEN) ->
#if defined(SUBMIT_LOCK)
		locked_take(TAKER_CPU)
#elif defined(SUBMIT_RESTARTABLE)
		stepped_take(TAKER_CPU);
		list_take(TAKER_CPU)
#else
		list_take(TAKER_CPU)
#endif
	od
}

init {
	atomic {
		for (each_ : 1 .. REQUESTS) {
			run requester(each_)
		}
		each_ = 0;
		run taker()
	}
}
