// SPDX-License-Identifier: MIT
/*
 * Multiple token rings: each request goes from CPU to CPU through its own quiescence set.
 *
 * Paper: Q 3.3.2 (figure 3.4). Design: docs/design/41-qdo.md.
 *
 * The request is the token. It begins at its origin, or at the next CPU of its set. On each CPU it
 * waits until that CPU was quiescent since the request arrived. On the last CPU it is done.
 */
#include "core.h"

void qdo_multi_token_reset(struct qdo_core *core)
{
	unsigned int i;

	for (i = 0; i < core->cpu_count; i++)
		core->cpus[i].multi_token.arrived = 0;
}

/*
 * The next CPU of the request's set, from @from on, in the ring that begins at its origin;
 * @wrapped: not 0 when the request has come by CPU 0 already. Return: cpu_count when none is left.
 */
static unsigned int ring_next(const struct qdo_core *core, const struct qdo_request *request,
			      unsigned int from, int wrapped)
{
	const unsigned int count = core->cpu_count, origin = request->origin;
	unsigned int found;

	if (!wrapped) {
		found = qdo_set_next(&request->quiescence, from, count);
		if (found < count)
			return found;
		from = 0;
	}
	found = qdo_set_next(&request->quiescence, from, origin);
	return found < origin ? found : count;
}

/* Lets a request wait on this CPU, sends it to CPU @to, or is done with it. */
static void request_visit(struct qdo_core *core, unsigned int index, unsigned int to,
			  struct qdo_request *request, struct qdo_step *result)
{
	struct qdo_cpu *cpu = &core->cpus[index];

	if (to == core->cpu_count) {
		qdo_done(cpu, request, result);
		return;
	}
	if (to == index) {
		request->multi_token.since = lull_mem_load(&cpu->operations.generation);
		qdo_wait(cpu, request);
		return;
	}
	cpu->counts.communications++;
	qdo_list_push(&core->cpus[to].multi_token.arrived, request);
	if (core->prompting)
		qdo_port_prompt(core, to);
}

void qdo_multi_token_begin(struct qdo_core *core, unsigned int index, struct qdo_request *request,
			   struct qdo_step *result)
{
	request_visit(core, index, ring_next(core, request, index, 0), request, result);
}

void qdo_multi_token_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	struct qdo_request *request = qdo_list_take(&cpu->multi_token.arrived), *next;
	unsigned int to;

	for (; request; request = next) {
		next = request->next;
		if (!LULL_MUTANT(QDO_ARRIVE_KEPT))
			request->multi_token.since = lull_mem_load(&cpu->operations.generation);
		qdo_wait(cpu, request);
	}
	for (request = qdo_waiting_all(cpu); request; request = next) {
		next = request->next;
		if (!qdo_generation_passed(core, index, index, &request->multi_token.since)) {
			qdo_wait(cpu, request);
			continue;
		}
		to = ring_next(core, request, index + 1, index < request->origin);
		request_visit(core, index, LULL_MUTANT(QDO_RING_SHORT) ? core->cpu_count : to,
			      request, result);
	}
	result->waits = cpu->waiting != NULL;
}
