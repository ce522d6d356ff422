// SPDX-License-Identifier: MIT
/*
 * Operations: the core counts them, this thread remembers them.
 *
 * A thread's operations are a list through its stack, so that a forked child can begin them again.
 * A signal handler puts its own in front and takes them away before it returns: the list is
 * the same after it as before, at whatever instruction it came. Paper: Q 2.2.2, 4.6.
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include "qdo_steps.h"

/* The port's step in place of a call of it: an operation is little more than two. */
#define lull_qdo_count lull_percpu_try
#include "operation.h"

__thread struct host_thread lull_qdo_thread;

void qdo_enter(struct qdo *instance, struct qdo_operation *operation)
{
	struct host_thread *self = &lull_qdo_thread;
	uint32_t cpu = lull_percpu_cpu_or_none();
	volatile struct qdo_operation *linked = operation;
	struct qdo_ticket ticket;

	/* Restarted, or without steps, or on a CPU that the instance does not know. */
	if (__builtin_expect(cpu >= instance->core.cpu_count, 0) ||
	    __builtin_expect(qdo_operation_enter(&instance->core, cpu, &ticket) != 1, 0))
		ticket = qdo_core_enter(&instance->core);
	/*
	 * Volatile stores, which the compiler keeps in this order: a handler in between, which
	 * enters and leaves, finds an operation that is whole before it is linked, and a link
	 * before it is the innermost.
	 */
	linked->place = lull_qdo_place(ticket);
	linked->instance = instance;
	linked->previous = self->innermost;
	*(struct qdo_operation *volatile *)&self->innermost = operation;
}

_Noreturn static void stop(const char *what)
{
	fprintf(stderr, "lull-qdo: %s. Each qdo_enter() needs one qdo_leave(), in its thread.\n",
		what);
	abort();
}

void lull_qdo_thread_check(void)
{
	if (__builtin_expect(lull_qdo_thread.innermost != NULL, 0))
		stop("a callback has ended within an operation");
}

/* Ends another than the innermost. Bound: the operations of this thread. */
__attribute__((noinline, cold)) static void unlink_inner(struct host_thread *self,
							 const struct qdo_operation *operation)
{
	struct qdo_operation **link = &self->innermost;

	while (*link && *link != operation)
		link = &(*link)->previous;
	if (!*link)
		stop("qdo_leave() of an operation that this thread has not begun, or has left");
	*(struct qdo_operation *volatile *)link = operation->previous;
}

void qdo_leave(struct qdo_operation *operation)
{
	struct host_thread *self = &lull_qdo_thread;
	struct qdo_ticket ticket = lull_qdo_ticket(operation->place);

	/* One volatile store, as in a handler. */
	if (__builtin_expect(self->innermost == operation, 1))
		*(struct qdo_operation *volatile *)&self->innermost = operation->previous;
	else
		unlink_inner(self, operation);
	if (__builtin_expect(qdo_operation_leave(&operation->instance->core, ticket) != 1, 0))
		qdo_core_leave(&operation->instance->core, ticket);
}
