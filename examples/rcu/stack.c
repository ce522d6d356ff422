/* SPDX-License-Identifier: MIT */
/*
 * Threads share work by a stack: a thread that has time pops a piece, and may push parts of it.
 *
 * Build: gcc stack.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if each piece of
 * work was done once.
 */
#include <lull/rcu/bp.h>
#include <lull/rcu/stack.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS 3
#define RANGE 100000UL

/* Adds up the numbers from first to before last. */
struct work {
	struct rcu_stack_node node;
	struct rcu_head head;
	unsigned long first, last;
};

static struct rcu_stack stack = RCU_STACK_INIT;
static unsigned long left = RANGE, sum;

static void push(unsigned long first, unsigned long last)
{
	struct work *work = malloc(sizeof(*work));

	if (!work)
		abort();
	work->first = first;
	work->last = last;
	rcu_stack_push(&stack, &work->node);
}

static struct work *pop(void)
{
	struct rcu_stack_node *node;

	/* In the section no node that pop reads can come back at its address: no ABA problem. */
	rcu_read_lock();
	node = rcu_stack_pop(&stack);
	rcu_read_unlock();
	return node ? rcu_entry(node, struct work, node) : NULL;
}

static void reclaim(struct rcu_head *head)
{
	free(rcu_entry(head, struct work, head));
}

static void *worker(void *count)
{
	/* This flavour registers threads by itself. */
	while (__atomic_load_n(&left, __ATOMIC_RELAXED)) {
		struct work *work = pop();
		unsigned long middle;

		if (!work)
			continue;
		middle = (work->first + work->last) / 2;
		if (work->last - work->first > 8) {
			push(work->first, middle);
			push(middle, work->last);
		} else {
			for (unsigned long i = work->first; i < work->last; i++)
				__atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
			__atomic_fetch_sub(&left, work->last - work->first, __ATOMIC_RELAXED);
		}
		call_rcu(&work->head, reclaim); /* another pop may still look at it */
		++*(unsigned long *)count;
	}
	return NULL;
}

int main(void)
{
	unsigned long counts[WORKERS] = { 0 }, done = 0;
	pthread_t threads[WORKERS];
	int i;

	push(0, RANGE);
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, worker, &counts[i]))
			return 1;
	for (i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		done += counts[i];
	}
	rcu_barrier();
	printf("%lu pieces of work, sum %lu\n", done, sum);
	return sum != RANGE * (RANGE - 1) / 2 || !rcu_stack_empty(&stack);
}
