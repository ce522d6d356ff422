// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Steps of one CPU as scheduling points; memory.c gives them their effect. Paper: Q 4.8.3.
 *
 * The heavy fence is that of port.c: it visits one CPU after the other.
 */
#include <string.h>
#include "qdo_port.h"
#include "world.h"

uint32_t sched_stepless;
unsigned int sched_caller_cpu;

static int step(uint32_t kind, unsigned int cpu, const void *word, uint64_t expect, uint64_t value)
{
	struct op op;

	if (current != NO_THREAD && sched_stepless >> current & 1)
		return -1;
	if (current == NO_THREAD && cpu != sched_caller_cpu)
		return 0;
	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.offset = arena_offset(word, sizeof(unsigned long));
	op.bytes = sizeof(unsigned long);
	op.count = current == NO_THREAD ? 0 : cpu; /* memory.c has the explorer on CPU 0 */
	op.expect = expect;
	op.value = value;
	return (int)thread_access(&op);
}

void lull_qdo_fence_heavy(void)
{
	lull_barrier_heavy();
}

unsigned int lull_qdo_cpu(void)
{
	return current == NO_THREAD ? sched_caller_cpu : lull_cpu();
}

int lull_qdo_count(unsigned int cpu, unsigned long *counter)
{
	return step(OP_COUNT, cpu, counter, 0, 0);
}

int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired)
{
	return step(OP_REPLACE, cpu, head, (uintptr_t)expect, (uintptr_t)desired);
}
