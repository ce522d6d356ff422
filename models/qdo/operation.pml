/* SPDX-License-Identifier: MIT */
/*
 * Operations and generations of CPUs, as rcu/qdo/operation.h and rcu/qdo/generation.c have them;
 * included by the models, after machine.pml. Paper: Q 2.2.2, 3.3.1.
 *
 *	operation			| the step that judges
 *	parity = generation & 1		| generation
 *	entered[parity] + 1		| left[parity] = entered[parity]?
 *	reads, writes			| then generation + 1, by compare and swap
 *	left[parity] + 1		|
 *
 * The C names: qdo_operation_enter, qdo_operation_leave, is_drained, qdo_generation_advance,
 * qdo_generation_passed. The mutants are those of rcu/qdo in port/sched/mutants.h; the header of
 * each model that includes this file says what catches them.
 *
 * A model defines before it includes this:
 *	PLACES	how many CPUs QDo knows
 *	OPERATION_PLACE	the only one that has operations, if there is one: others need no counts
 *	ELSEWHERE	operations may also be counted by atomic instructions, and move
 * and numbers its own words from QDO_WORDS on.
 *
 * Why the abstractions hide no error: the C words overflow at 2^64, and numbers that are compared
 * by which is later overflow at 8 here. No number is more than 3 behind another, because a CPU's
 * generation moves only when a request that waits for that CPU moves it. A restartable step is one
 * step: nothing of its CPU interleaves, and a step that was refused has the effect of one that has
 * not begun. A thread that moves to another CPU leaves no store behind: the kernel's change of CPU
 * is a full barrier.
 *
 * Compilers: a missing light fence is modelled by what it then permits, a read before the count.
 */
#ifdef ELSEWHERE
#define COUNTS 8
#else
#define COUNTS 4
#endif
#define GENERATION(c) (c)
#ifdef OPERATION_PLACE
#define HAS_OPERATIONS(c) ((c) == OPERATION_PLACE)
#define ENTERED(c, p) (PLACES + (p))
#define QDO_WORDS (PLACES + COUNTS)
#else
#define HAS_OPERATIONS(c) true
#define ENTERED(c, p) (PLACES + (c) * COUNTS + (p))
#define QDO_WORDS (PLACES + PLACES * COUNTS)
#endif
#define LEFT(c, p) (ENTERED(c, p) + 2)
#define ENTERED_ELSEWHERE(c, p) (ENTERED(c, p) + 4)
#define LEFT_ELSEWHERE(c, p) (ENTERED(c, p) + 6)

#if defined(MUTANT_QDO_ONE_GENERATION)
#define GENERATIONS 1
#elif defined(MUTANT_QDO_TWO_GENERATIONS)
#define GENERATIONS 2
#else
#define GENERATIONS 3 /* QDO_GENERATIONS */
#endif

#define NUMBER(x) ((x) & 7)
#define REACHED(number, target) (NUMBER((number) - (target)) < 4) /* qdo_number_reached() */

byte running_count; /* operations that have not ended */

/* lull_qdo_count(): a step of the CPU on which the caller is. */
#define COUNT(cpu, v) STORE_RELEASE(cpu, v, LOAD(cpu, v) + 1)

inline enter(cpu, c)
{
	parity = LOAD(cpu, GENERATION(c)) & 1;
#ifdef ELSEWHERE
	if
	:: COUNT(cpu, ENTERED(c, parity))
	:: ADD(cpu, ENTERED_ELSEWHERE(c, parity), 1, found)
	fi
#else
	COUNT(cpu, ENTERED(c, parity))
#endif
	/* [qdo.enter:A] light: nothing on these machines */
}

/* [qdo.leave:A] */
inline leave(cpu, c)
{
#if defined(MUTANT_QDO_LEAVE_RELAXED)
	STORE(cpu, LEFT(c, parity), LOAD(cpu, LEFT(c, parity)) + 1)
#elif defined(MUTANT_QDO_LEAVE_HERE)
	if
	:: cpu == (c) -> COUNT(cpu, LEFT(c, parity))
	:: else -> skip /* a word of another part of the machine */
	fi
#elif defined(ELSEWHERE)
	if
	:: cpu == (c) -> COUNT(cpu, LEFT(c, parity))
	:: ADD(cpu, LEFT_ELSEWHERE(c, parity), 1, found)
	fi
#else
	COUNT(cpu, LEFT(c, parity))
#endif
}

/* What a step keeps. Each is 0 when it is not in use. */
#define STEP_LOCALS byte generation, target, most, left, entered, found; bit drained, quiescent

#ifdef MUTANT_JUDGE_RELAXED
#define JUDGE_LOAD(cpu, v, result) result = result + LOAD(cpu, v)
#else
#define JUDGE_LOAD(cpu, v, result) \
	d_step { add_ = LOAD(cpu, v); fetch_all_(cpu); result = result + add_ }
#endif
#ifdef ELSEWHERE
#define JUDGE_LEFT(cpu, c, p) \
	JUDGE_LOAD(cpu, LEFT(c, p), left); JUDGE_LOAD(cpu, LEFT_ELSEWHERE(c, p), left)
#define JUDGE_ENTERED(cpu, c, p) \
	JUDGE_LOAD(cpu, ENTERED(c, p), entered); \
	entered = entered + LOAD(cpu, ENTERED_ELSEWHERE(c, p))
#else
#define JUDGE_LEFT(cpu, c, p) JUDGE_LOAD(cpu, LEFT(c, p), left)
#define JUDGE_ENTERED(cpu, c, p) JUDGE_LOAD(cpu, ENTERED(c, p), entered)
#endif

inline is_drained(cpu, c, p)
{
	if
	:: HAS_OPERATIONS(c) ->
#ifdef MUTANT_QDO_ENTERED_FIRST
		JUDGE_ENTERED(cpu, c, p);
		JUDGE_LEFT(cpu, c, p);
#else
		JUDGE_LEFT(cpu, c, p); /* [qdo.judge:A] */
		JUDGE_ENTERED(cpu, c, p); /* [qdo.judge:B] */
#endif
		d_step { drained = (left == entered); left = 0; entered = 0 }
	:: else -> drained = 1
	fi
}

/* Leaves what it found in generation. */
inline advance(cpu, c, moves)
{
	d_step { most = (moves) };
	generation = LOAD(cpu, GENERATION(c));
#ifndef MUTANT_JUDGE_UNORDERED
	SMP_MB(cpu); /* [qdo.judge:C] */
#endif
	do
	:: most == 0 -> break
	:: else ->
		is_drained(cpu, c, (generation + 1) & 1);
		if
		:: !drained -> break
		:: else
		fi;
#ifdef MUTANT_QDO_GENERATION_STORE
		atomic { generation = NUMBER(generation + 1);
			STORE(cpu, GENERATION(c), generation) };
#else
		atomic {
			CAS(cpu, GENERATION(c), generation, NUMBER(generation + 1), found);
			generation = (found == generation -> NUMBER(generation + 1) : found);
			found = 0
		};
#endif
		most--
	od;
	atomic { most = 0; drained = 0 }
}

#ifdef OWN_GENERATION_ONLY
#define MAY_MOVE(stepper, c) ((stepper) == (c))
#else
#define MAY_MOVE(stepper, c) true
#endif

/* Leaves its answer in quiescent. */
inline passed(cpu, stepper, place, since)
{
	atomic {
#ifdef MUTANT_PASSED_RELAXED
		generation = LOAD(cpu, GENERATION(place));
#else
		LOAD_ACQUIRE(cpu, GENERATION(place), generation); /* [qdo.passed:A] */
#endif
		target = NUMBER(since + GENERATIONS)
	};
	if
	:: REACHED(generation, target) || !MAY_MOVE(stepper, place)
	:: else ->
		if
		:: generation == since && GENERATIONS == 3 ->
			SMP_MB(cpu); /* as [qdo.judge:C] */
			is_drained(cpu, place, (generation + 1) & 1);
			d_step {
				if
				:: drained -> since = NUMBER(since - 1); target = NUMBER(target - 1)
				:: else
				fi;
				drained = 0
			}
		:: else
		fi;
		advance(cpu, place, NUMBER(target - generation))
	fi;
	d_step { quiescent = REACHED(generation, target); generation = 0; target = 0 }
}
