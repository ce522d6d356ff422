// SPDX-License-Identifier: MIT
/*
 * Diffracting tree: CPUs tell each other, pair by pair, that they were quiescent in a batch.
 *
 * Paper: Q 3.3.2 (figures 3.8-3.11). Design: docs/design/41-qdo.md. Barrier pairs are in core.c.
 *
 *	CPU i is a node on as many levels as i has zero bits at its end:
 *
 *	0 <---- 4	CPU 4 tells when CPUs 4, 5, 6 and 7 were quiescent in the batch; CPU 0 looks
 *	0 <- 2, 4 <- 6		at what 1, 2 and 4 tell, then begins the next batch
 *	0 <- 1, 2 <- 3, ...
 *
 * A request that is taken in batch b is done in batch b + 2: every CPU began batch b + 1 after the
 * request, and was quiescent since. Batches begin only while a request is pending.
 */
#include "core.h"

/* How many CPUs a node's subtree has; 0 for CPU 0, whose subtree has all. */
static unsigned int lowest_bit(unsigned int index)
{
	return index & (0u - index);
}

/* A node's children are index + 1, + 2, + 4 and so on, as far as its subtree and the CPUs go. */
static int is_child(const struct qdo_core *core, unsigned int index, unsigned int distance)
{
	return (!index || distance < lowest_bit(index)) && index + distance < core->cpu_count;
}

static void prompt_children(struct qdo_core *core, unsigned int index)
{
	unsigned int distance;

	for (distance = 1; is_child(core, index, distance); distance *= 2)
		qdo_port_prompt(core, index + distance);
}

/* A new batch, and a wake, prompt the children: so they reach every CPU that has yet to tell. */
static void batch_see(struct qdo_core *core, unsigned int index, unsigned long batch)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	const unsigned long wakes = lull_mem_load(&core->tree.wakes);
	const int fresh = cpu->tree.seen != batch;

	if (fresh) {
		cpu->tree.seen = batch;
		/* It is read after the batch; [qdo.judge:C] orders both before the counts. */
		cpu->tree.since = lull_mem_load(&cpu->operations.generation);
		cpu->counts.communications += index != 0;
	}
	if (core->prompting && (fresh || cpu->tree.wake != wakes)) {
		cpu->tree.wake = wakes;
		prompt_children(core, index);
	}
}

static int children_reached(struct qdo_core *core, unsigned int index, unsigned long batch)
{
	unsigned int distance;

	for (distance = 1; is_child(core, index, distance); distance *= 2) {
		core->cpus[index].counts.communications++;
		/*
		 * [qdo.poll:A] acquire. Pairs with [qdo.publish:A].
		 * Orders: the read of the number by which a child tells of its subtree, before this
		 * CPU tells of its own.
		 * Else: a callback runs beside operations of a CPU below. Mutant:
		 * QDO_TREE_NO_CHILD.
		 */
		if (lull_mem_load_acquire(&core->cpus[index + distance].tree.number) != batch)
			return LULL_MUTANT(QDO_TREE_NO_CHILD);
	}
	return 1;
}

/* Tells that this subtree is quiescent; the root begins a batch. Return: the batch that runs. */
static unsigned long batch_publish(struct qdo_core *core, unsigned int index, unsigned long batch)
{
	const unsigned long next = index ? batch : batch + 1;
	unsigned long *number = index ? &core->cpus[index].tree.number : &core->tree.batch;

	/*
	 * [qdo.publish:A] the full fence or compare-and-swap by which this CPU's generation was
	 * judged or moved before. Pairs with [qdo.poll:A].
	 * Orders: the judgements of the subtree's operations before the number that tells of them:
	 * the subtree's, which the parent reads, or the batch's, which all CPUs read.
	 * Else: the parent reads the number, and a callback runs beside operations of this subtree.
	 */
	lull_mem_store(number, next);
	if (core->prompting)
		qdo_port_prompt(core, index - lowest_bit(index));
	return next;
}

void qdo_tree_reset(struct qdo_core *core)
{
	unsigned int i;

	for (i = 0; i < core->cpu_count; i++)
		core->cpus[i].tree = (struct qdo_tree_cpu){ .number = 0 };
	core->tree = (struct qdo_tree_core){ .batch = 1 };
}

void qdo_tree_begin(struct qdo_core *core, unsigned int index, struct qdo_request *request)
{
	request->tree.since = lull_mem_load(&core->tree.batch);
	qdo_wait(&core->cpus[index], request);
	if (!request->is_first || !core->prompting || LULL_MUTANT(QDO_NO_WAKE))
		return;
	lull_mem_add(&core->tree.wakes, 1);
	qdo_port_prompt(core, 0);
}

static void batch_collect(struct qdo_cpu *cpu, unsigned long batch, struct qdo_step *result)
{
	const unsigned long batches = LULL_MUTANT(QDO_TREE_ONE_BATCH) ? 1 : 2;
	struct qdo_request *request, *next;

	for (request = qdo_waiting_all(cpu); request; request = next) {
		next = request->next;
		if (qdo_number_reached(batch, request->tree.since + batches))
			qdo_done(cpu, request, result);
		else
			qdo_wait(cpu, request);
	}
}

void qdo_tree_step(struct qdo_core *core, unsigned int index, struct qdo_step *result)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	unsigned long batch;

	if (!lull_mem_load(&core->pending))
		return;
	/* [qdo.poll:A]: the number by which the root tells of all CPUs, before callbacks. */
	batch = lull_mem_load_acquire(&core->tree.batch);
	batch_see(core, index, batch);
	/* The root has no number of its own but core->tree.batch. */
	if (!index || lull_mem_load(&cpu->tree.number) != batch) {
		if (!qdo_generation_passed(core, index, index, &cpu->tree.since))
			result->waits = 1;
		else if (children_reached(core, index, batch))
			batch = batch_publish(core, index, batch);
	}
	batch_collect(cpu, batch, result);
}
