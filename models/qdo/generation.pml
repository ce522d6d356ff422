/* SPDX-License-Identifier: MIT */
/*
 * One CPU's operations and generations, beside a requester and another step that judges late, that
 * is, that compares the counts of a generation long after it read them. Paper: Q 2.2.2, 3.3.1.
 *
 *	operation, CPU 0	| requester, CPU 1		| another step, JUDGE_CPU
 *	enter			| pointer away			| drained?
 *	pointer?		| list, heavy fence		| compare and swap, perhaps
 *	writes to the object	| since = generation		|   long after
 *	leave			| passed? callback		| and again
 *
 * Labels: [qdo.enter:A], [qdo.leave:A], [qdo.judge:A], [qdo.judge:B], [qdo.judge:C],
 *	[qdo.passed:A], [qdo.take:A].
 * C functions: those of operation.pml, and qdo_core_step's fence.
 *
 * Proved: a callback runs only after all operations that may use what the request took away, and
 * after all that these operations wrote (assertions); it does run (no deadlock).
 *
 * Mutants that an assertion catches:
 *	QDO_TAKE_NO_FENCE	requests are taken without a heavy fence
 *	QDO_FENCE_LATE		generations are read before the heavy fence
 *	QDO_ENTER_NO_LIGHT	an operation reads the pointer before it counts itself as entered
 *	QDO_LEAVE_RELAXED	an operation counts itself as left without release
 *	QDO_ENTERED_FIRST	entries are read before leavings
 *	QDO_ONE_GENERATION, QDO_TWO_GENERATIONS	a request waits for one or two, not for three
 *	QDO_GENERATION_STORE	a generation is stored, not swapped
 *	JUDGE_RELAXED		the counts are read without acquire, [qdo.judge:A] and [qdo.judge:B]
 *	PASSED_RELAXED		the generation is read without acquire
 * A deadlock shows QDO_LEAVE_HERE: an operation that moved is counted as left where it leaves.
 * JUDGE_UNORDERED, without the fence [qdo.judge:C], passes: the fence is for machines on which a
 * store reaches one CPU before another, and on all machines here it reaches all CPUs at once.
 *
 * Bounds: OPERATIONS 1 or 2 on one CPU, in any interleaving, so one may be a handler's; JUDGES 0
 * or 1 with JUDGE_MOVES; numbers as in operation.pml. ELSEWHERE: operations move to CPU 1 between
 * their steps, and count by atomic instructions at any time.
 *
 * Typical: 200,000 states, less than a second; with two operations on ALPHA 4,600,000, 20 s.
 */
#define PLACES 1
#define OPERATION_PLACE 0
#ifndef OPERATIONS
#define OPERATIONS 1
#endif
#ifndef JUDGES
#define JUDGES 1
#endif
#ifndef JUDGE_MOVES
#define JUDGE_MOVES 2
#endif
#ifndef JUDGE_CPU
#define JUDGE_CPU 1
#endif
#define CPUS 2
#define POINTER QDO_WORDS
#define OBJECT (QDO_WORDS + 1)
#ifdef ELSEWHERE
#define VARS 11
#else
#define VARS 7
#endif
/* Operations run on CPU 0, the requester on CPU 1. */
#define HERE 1

#include "../machine/machine.pml"
#include "operation.pml"

bit inside[2]; /* it has read the pointer before it was taken away, and may use it */
byte stored; /* to the object, so far */
bit is_done;
byte judges_left = JUDGES;

proctype operation(byte number)
{
	byte cpu, parity, found;
	bit pointer;

#ifdef MUTANT_QDO_ENTER_NO_LIGHT
	pointer = LOAD(cpu, POINTER);
	enter(cpu, 0);
	inside[number] = !pointer;
#else
	enter(cpu, 0);
	atomic { pointer = LOAD(cpu, POINTER); inside[number] = !pointer };
#endif
	if
	:: pointer
	:: !pointer && number == 0 ->
		atomic { STORE(cpu, OBJECT, 1); stored = 1; inside[number] = 0 }
	:: !pointer && number > 0 -> inside[number] = 0
	fi;
#ifdef ELSEWHERE
	if
	:: atomic { SMP_MB(cpu); cpu = HERE }
	:: skip
	fi;
#endif
	leave(cpu, 0);
	d_step { parity = 0; found = 0; cpu = 0; running_count-- }
}

/* A step for an older request: it judges, and may be late. */
proctype judge()
{
	STEP_LOCALS;

	advance(JUDGE_CPU, 0, JUDGE_MOVES);
	d_step { generation = 0; judges_left-- }
}

#ifdef MUTANT_QDO_FENCE_LATE
#define FENCE_BEFORE(cpu)
#define FENCE_AFTER(cpu) HEAVY_BEGIN(cpu); HEAVY_END(cpu)
#elif defined(MUTANT_QDO_TAKE_NO_FENCE)
#define FENCE_BEFORE(cpu)
#define FENCE_AFTER(cpu)
#else
#define FENCE_BEFORE(cpu) HEAVY_BEGIN(cpu); HEAVY_END(cpu) /* [qdo.take:A] */
#define FENCE_AFTER(cpu)
#endif

/* Makes a request, and steps its CPU. */
proctype requester()
{
	STEP_LOCALS;
	byte since, looks;

	STORE(HERE, POINTER, 1);
	SMP_MB(HERE); /* pending, and the list */
	FENCE_BEFORE(HERE);
	since = LOAD(HERE, GENERATION(0));
	FENCE_AFTER(HERE);
	do
	:: quiescent -> break
	:: !quiescent && (running_count > 0 || (timeout && looks < 2)) ->
		looks = looks + (running_count == 0);
		passed(HERE, 1, 0, since)
	od;
	atomic {
		/* never early */
		assert(!inside[0] && !inside[1]);
		/* what operations wrote is seen */
		assert(LOAD(HERE, OBJECT) == stored);
		is_done = 1;
#ifdef COVER_DONE_BESIDE_LATER
		assert(running_count == 0);
#endif
#ifdef COVER_TWO_GENERATIONS
		assert(LOAD(HERE, GENERATION(0)) != 2);
#endif
#ifdef COVER_JUDGED_BY_ANOTHER
		assert(LOAD(HERE, GENERATION(0)) < 5);
#endif
		skip
	};
	/* what has passed stays passed */
	judges_left == 0 && running_count == 0;
	assert(REACHED(LOAD(HERE, GENERATION(0)), since + GENERATIONS));
}

init {
	atomic {
		running_count = OPERATIONS;
		run operation(0);
#if OPERATIONS > 1
		run operation(1);
#endif
#if JUDGES > 0
		run judge();
#endif
		run requester()
	}
}
