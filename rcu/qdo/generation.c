// SPDX-License-Identifier: MIT
/*
 * Operations and generations of one CPU.
 *
 * Papers: Q 2.2.2 (generation count), 3.3.1 (local quiescence). Design: docs/design/41-qdo.md.
 *
 *	 in generation g, operations enter by parity g & 1; those of g - 1 leave by the other parity
 *	 when all operations of g - 1 have left, g moves to g + 1
 *
 * Each parity has a count of operations that entered and one of those that left, which only grow.
 * An operation is counted on the CPU where it entered, also when it leaves on another CPU.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[qdo.enter:A]	count before the operation's accesses	[qdo.take:A] (core.c)
 *	[qdo.judge:C]	a generation before the counts	[qdo.take:A] (core.c)
 *	[qdo.leave:A]	the operation before its count of leaving	[qdo.judge:A]
 *	[qdo.judge:B]	left before entered			[qdo.leave:A]
 *
 * Why equal counts mean that no operation is inside: `left` is read first. Each operation that is
 * counted in `left` has entered, and its entry is seen too, because `left` is read with acquire. So
 * an operation that is inside when `left` is read makes `entered`, which is read later, greater.
 *
 * Why QDO_GENERATIONS is 3: the first move after a request may rest on counts that a step of
 * another CPU, which was delayed, read before the request; and an operation that chose its parity
 * long ago may have entered in between. Each of the next two moves begins by reading the
 * generation, which has changed since the request, and then the counts of one parity: both parities
 * are read after the request, and every operation is in one of them. A step that waits for a CPU
 * may see, before the first move, that all operations of the previous generation have left. Then
 * the request need not rely on that move, and two moves are enough. So mostly only operations of
 * the generation under way delay a request, and none that begin later.
 */
#include "operation.h"

/*
 * How often an operation tries to count itself by a restartable step before it does so atomically.
 * Each failure is a preemption or a migration.
 */
#define RESTARTS_MAX 8

/* Generations stay, as others may be compared with them. */
void qdo_operations_reset(struct qdo_operations *operations)
{
	unsigned int parity;

	for (parity = 0; parity < 2 && !LULL_MUTANT(QDO_RESET_COUNTS); parity++) {
		operations->entered[parity] = 0;
		operations->left[parity] = 0;
		operations->entered_elsewhere[parity] = 0;
		operations->left_elsewhere[parity] = 0;
	}
}

/**
 * qdo_core_enter() - Begin an operation.
 * @core: the instance.
 *
 * Context: any. Progress: wait-free. Return: what qdo_core_leave() needs. Paper: Q 2.2.2.
 */
struct qdo_ticket qdo_core_enter(struct qdo_core *core)
{
	struct qdo_ticket ticket;
	int i, done = 0;

	for (i = 0; i < RESTARTS_MAX && !done; i++)
		done = qdo_operation_enter(core, lull_qdo_cpu() % core->cpu_count, &ticket);
	if (done != 1)
		lull_mem_add(&core->cpus[ticket.cpu].operations.entered_elsewhere[ticket.parity],
			     1);
	/* [qdo.enter:A]: the atomic count of entry before the operation's reads. */
	if (!LULL_MUTANT(QDO_ENTER_NO_LIGHT))
		lull_mem_fence_light();
	return ticket;
}

/**
 * qdo_core_leave() - End an operation.
 * @core: the instance.
 * @ticket: of qdo_core_enter().
 *
 * Context: any; another CPU than at enter, another thread too. Progress: wait-free. Paper: Q 2.2.2.
 */
void qdo_core_leave(struct qdo_core *core, struct qdo_ticket ticket)
{
	if (qdo_operation_leave(core, ticket) != 1)
		lull_mem_add(&core->cpus[ticket.cpu].operations.left_elsewhere[ticket.parity], 1);
}

static int is_drained(const struct qdo_operations *of, unsigned int parity)
{
	unsigned long left, entered;

	/*
	 * [qdo.judge:A] acquire. Pairs with [qdo.leave:A].
	 * Orders: the accesses of operations that are counted as left, before all that follows this
	 * judgement; the entries of these operations before the reads of entered.
	 * Else: a callback runs beside the last accesses of an operation.
	 * Mutants: QDO_LEAVE_RELAXED, JUDGE_RELAXED.
	 *
	 * [qdo.judge:B] by the same acquires. Pairs with [qdo.leave:A].
	 * Orders: the reads of left before those of entered.
	 * Else: an operation that enters and leaves between the two reads is counted as left only,
	 * and makes up for another one that is still inside.
	 * Mutant: QDO_ENTERED_FIRST.
	 */
	left = lull_mem_load_acquire(&of->left[parity]);
	left += lull_mem_load_acquire(&of->left_elsewhere[parity]);
	entered = lull_mem_load_acquire(&of->entered[parity]);
	entered += lull_mem_load(&of->entered_elsewhere[parity]);
	return left == entered;
}

/* Several steps may judge one CPU at once: each move is one compare-and-swap. Bound: @most. */
unsigned long qdo_generation_advance(struct qdo_core *core, unsigned int index, unsigned long most)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	unsigned long generation = lull_mem_load(&cpu->operations.generation), found;

	/*
	 * [qdo.judge:C] full; so is each compare-and-swap below. Pairs with [qdo.take:A],
	 * [qdo.passed:A].
	 * Orders: the read of the generation, or of the batch number, before the reads of the
	 * counts. So a move that the step which takes a request does not yet see rests on counts
	 * that show every operation which that step's heavy fence made visible.
	 * Else: on machines where a store reaches CPUs at different times, the move rests on counts
	 * from before the request.
	 */
	lull_mem_fence();
	for (; most; most--) {
		/* Operations enter by the generation's own parity; is the other one drained? */
		if (!is_drained(&cpu->operations, (unsigned int)(generation + 1) & 1))
			break;
		found = lull_mem_cas(&cpu->operations.generation, generation, generation + 1);
		generation = found == generation ? generation + 1 : found;
	}
	return generation;
}

/* QDO_GENERATIONS, unless a seeded fault wants fewer. */
static unsigned long generations_wanted(void)
{
	if (LULL_MUTANT(QDO_ONE_GENERATION))
		return 1;
	return LULL_MUTANT(QDO_TWO_GENERATIONS) ? 2 : QDO_GENERATIONS;
}

int qdo_generation_passed(struct qdo_core *core, unsigned int stepping, unsigned int index,
			  unsigned long *since)
{
	struct qdo_cpu *cpu = &core->cpus[index];
	/*
	 * [qdo.passed:A] acquire. Pairs with [qdo.judge:C].
	 * Orders: the judgements by which other steps moved the generation, and so the operations
	 * that they saw leave, before all that follows here.
	 * Else: a callback runs beside the last accesses of an operation that another step judged.
	 * Mutant: PASSED_RELAXED.
	 */
	unsigned long generation = lull_mem_load_acquire(&cpu->operations.generation);
	unsigned long target = *since + generations_wanted();

	if (stepping != index)
		core->cpus[stepping].counts.communications++;
	if (qdo_number_reached(generation, target))
		return 1;
	if (core->own_generation_only && stepping != index)
		return 0;
	if (generation == *since && generations_wanted() == QDO_GENERATIONS) {
		/* As [qdo.judge:C]: the generation is read before the counts. */
		lull_mem_fence();
		if (is_drained(&cpu->operations, (unsigned int)(generation + 1) & 1)) {
			--*since;
			target--;
		}
	}
	generation = qdo_generation_advance(core, index, target - generation);
	return qdo_number_reached(generation, target);
}
