/* SPDX-License-Identifier: MIT */
/*
 * A child of fork() begins with no request and no operation but its own, whatever the other threads
 * of its parent were doing. Paper: Q 4.6.
 *
 *	parent's thread		| another thread	| the child, from any moment on
 *	operation, goes on	| operation		| reset: counts 0, generations stay
 *	in the child		| a step judges		| enters again; a request waits for it
 *
 * C functions: qdo_core_reset, and the order of rcu/qdo/host/fork.c: reset, then
 * enter. One CPU, the snapshot.
 *
 * Proved: a request of the child is done after the child's own operation, and it is done (no
 * deadlock). The mutant QDO_RESET_COUNTS keeps the parent's counts; a deadlock shows it, because
 * the request then waits for operations of threads that the child does not have.
 *
 * Not modelled: memory of requests; the words of the other algorithms, which are set to what
 * qdo_core_start() sets. One address space: the other threads stop at the fork, in any state.
 *
 * Typical: 2,000 states, less than a second.
 */
#define PLACES 1
#define OPERATION_PLACE 0
#define CPUS 1
#define VARS 5

#include "../machine/machine.pml"
#include "operation.pml"

bit forked;
bit child_inside;
bit is_done;

/* A thread of the parent's: stops anywhere. */
proctype parent()
{
	STEP_LOCALS;
	byte parity;

	{
		enter(0, 0);
		advance(0, 0, 2);
		leave(0, 0);
		enter(0, 0);
		advance(0, 0, 2);
		leave(0, 0)
	} unless { forked }
}

/* The operation of the forking thread's that goes on. */
proctype child_operation()
{
	byte parity;

	enter(0, 0);
	child_inside = 1;
	child_inside = 0;
	leave(0, 0);
	d_step { parity = 0; running_count-- }
}

proctype child()
{
	STEP_LOCALS;
	byte since, looks;

	/* At any moment: others are gone. */
	atomic {
		forked = 1;
#ifndef MUTANT_QDO_RESET_COUNTS
		mem[ENTERED(0, 0)] = 0;
		mem[ENTERED(0, 1)] = 0;
		mem[LEFT(0, 0)] = 0;
		mem[LEFT(0, 1)] = 0;
#endif
		running_count = 1
	};
	run child_operation();
	child_inside || running_count == 0;
	since = LOAD(0, GENERATION(0));
	do
	:: quiescent -> break
	:: !quiescent && (running_count > 0 || (timeout && looks < 2)) ->
		looks = looks + (running_count == 0);
		passed(0, 0, 0, since)
	od;
	/* not beside its own operation that had begun; the wait above: it is done at all */
	assert(!child_inside);
	is_done = 1;
#ifdef COVER_DONE
	assert(false)
#endif
}

init {
	atomic {
		run parent();
		run child()
	}
}
