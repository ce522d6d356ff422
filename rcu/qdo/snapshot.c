// SPDX-License-Identifier: MIT
/*
 * Snapshot: a request keeps the generations of its CPUs as they were when it was taken.
 *
 * Paper: Q 3.3.2 (figures 3.5-3.7): a request waits for all its CPUs at once. Design:
 * docs/design/41-qdo.md. No CPU keeps a table of the others' generations: a request reads those
 * that it needs.
 */
#include "core.h"

void qdo_snapshot_begin(struct qdo_core *core, unsigned int index, struct qdo_request *request)
{
	const unsigned int until = core->cpu_count;
	unsigned int i = qdo_set_next(&request->quiescence, 0, until);

	request->snapshot.at = i;
	for (; i < until; i = qdo_set_next(&request->quiescence, i + 1, until)) {
		request->generations[i] = lull_mem_load(&core->cpus[i].operations.generation);
		core->cpus[index].counts.communications += i != index;
	}
	qdo_wait(&core->cpus[index], request);
}

/* A CPU that has passed is not looked at again: the next call begins where this one ends. */
static int is_quiescent(struct qdo_core *core, unsigned int index, struct qdo_request *request)
{
	const unsigned int until = core->cpu_count;
	unsigned int at = (unsigned int)request->snapshot.at;

	while (at < until && qdo_generation_passed(core, index, at, &request->generations[at])) {
		at = qdo_set_next(&request->quiescence, at + 1, until);
		if (LULL_MUTANT(QDO_SNAPSHOT_FIRST))
			at = until;
	}
	request->snapshot.at = at;
	return at == until;
}

void qdo_snapshot_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	struct qdo_request *request, *next;

	/* In Q's mode only this step moves this CPU's generation, for which requests may wait. */
	if (core->own_generation_only && lull_mem_load(&core->pending))
		qdo_generation_advance(core, index, QDO_GENERATIONS);
	for (request = qdo_waiting_all(cpu); request; request = next) {
		next = request->next;
		if (is_quiescent(core, index, request))
			qdo_done(cpu, request, result);
		else
			qdo_wait(cpu, request);
	}
	result->waits = cpu->waiting != NULL;
}
