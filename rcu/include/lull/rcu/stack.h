/* SPDX-License-Identifier: MIT */
/*
 * A lock-free stack: any thread pushes; threads pop one entry, or all at once.
 *
 * States of a node:
 *
 *	private --push--> stacked --pop, pop_all--> taken --(see below)--> private
 *
 * Pop and the ABA problem: pop reads the top, then its successor, and replaces the top by the
 * successor. If other threads popped the top meanwhile and pushed the same node again, onto another
 * one, the compare-and-swap would succeed with a successor that is no longer in the stack. Two
 * disciplines exclude that. A stack follows one of them, all its life:
 *
 *	several takers	Each rcu_stack_pop() is in a read-side critical section. An entry that pop
 *			or pop_all took is freed, changed or pushed again only after a grace period.
 *	one taker	Calls of pop and pop_all exclude each other, by a lock or because one thread
 *			makes them. Neither section nor grace period is needed: the taker may reuse
 *			an entry at once.
 *
 * Where threads call rcu_stack_pop_all() alone, any number of them take entries without either
 * discipline: that function reads no node.
 *
 * Which threads write and read each word:
 *	top	written by all, by compare-and-swap; in pop_all by exchange
 *	next	written by the thread that pushes, before the node is stacked; then only read
 *
 * Barrier pairs:
 *	[stack.push:A]	entry and link before top	[stack.take:A], [stack.pop:A]
 *
 * Progress: push and pop are lock-free; pop_all, and a walk over what it returns, are wait-free. A
 * push by one exchange would be wait-free, but would write its link after the exchange, and takers
 * would wait for that link; so push retries instead.
 * Paper: T 6.4.5 (lock-free updates with reclamation by RCU), 6.5.4 (exchange).
 */
#ifndef LULL_RCU_STACK_H
#define LULL_RCU_STACK_H

#include "lull/rcu/entry.h"
#include "lull/rcu/pointer.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rcu_stack_node - An entry's place in a stack.
 * @next: the node that was the top when this one was pushed, or NULL; it belongs to the library.
 */
struct rcu_stack_node {
	struct rcu_stack_node *next;
};

/**
 * struct rcu_stack - A stack; all zeroes is an empty one.
 * @top: the node of the entry that was pushed last, or NULL.
 *
 * Where many threads push, a stack should have a cache line of its own.
 */
struct rcu_stack {
	struct rcu_stack_node *top;
};

/* clang-format off */
/**
 * RCU_STACK_INIT - Initializer of an empty stack.
 */
#define RCU_STACK_INIT { NULL }
/* clang-format on */

/**
 * rcu_stack_init() - Make a stack empty.
 * @stack: no other thread may know it yet.
 *
 * Context: any. Progress: wait-free.
 */
static inline void rcu_stack_init(struct rcu_stack *stack)
{
	stack->top = NULL;
}

/**
 * rcu_stack_push() - Put an entry on a stack.
 * @stack: the stack.
 * @node: the entry's node, which is private.
 *
 * Context: any thread, signal handlers too; needs no section and no lock.
 * Progress: lock-free; each retry means that another operation took effect.
 * Ordering: as rcu_cmpxchg_pointer(). What was written to the entry before is seen by the thread
 * that takes it.
 * Return: 0 when the stack was empty before, so that this thread may wake a taker; not 0 otherwise.
 */
static inline int rcu_stack_push(struct rcu_stack *stack, struct rcu_stack_node *node)
{
	struct rcu_stack_node *top = rcu_dereference(stack->top);

	/* Bound: each retry means that another thread's operation succeeded. */
	for (;;) {
		struct rcu_stack_node *found;

		rcu_assign_pointer(node->next, top);
		/*
		 * [stack.push:A] compare-and-swap, sequentially consistent.
		 * Pairs with [stack.take:A], [stack.pop:A].
		 * Orders: the writes of the entry and of its link before the top that leads takers
		 * to it.
		 * Else: a taker reads an entry, or follows a link, that is not yet written.
		 */
		found = rcu_cmpxchg_pointer(&stack->top, top, node);
		if (found == top)
			return top != NULL;
		top = found;
	}
}

/**
 * rcu_stack_pop() - Take the entry that was pushed last.
 * @stack: the stack.
 *
 * Several threads may pop at once if each is in a read-side critical section, and frees, changes or
 * pushes an entry again only after a grace period. If one thread pops at a time, neither is needed.
 * A stack follows one of these two disciplines all its life, also for rcu_stack_pop_all().
 *
 * Context: any thread under one of these disciplines; signal handlers too, in sections.
 * Progress: lock-free; each retry means that another operation took effect.
 * Ordering: as rcu_cmpxchg_pointer(), if an entry is returned.
 * Return: the entry's node; NULL when the stack was empty.
 * Paper: T 6.4.5.
 */
static inline struct rcu_stack_node *rcu_stack_pop(struct rcu_stack *stack)
{
	/*
	 * [stack.pop:A] consume. Pairs with [stack.push:A].
	 * Orders: the read of the top before the read of the link in the node to which it leads.
	 * The compare-and-swap below does the same when it fails.
	 * Else: a link that is not yet written becomes the top, and the rest of the stack is lost.
	 */
	struct rcu_stack_node *top = rcu_dereference(stack->top);

	/* Bound: each retry means that another thread's operation succeeded. */
	while (top) {
		struct rcu_stack_node *next = rcu_dereference(top->next);
		struct rcu_stack_node *found = rcu_cmpxchg_pointer(&stack->top, top, next);

		if (found == top)
			return top;
		top = found;
	}
	return NULL;
}

/**
 * rcu_stack_pop_all() - Take all entries.
 * @stack: the stack.
 *
 * Context: any, signal handlers too; needs no section. Where other threads call rcu_stack_pop(),
 * the caller follows the stack's discipline.
 * Progress: wait-free.
 * Ordering: as rcu_xchg_pointer().
 * Return: the node of the entry that was pushed last, from which rcu_stack_next() or
 * rcu_stack_for_each_entry() lead to all others; NULL when the stack was empty.
 */
static inline struct rcu_stack_node *rcu_stack_pop_all(struct rcu_stack *stack)
{
	/*
	 * [stack.take:A] exchange, sequentially consistent. Pairs with [stack.push:A].
	 * Orders: the read of the top before the reads of the entries to which it leads.
	 * Else: the taker reads an entry, or follows a link, that is not yet written.
	 */
	return rcu_xchg_pointer(&stack->top, (struct rcu_stack_node *)NULL);
}

/**
 * rcu_stack_empty() - Whether a stack is empty.
 * @stack: the stack.
 *
 * Context: any; while other threads push or take, the answer may be out of date.
 * Progress: wait-free.
 * Return: not 0 when the stack is empty.
 */
static inline int rcu_stack_empty(const struct rcu_stack *stack)
{
	return rcu_dereference(stack->top) == NULL;
}

/**
 * rcu_stack_next() - The entry that was pushed before another.
 * @node: what rcu_stack_pop_all() or this function returned.
 *
 * Context: the taker. Progress: wait-free.
 * Return: the next entry's node; NULL when there is none.
 */
static inline struct rcu_stack_node *rcu_stack_next(const struct rcu_stack_node *node)
{
	return node->next;
}

/**
 * rcu_stack_for_each_entry() - Walk what rcu_stack_pop_all() took, last pushed first.
 * @entry: loop variable, a pointer to the entry's type; behind the loop, the last entry met.
 * @node: what rcu_stack_pop_all() returned; evaluated once.
 * @member: name of the node in the entry.
 *
 * The next entry is read before the body runs. So the body may free the entry or push it elsewhere;
 * where several threads call rcu_stack_pop(), only after a grace period, as by call_rcu().
 *
 * Context: the taker. Progress: wait-free.
 */
#define rcu_stack_for_each_entry(entry, node, member)                                   \
	for (struct rcu_stack_node *rcu_at_ = (node), *rcu_next_;                       \
	     rcu_at_ && (rcu_next_ = rcu_stack_next(rcu_at_),                           \
			(entry) = rcu_entry(rcu_at_, __typeof__(*(entry)), member), 1); \
	     rcu_at_ = rcu_next_)

#ifdef __cplusplus
}
#endif

#endif
