// SPDX-License-Identifier: MIT
/*
 * Single token ring: a CPU passes the token on once it was quiescent since the token came.
 *
 * Papers: Q 2.2.2 (figure 2.10), 3.3.2. Design: docs/design/41-qdo.md. Barrier pairs are in core.c.
 *
 * A request is done at the token's second arrival after it was taken: in between every CPU has
 * received the token, and has been quiescent since. The token lies still while no request is
 * pending; the first request prompts the CPU where it lies.
 */
#include "core.h"

void qdo_token_reset(struct qdo_core *core)
{
	unsigned int i;

	for (i = 0; i < core->cpu_count; i++)
		core->cpus[i].token = (struct qdo_token_cpu){ .number = i == 0 };
	core->token.at = 0;
}

void qdo_token_begin(struct qdo_core *core, unsigned int index, struct qdo_request *request)
{
	request->token.since = 0;
	qdo_wait(&core->cpus[index], request);
	/*
	 * [qdo.wake:A] the heavy fence of [qdo.take:A], which comes after the requester has added
	 * to pending. Pairs with [qdo.hold:B].
	 * Orders: that addition before the read of the CPU to which the token was passed.
	 * Else: the step that holds the token sees nothing pending, this step prompts a CPU that
	 * held it earlier, and the token lies still for ever.
	 */
	if (request->is_first && core->prompting && !LULL_MUTANT(QDO_NO_WAKE))
		qdo_port_prompt(core, (unsigned int)lull_mem_load(&core->token.at));
}

/* Bound: the requests that wait here. */
static void token_arrive(struct qdo_cpu *cpu, unsigned long token, struct qdo_step *result)
{
	struct qdo_request *request, *next;

	cpu->token.seen = token;
	cpu->token.since = lull_mem_load(&cpu->operations.generation);
	for (request = qdo_waiting_all(cpu); request; request = next) {
		next = request->next;
		if (request->token.since || LULL_MUTANT(QDO_TOKEN_FIRST)) {
			qdo_done(cpu, request, result);
		} else {
			request->token.since = token;
			qdo_wait(cpu, request);
		}
	}
}

static void token_pass(struct qdo_core *core, unsigned int index, unsigned long token)
{
	const unsigned int next = (index + 1) % core->cpu_count;

	core->cpus[index].counts.communications += next != index;
	if (!LULL_MUTANT(QDO_TOKEN_KEPT))
		lull_mem_store(&core->cpus[index].token.number, 0);
	if (core->prompting)
		lull_mem_store(&core->token.at, next);
	/*
	 * [qdo.pass:A] release. Pairs with [qdo.hold:B].
	 * Orders: the judgement of this CPU's operations, the removal of the token from this CPU,
	 * and the store of the CPU to which it is passed, before the next CPU has the token.
	 * Else: a callback runs beside operations of a CPU that was judged before.
	 * Mutant: QDO_PASS_RELAXED.
	 */
	lull_mem_store_release(&core->cpus[next].token.number, token + 1 ? token + 1 : 1);
	if (core->prompting)
		qdo_port_prompt(core, next);
}

void qdo_token_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	const unsigned long token = lull_mem_load(&cpu->token.number);

	if (!token)
		return;
	/*
	 * [qdo.hold:B] full. Pairs with [qdo.wake:A], [qdo.pass:A].
	 * Orders: the read of the token, which shows what the CPUs before stored, before the reads
	 * of pending and of this CPU's generation, and before callbacks.
	 * Else: this step finds nothing pending while a request's step prompts an earlier holder,
	 * so the token lies still; or a callback runs beside operations of a CPU that was judged
	 * before.
	 */
	lull_mem_fence();
	if (!lull_mem_load(&core->pending))
		return;
	if (cpu->token.seen != token)
		token_arrive(cpu, token, result);
	if (qdo_generation_passed(core, index, index, &cpu->token.since))
		token_pass(core, index, token);
	else
		result->waits = 1;
}
