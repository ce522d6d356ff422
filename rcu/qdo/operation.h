/* SPDX-License-Identifier: MIT */
/*
 * How an operation counts itself: the few instructions on which the whole of QDo rests.
 *
 * generation.c includes this header, and so does a host whose port's steps are inline, to save
 * calls. generation.c explains what the counts mean. Paper: Q 2.2.2.
 */
#ifndef LULL_QDO_OPERATION_H
#define LULL_QDO_OPERATION_H

#include "core.h"

/* Begins an operation if the caller is on @cpu. Return: 1 when it did, else as lull_qdo_count(). */
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
	 * Orders: the count of the operation's entry before its reads.
	 * Else: a request whose caller has removed an object does not see the entry, does not wait,
	 * and the operation still reads that object.
	 * Mutants: QDO_TAKE_NO_FENCE, QDO_ENTER_NO_LIGHT.
	 */
	if (!LULL_MUTANT(QDO_ENTER_NO_LIGHT))
		lull_mem_fence_light();
	return done;
}

/* Ends an operation if the caller is on the CPU where it began. Return: as lull_qdo_count(). */
static inline int qdo_operation_leave(struct qdo_core *core, struct qdo_ticket ticket)
{
	const uint32_t cpu = LULL_MUTANT(QDO_LEAVE_HERE) ? lull_qdo_cpu() : ticket.cpu;

	/*
	 * [qdo.leave:A] release, here and where the leaving is counted atomically. Pairs with
	 * [qdo.judge:A], [qdo.judge:B].
	 * Orders: the operation's accesses, and the count of its entry, before the count of its
	 * leaving.
	 * Else: a callback runs beside the operation's last accesses. Mutant: QDO_LEAVE_RELAXED.
	 */
	return lull_qdo_count(cpu, &core->cpus[cpu].operations.left[ticket.parity]);
}

#endif
