// SPDX-License-Identifier: MIT
/*
 * A CPU's step, and an instance's beginning.
 *
 * Papers: Q 4.5 (checking stops), 4.6 (fork), 4.7 (the monitor). Design: docs/design/41-qdo.md.
 *
 *	submitted --take, heavy fence, begin--> waiting --quiescent--> done
 *
 * Which threads write and read each word:
 *	listed, stepped		any thread that submits; this CPU's step takes
 *	arrived			other CPUs' steps put requests there; this CPU's step takes them
 *	token.number		the step of the CPU before puts the token; this CPU's step takes it
 *	tree.number		this CPU's step; the parent's step reads it
 *	waiting, seen, since	this CPU's step alone
 *	pending			threads that submit, steps that complete; all steps read it
 *	core->tree.batch	CPU 0's step; all steps read it
 *	core->tree.wakes	steps that take a first request; all steps read it
 *	core->token.at		the step that passes the token; steps with a first request read it
 *
 * Barrier pairs (label: what it orders; partner):
 *	[qdo.take:A]	what was removed before a request, before any generation is read for it
 *								[qdo.enter:A], [qdo.judge:C]
 *	[qdo.judge:C]	a generation, or batch, before the counts of operations	[qdo.take:A],
 *								[qdo.passed:A]
 *	[qdo.passed:A]	a generation before what follows		[qdo.judge:C]
 *	[qdo.pass:A]	judgements of one CPU before the token moves on	[qdo.hold:B]
 *	[qdo.hold:B]	the token seen before pending and generations	[qdo.wake:A], [qdo.pass:A]
 *	[qdo.wake:A]	pending before where the token is	[qdo.hold:B]
 *	[qdo.publish:A]	judgements of a subtree before its batch number	[qdo.poll:A]
 *	[qdo.poll:A]	a child's batch number before what follows	[qdo.publish:A]
 *	[qdo.push:A]	a request's fields before it is in a list	[qdo.collect:A]
 *	[qdo.collect:A]	the list before its requests' fields	[qdo.push:A]
 *
 * Invariants:
 *	I1 a request is handed out when each CPU of its quiescence set has been judged, since the
 *	   request was taken, to have no operation inside by either parity
 *	I2 a request is in one list at a time, and pending counts it from its submission until it is
 *	   handed out
 *	I3 one CPU holds the token
 *
 * Progress: a step does not wait. It makes one pass over the requests that wait on its CPU.
 */
#include "core.h"

#include <errno.h>

size_t qdo_core_bytes(unsigned int cpu_count)
{
	return cpu_count * sizeof(struct qdo_cpu);
}

size_t qdo_core_request_bytes(const struct qdo_core *core)
{
	size_t words = core->algorithm == QDO_SNAPSHOT ? core->cpu_count : 0;

	return sizeof(struct qdo_request) + words * sizeof(unsigned long);
}

int qdo_core_start(struct qdo_core *core, void *memory)
{
	if (!core->cpu_count || core->cpu_count > QDO_CPUS_MAX ||
	    (unsigned int)core->algorithm > QDO_TREE ||
	    (unsigned int)core->submission > QDO_SUBMIT_LOCK ||
	    (core->prompting && core->own_generation_only))
		return -EINVAL;
	core->cpus = memory;
	qdo_core_reset(core);
	return 0;
}

void qdo_core_reset(struct qdo_core *core)
{
	unsigned int i;

	for (i = 0; i < core->cpu_count; i++) {
		struct qdo_cpu *cpu = &core->cpus[i];

		qdo_operations_reset(&cpu->operations);
		qdo_submissions_reset(&cpu->submissions);
		cpu->waiting = NULL;
		cpu->waiting_end = &cpu->waiting;
	}
	/* At the fork the parent may have been passing the token, or moving the batch. */
	qdo_token_reset(core);
	qdo_multi_token_reset(core);
	qdo_tree_reset(core);
	core->pending = 0;
}

void qdo_wait(struct qdo_cpu *cpu, struct qdo_request *request)
{
	request->next = NULL;
	*cpu->waiting_end = request;
	cpu->waiting_end = &request->next;
}

struct qdo_request *qdo_waiting_all(struct qdo_cpu *cpu)
{
	struct qdo_request *all = cpu->waiting;

	cpu->waiting = NULL;
	cpu->waiting_end = &cpu->waiting;
	return all;
}

void qdo_done(struct qdo_cpu *cpu, struct qdo_request *request, struct qdo_step *result)
{
	request->next = NULL;
	*result->done_end = request;
	result->done_end = &request->next;
	cpu->counts.completed++;
}

unsigned int qdo_set_next(const struct qdo_set *set, unsigned int from, unsigned int until)
{
	unsigned int word = from / QDO_WORD_BITS, cpu;
	unsigned long bits;

	if (from >= until)
		return until;
	bits = set->bits[word] & ~0UL << from % QDO_WORD_BITS;
	while (!bits && ++word * QDO_WORD_BITS < until)
		bits = set->bits[word];
	if (!bits)
		return until;
	cpu = word * QDO_WORD_BITS + (unsigned int)__builtin_ctzl(bits);
	return cpu < until ? cpu : until;
}

static void request_begin(struct qdo_core *core, unsigned int index, struct qdo_request *request,
			  struct qdo_step *result)
{
	request->origin = index;
	switch (core->algorithm) {
	case QDO_SNAPSHOT:
		qdo_snapshot_begin(core, index, request);
		break;
	case QDO_TOKEN:
		qdo_token_begin(core, index, request);
		break;
	case QDO_MULTI_TOKEN:
		qdo_multi_token_begin(core, index, request, result);
		break;
	case QDO_TREE:
		qdo_tree_begin(core, index, request);
		break;
	}
}

static void algorithm_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	switch (core->algorithm) {
	case QDO_SNAPSHOT:
		qdo_snapshot_step(core, index, result);
		break;
	case QDO_TOKEN:
		qdo_token_step(core, index, result);
		break;
	case QDO_MULTI_TOKEN:
		qdo_multi_token_step(core, index, result);
		break;
	case QDO_TREE:
		qdo_tree_step(core, index, result);
		break;
	}
}

void qdo_core_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	struct qdo_request *taken = qdo_submitted_take(core, index), *next;
	unsigned long completed = cpu->counts.completed;

	result->done = NULL;
	result->done_end = &result->done;
	result->waits = 0;
	cpu->counts.steps++;
	/*
	 * [qdo.take:A] heavy, once for all requests taken. Pairs with [qdo.enter:A], [qdo.judge:C].
	 * Orders: the removals that requesters made before these requests, and the taking of the
	 * requests, before the reads of generations and batch numbers below; in every operation,
	 * its count of entry before its reads.
	 * Else: an operation reads an object that was removed before the request, its count of
	 * entry is not visible yet, and the request does not wait for that operation.
	 * Mutants: QDO_TAKE_NO_FENCE, QDO_FENCE_LATE.
	 */
	if (taken && !LULL_MUTANT(QDO_TAKE_NO_FENCE))
		lull_qdo_fence_heavy();
	/* Bound: the requests submitted to this CPU since its last step. */
	for (; taken; taken = next) {
		next = taken->next;
		request_begin(core, index, taken, result);
	}
	algorithm_step(core, index, result);
	completed = cpu->counts.completed - completed;
	result->pending = completed ? lull_mem_add(&core->pending, 0 - completed) :
				      lull_mem_load(&core->pending);
}
