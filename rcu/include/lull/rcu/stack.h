/* SPDX-License-Identifier: MIT */
/*
 * A lock-free stack: push by any thread, pop one by one or all at once.
 *
 * States of a node:
 *
 *	private --push--> stacked --pop, pop_all--> taken --(see below)--> private
 *
 * Pop and the ABA problem: pop reads the top, then its successor, and replaces the one by the
 * other. If meanwhile others pop the top and push it again, on something else, the exchange would
 * succeed with a successor that is no longer in the stack. Two disciplines exclude that. A stack
 * is used by one of them, all its life:
 *
 *	several takers	Each rcu_stack_pop() is in a read-side critical section. What pop or
 *			pop_all took is freed, changed or pushed again only after a grace period.
 *	one taker	Pops and pop_alls exclude each other, by a lock or by being one thread.
 *			No section, no grace period: what was taken is the taker's at once.
 *
 * With rcu_stack_pop_all() alone, any number of threads take without either: it looks at no node.
 *
 * Who writes, who reads:
 *	top	all, by compare-and-swap; pop_all by exchange
 *	next	the pusher, before the node is stacked; then read only
 *
 * Barrier pairs:
 *	[stack.push:A]	entry and link before top	[stack.take:A], [stack.pop:A]
 *
 * Progress: push and pop are lock-free, pop_all and walking what it returns are wait-free. A push
 * by one exchange would be wait-free, but the link would come after it, and takers would wait for
 * the pusher; so push retries instead.
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
 * @next: the library's.
 */
struct rcu_stack_node {
	struct rcu_stack_node *next;
};

/**
 * struct rcu_stack - A stack. All zeroes is an empty one.
 * @top: the entry pushed last, or NULL.
 *
 * Give it a cache line of its own where many threads push.
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
 * @node: the entry's node, private.
 *
 * Context: any thread, signal handlers too; needs no section and no lock.
 * Progress: lock-free; each retry means that another operation took effect.
 * Ordering: full. What was written to the entry before is seen by who takes it.
 * Return: 0 when the stack was empty before: who so learns that there is work may wake a taker.
 */
static inline int rcu_stack_push(struct rcu_stack *stack, struct rcu_stack_node *node)
{
	struct rcu_stack_node *top = rcu_dereference(stack->top);

	/* Bound: none, but that of others' successes. */
	for (;;) {
		struct rcu_stack_node *found;

		rcu_assign_pointer(node->next, top);
		/*
		 * [stack.push:A] compare-and-swap, full. Pairs with [stack.take:A], [stack.pop:A].
		 * Orders: the entry and its link before the top that leads to it.
		 * Else: a taker reads an entry, or goes by a link, that is not yet written.
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
 * By several threads at once: in a read-side critical section, and what is taken is freed, changed
 * or pushed again only after a grace period. By one at a time: without either. A stack follows one
 * of these two disciplines all its life, also for rcu_stack_pop_all().
 *
 * Context: as said; in sections, signal handlers too.
 * Progress: lock-free; each retry means that another operation took effect.
 * Ordering: full, if an entry is returned.
 * Return: the entry's node; NULL when the stack was empty.
 * Paper: T 6.4.5.
 */
static inline struct rcu_stack_node *rcu_stack_pop(struct rcu_stack *stack)
{
	/*
	 * [stack.pop:A] consume. Pairs with [stack.push:A].
	 * Orders: top before the link in it; so does the exchange below when it fails.
	 * Else: the stack's rest is lost, or is what the memory held before.
	 */
	struct rcu_stack_node *top = rcu_dereference(stack->top);

	/* Bound: none, but that of others' successes. */
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
 * Context: any, handlers too. Where others pop one by one: as rcu_stack_pop(), but for the section.
 * Progress: wait-free.
 * Ordering: full.
 * Return: the node of the entry pushed last, which leads to all others: rcu_stack_next(),
 * rcu_stack_for_each_entry(). NULL when the stack was empty.
 */
static inline struct rcu_stack_node *rcu_stack_pop_all(struct rcu_stack *stack)
{
	/*
	 * [stack.take:A] exchange, full. Pairs with [stack.push:A].
	 * Orders: top before all that is read through it.
	 * Else: the taker reads an entry, or goes by a link, that is not yet written.
	 */
	return rcu_xchg_pointer(&stack->top, (struct rcu_stack_node *)NULL);
}

/**
 * rcu_stack_empty() - Whether a stack is empty.
 * @stack: the stack.
 *
 * Context: any; while others push or take, the answer may be out of date. Progress: wait-free.
 * Return: not 0 when it is.
 */
static inline int rcu_stack_empty(const struct rcu_stack *stack)
{
	return rcu_dereference(stack->top) == NULL;
}

/**
 * rcu_stack_next() - What was pushed before.
 * @node: from rcu_stack_pop_all() or this function.
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
 * The next entry is fixed before the body runs, which may free the entry or push it elsewhere
 * (where several threads pop one by one: after a grace period, as by call_rcu()).
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
