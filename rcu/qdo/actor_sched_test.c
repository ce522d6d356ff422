// SPDX-License-Identifier: MIT
/*
 * Threads of QDo's scenarios, and what is checked after every step and at every end.
 *
 * A request is done too early when an operation is still inside that had begun before it, or writes
 * to the object that the callback owns from then on. A request is lost when it is not done at the
 * end: no CPU is prompted any more, and all CPUs that a timer would step have been stepped.
 * Paper: Q 3.3.1, 3.3.2, 4.6.
 */
#include <string.h>
#include "qdo_sched_test.h"

/*
 * An operation counts as begun, for a request, once it has read something. Before that its light
 * fence may still be to come, and then it reads what the requester has left.
 */
void operation_thread(long number)
{
	struct qdo_ticket ticket = qdo_core_enter(core);
	const int counts = !parameter[SET] || (parameter[SET] >> ticket.cpu & 1);
	unsigned int i;

	for (i = 0; i < 1u + !!parameter[REQUEST_B]; i++) {
		unsigned long pointer = lull_mem_load(&pointers[i]);

		if (counts)
			books->inside |= (uint8_t)(1u << number);
		if (!counts || !pointer)
			continue;
		lull_mem_store(&objects[i], (unsigned long)number + 2);
		books->stored[i] |= (uint8_t)(1u << number);
	}
	books->inside &= (uint8_t) ~(1u << number);
	qdo_core_leave(core, ticket);
}

void qdo_port_prompt(struct qdo_core *which, unsigned int cpu)
{
	sched_check(which == core && cpu < core->cpu_count && core->prompting, "a prompt of CPU %u",
		    cpu);
	lull_mem_exchange(&prompted[cpu], 1);
}

/* From here on the callback owns the object. It must see what operations have written there. */
static void own(unsigned int number)
{
	unsigned long value = 0;

	sched_own(&objects[number], sizeof(objects[number]));
	if (books->stored[number]) {
		sched_read(&value, &objects[number], sizeof(value));
		sched_check(value >= 2 && books->stored[number] >> (value - 2) & 1,
			    "request %u is done before what operations wrote is seen", number);
	}
	if (parameter[AGAIN])
		sched_disown(&objects[number], sizeof(objects[number]));
}

static void complete(struct qdo_request *done)
{
	unsigned int i;

	for (; done; done = done->next) {
		for (i = 0; i < REQUESTS && requests[i] != done; i++)
			;
		sched_check(i < REQUESTS, "a step gives back what was never a request");
		sched_check(books->done[i] < books->submitted[i], "request %u is done twice", i);
		sched_check(!(books->before[i] & books->inside),
			    "request %u is done beside operations %#x", i,
			    books->before[i] & books->inside);
		books->done[i]++;
		own(i);
	}
}

static void step(unsigned int cpu)
{
	struct qdo_step result;

	if (core->prompting && lull_mem_load(&prompted[cpu]))
		lull_mem_exchange(&prompted[cpu], 0);
	qdo_core_step(core, cpu, &result);
	books->waits &= (uint8_t) ~(1u << cpu);
	if (result.waits)
		books->waits |= (uint8_t)(1u << cpu);
	complete(result.done);
}

void submit(unsigned int number)
{
	unsigned int cpu;

	lull_mem_store(&pointers[number], 0);
	books->before[number] = books->inside;
	books->submitted[number]++;
	cpu = qdo_core_submit(core, requests[number]);
	if (core->prompting)
		lull_mem_exchange(&prompted[cpu], 1);
}

void requester_thread(long number)
{
	long what = parameter[number ? REQUEST_B : REQUEST_A], steps = what / 10 % 10, i;

	submit((unsigned int)number);
	for (i = 0; i < steps; i++)
		step((unsigned int)(what % 10 - 1));
	if (!parameter[AGAIN] || number || books->done[0] != 1)
		return;
	submit(0);
	for (i = 0; i < steps; i++)
		step((unsigned int)(what % 10 - 1));
}

void stepper_thread(long digit)
{
	static const long scale[] = { 10, 1, 100 };
	long steps = parameter[STEPS] / scale[digit] % 10;

	while (steps--)
		step(digit != 0);
}

/* Generations only grow; one CPU has the token, or the token is under way to the next. */
void invariant(void)
{
	unsigned int cpu, tokens = 0;

	for (cpu = 0; cpu < core->cpu_count; cpu++) {
		unsigned long generation = sched_newest(&core->cpus[cpu].operations.generation);

		sched_check(generation >= books->generation[cpu], "a generation goes back");
		books->generation[cpu] = generation;
		tokens += sched_newest(&core->cpus[cpu].token.number) != 0;
	}
	sched_check(tokens <= 1, "%u tokens", tokens);
}

/* Steps as the host does: CPUs that are prompted or wait; in timer mode all, again and again. */
static void run_out(void)
{
	unsigned int cpu, rounds;

	for (rounds = 0; rounds < 40; rounds++)
		for (cpu = 0; cpu < core->cpu_count; cpu++)
			if (!core->prompting || lull_mem_load(&prompted[cpu]) ||
			    books->waits >> cpu & 1)
				step(cpu);
}

/* After a fork, whose child has none of the other threads: the child must begin anew. */
static void check_child(void)
{
	struct qdo_ticket ticket;

	qdo_core_reset(core);
	books->inside = 0;
	memset(prompted, 0, SCHED_CPUS_MAX * sizeof(*prompted));
	books->waits = 0;
	ticket = qdo_core_enter(core);
	submit(2);
	run_out();
	sched_check(!books->done[2], "the child's request is done beside its operation");
	qdo_core_leave(core, ticket);
	run_out();
	sched_check(books->done[2] == 1 && !core->pending, "the child's request is never done");
	sched_check(core->algorithm != QDO_TOKEN ||
			    core->cpus[0].token.number + core->cpus[1].token.number,
		    "the child has no token");
}

void finish(void)
{
	unsigned int i;

	for (i = 0; i < SCHED_THREADS_MAX; i++)
		if (sched_dead((int)i)) {
			check_child();
			return;
		}
	run_out();
	for (i = 0; i < REQUESTS; i++)
		sched_check(books->done[i] == books->submitted[i], "request %u is never done", i);
	sched_check(!core->pending, "%lu requests are pending for ever", core->pending);
}
