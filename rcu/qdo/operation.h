/* SPDX-License-Identifier: MIT */
/*
 * An operation counts itself: the few instructions that the whole of QDo rests on.
 *
 * Included by generation.c, and by a host whose port's steps are inline, to save calls. What the
 * counts mean is told in generation.c. Paper: Q 2.2.2.
 */
#ifndef LULL_QDO_OPERATION_H
#define LULL_QDO_OPERATION_H

#include "core.h"

/* Begins an operation if the caller is on @cpu. Return: as of lull_qdo_count(). */
static inline int qdo_operation_enter(struct qdo_core *core, uint32_t cpu,
				      struct qdo_ticket *ticket)
{
	struct qdo_cpu *place = &core->cpus[cpu];
	int done;

	ticket->cpu = cpu;
	ticket->parity = (uint32_t)lull_mem_load(&place->operations.generation) & 1;
	done = lull_qdo_count(cpu, &place->operations.entered[ticket->parity]);
	/*
	 * [qdo.enter:A] light. Pairs with [qdo.take:A].
	 * Orders: the count before what the operation reads.
	 * Else: a request does not wait for an operation that sees what it removed.
	 * Mutants: QDO_TAKE_NO_FENCE, QDO_ENTER_NO_LIGHT.
	 */
	if (!LULL_MUTANT(QDO_ENTER_NO_LIGHT))
		lull_mem_fence_light();
	return done;
}

/* Ends it, if the caller is where it began. Return: as of lull_qdo_count(). */
static inline int qdo_operation_leave(struct qdo_core *core, struct qdo_ticket ticket)
{
	const uint32_t cpu = LULL_MUTANT(QDO_LEAVE_HERE) ? lull_qdo_cpu() : ticket.cpu;

	/*
	 * [qdo.leave:A] release, here and where it is counted atomically. Pairs with
	 * [qdo.judge:A], [qdo.judge:B].
	 * Orders: the operation, and its own entry, before the count of leaving.
	 * Else: a callback runs beside the operation's last accesses. Mutant: QDO_LEAVE_RELAXED.
	 */
	return lull_qdo_count(cpu, &core->cpus[cpu].operations.left[ticket.parity]);
}

#endif
