// SPDX-License-Identifier: MIT
/*
 * Operations: the core counts them, this thread remembers them.
 *
 * A thread's operations are a list through its stack, so that a forked child can begin them again.
 * A signal handler puts its own in front and takes them away before it returns: the list is
 * the same after it as before, at whatever instruction it came. Paper: Q 2.2.2, 4.6.
 *
 * Barrier pairs (label: what it orders; partner):
 *	[qdo.nest:A]	an operation before its link, that before the list	[qdo.nest:B]
 *	[qdo.nest:B]	nothing: one store			[qdo.nest:A]
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include "rcu_percpu_steps.h"

/* The port's step in place of a call of it: an operation is little more than two. */
#define lull_qdo_count lull_percpu_try
#include "operation.h"

__thread struct host_thread lull_qdo_thread;

void qdo_enter(struct qdo *instance, struct qdo_operation *operation)
{
	struct host_thread *self = &lull_qdo_thread;
	uint32_t cpu = lull_percpu_cpu_or_none();
	struct qdo_ticket ticket;

	/* Restarted, or without steps, or on a CPU that the instance does not know. */
	if (__builtin_expect(cpu >= instance->core.cpu_count, 0) ||
	    __builtin_expect(qdo_operation_enter(&instance->core, cpu, &ticket) != 1, 0))
		ticket = qdo_core_enter(&instance->core);
	operation->place = lull_qdo_place(ticket);
	operation->instance = instance;
	/*
	 * [qdo.nest:A] light, twice. Pairs with [qdo.nest:B].
	 * Orders: the operation before it is linked, its link before it is the innermost.
	 * Else: a handler in between, which enters and leaves, links it to nothing.
	 */
	lull_mem_fence_light();
	operation->previous = self->innermost;
	lull_mem_fence_light();
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

	/* [qdo.nest:B] one volatile store, as in a handler. Pairs with [qdo.nest:A]. */
	if (__builtin_expect(self->innermost == operation, 1))
		*(struct qdo_operation *volatile *)&self->innermost = operation->previous;
	else
		unlink_inner(self, operation);
	if (__builtin_expect(qdo_operation_leave(&operation->instance->core, ticket) != 1, 0))
		qdo_core_leave(&operation->instance->core, ticket);
}
