/* SPDX-License-Identifier: MIT */
/*
 * Diffracting tree: in each batch, CPUs tell their parent that they were quiescent; the root begins
 * the next batch; a request is done two batches after its own. Paper: Q 3.3.2, figures 3.8 to 3.11.
 *
 *	leaf					| root
 *	batch is new: since = generation	| batch is new: prompts the children
 *	passed? tree = batch [qdo.publish:A]	| passed, and child's tree = batch? [qdo.poll:A]
 *	    prompts the parent			| batch + 1 [qdo.publish:A], prompts itself
 *	request's since + 2 <= batch: done	| the same
 *
 * C functions: qdo_tree_begin, see, children_reached, publish, collect, qdo_tree_step.
 *
 * Proved, as in generation.pml: a callback runs after the operations that may use what its request
 * took away (assertions), and it runs (no deadlock).
 *
 * Mutants. An assertion catches QDO_TREE_NO_CHILD (a batch ends without the children) and
 * QDO_TREE_ONE_BATCH (a request is done at the end of the batch that runs). A deadlock shows
 * QDO_NO_WAKE: the first request does not prompt the root. PUBLISH_RELAXED, without
 * [qdo.publish:A], and POLL_RELAXED, without [qdo.poll:A], pass: a prompt, and the compare and swap
 * of a generation, order the same accesses on the machines here.
 *
 * Operations and steps are those of operation.pml and monitor.pml, whose headers say what is
 * abstracted. Bounds: 2 CPUs; 1 request and 1 operation, or 2 requests; FIRST_ORIGIN: where the
 * first request is made; BATCH_TOLD: CPU 1 has ended the batch before; OWN_GENERATION_ONLY as in
 * token.pml.
 *
 * Typical: 190,000 states and less than a second on SC, 1,440,000 and 4 s on ALPHA.
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
#define BATCH QDO_WORDS
#define WAKES (QDO_WORDS + 1)
#define TREE(c) (QDO_WORDS + 1 + (c)) /* not of CPU 0 */
#define POINTER(r) (QDO_WORDS + 1 + PLACES + (r))
#define OBJECT (QDO_WORDS + 1 + PLACES + REQUESTS)
#define PENDING (QDO_WORDS + 2 + PLACES + REQUESTS)
#ifdef STEPS_ELSEWHERE
#define CPUS 2
#else
#define CPUS PLACES
#endif
#define VARS (PLACES + 4 + 3 + PLACES + REQUESTS)

#include "../machine/machine.pml"
#include "operation.pml"
#include "request.pml"

byte batch[PLACES]; /* the batch that cpu_since belongs to */
byte cpu_since[PLACES];
byte wake[PLACES]; /* the wake that this CPU has passed on */

/* With at most 4 CPUs: 0 has the children 1 and 2, 2 has 3. */
#define PARENT(c) ((c) == 3 -> 2 : 0)
#define FIRST_CHILD(c) (c) + 1
#define HAS_FIRST_CHILD(c) (((c) == 0 || (c) == 2) && (c) + 1 < PLACES)
#define HAS_SECOND_CHILD(c) ((c) == 0 && PLACES > 2)

inline begin(cpu, c, r)
{
	scratch = since[r];
	since[r] = LOAD(cpu, BATCH);
	QDO_WAIT(c, r);
#if !defined(OWN_GENERATION_ONLY) && !defined(MUTANT_QDO_NO_WAKE)
	if
	:: scratch -> ADD(cpu, WAKES, 1, found); PROMPT(cpu, 0)
	:: else
	fi;
	found = 0;
#endif
	scratch = 0
}

inline prompt_children(cpu, c)
{
	if
	:: HAS_FIRST_CHILD(c) -> PROMPT(cpu, c + 1)
	:: else
	fi;
	if
	:: HAS_SECOND_CHILD(c) -> PROMPT(cpu, c + 2)
	:: else
	fi
}

/* found: wakes; taken: is the batch new? */
inline see(cpu, c)
{
	found = LOAD(cpu, WAKES);
	taken = (batch[c] != scratch);
	if
	:: taken ->
		batch[c] = scratch;
		LOAD_ACQUIRE(cpu, GENERATION(c), cpu_since[c])
	:: else
	fi;
#ifndef OWN_GENERATION_ONLY
	if
	:: taken || wake[c] != found -> wake[c] = found; prompt_children(cpu, c)
	:: else
	fi;
#endif
	atomic { found = 0; taken = 0 }
}

#ifdef MUTANT_POLL_RELAXED
#define POLL(cpu, v, result) result = LOAD(cpu, v)
#else
#define POLL(cpu, v, result) LOAD_ACQUIRE(cpu, v, result)
#endif

/* Leaves its answer in quiescent, which is 1. */
inline children_reached(cpu, c)
{
#ifndef MUTANT_QDO_TREE_NO_CHILD
	if
	:: HAS_FIRST_CHILD(c) ->
		POLL(cpu, TREE(c + 1), taken); /* [qdo.poll:A] */
		quiescent = (taken == scratch)
	:: else
	fi;
	if
	:: quiescent && HAS_SECOND_CHILD(c) ->
		POLL(cpu, TREE(c + 2), taken);
		quiescent = (taken == scratch)
	:: else
	fi;
	taken = 0
#else
	skip
#endif
}

#ifdef MUTANT_PUBLISH_RELAXED
#define PUBLISH(cpu, v, x) STORE(cpu, v, x)
#else
#define PUBLISH(cpu, v, x) STORE_RELEASE(cpu, v, x)
#endif

inline publish(cpu, c)
{
	if
	:: c == 0 -> scratch = NUMBER(scratch + 1);
		PUBLISH(cpu, BATCH, scratch) /* [qdo.publish:A] */
	:: else -> PUBLISH(cpu, TREE(c), scratch)
	fi;
#ifndef OWN_GENERATION_ONLY
	PROMPT(cpu, PARENT(c))
#endif
}

#ifdef MUTANT_QDO_TREE_ONE_BATCH
#define BATCHES 1
#else
#define BATCHES 2
#endif

inline collect(cpu, c)
{
	atomic { WAITING_ALL(c, taken); r = 0 };
	do
	:: r == REQUESTS -> break
	:: r < REQUESTS && !(taken >> r & 1) -> r++
	:: r < REQUESTS && (taken >> r & 1) ->
		if
		:: REACHED(scratch, since[r] + BATCHES) -> qdo_done(cpu, r)
		:: else -> QDO_WAIT(c, r)
		fi;
		r++
	od;
	atomic { r = 0; taken = 0 }
}

inline go_on(cpu, c)
{
	if
	:: LOAD(cpu, PENDING) ->
		POLL(cpu, BATCH, scratch);
		see(cpu, c);
		if
		:: c == 0 || LOAD(cpu, TREE(c)) != scratch ->
			passed(cpu, c, c, cpu_since[c]);
			if
			:: quiescent ->
				children_reached(cpu, c);
				if
				:: quiescent -> publish(cpu, c)
				:: else
				fi
			:: else -> waits[c] = 1
			fi;
			quiescent = 0
		:: else
		fi;
		collect(cpu, c)
	:: else
	fi;
	scratch = 0
}

inline begin_all()
{
	begin_with(BATCH, 1)
#ifdef BATCH_TOLD
	;
	begin_with(TREE(1), 1);
	batch[1] = 1
#endif
}

#include "monitor.pml"
