// SPDX-License-Identifier: MIT
/*
 * Updaters: replace a shared element, wait for a grace period in one of all ways, age what
 * was replaced before.
 */
#include <sched.h>
#include <stddef.h>
#include "torture.h"

#define PIPELINE 16

/* What an updater has replaced and not yet seen reused. */
struct pipeline {
	struct element *element[PIPELINE];
	int length;
};

static void pipeline_age(struct pipeline *pipeline)
{
	int i, kept = 0;

	for (i = 0; i < pipeline->length; i++) {
		struct element *element = pipeline->element[i];
		int last = element->age == AGES - 2;

		element_age(element);
		if (!last)
			pipeline->element[kept++] = element;
	}
	pipeline->length = kept;
}

/* Ages an element by one grace period a call, until it is reused. */
static void called(struct rcu_head *head)
{
	struct element *element = (struct element *)((char *)head - offsetof(struct element, head));
	int last = element->age == AGES - 2;

	element_age(element);
	if (!last)
		flavour->call(head, called);
}

static void wait_polling(struct random *random)
{
	struct rcu_gp_poll_state state = flavour->start_poll();

	if (!random_below(random, 8)) {
		counted[COUNT_POLLS_LEFT]++;
		flavour->synchronize(); /* of which the poll saw the beginning */
		return;
	}
	while (!flavour->poll_state(state)) {
		if (flavour->quiescent)
			flavour->quiescent_state();
		sched_yield();
	}
	counted[COUNT_POLLED]++;
}

static void wait_somehow(struct random *random)
{
	switch (random_below(random, 8)) {
	case 0:
	case 1:
		flavour->expedited();
		counted[COUNT_EXPEDITED]++;
		break;
	case 2:
	case 3:
		wait_polling(random);
		break;
	default:
		flavour->synchronize();
		counted[COUNT_SYNCHRONIZED]++;
	}
}

static void update(struct random *random, struct element **own, struct pipeline *pipeline)
{
	struct element *element = element_take(torture, own), *old = NULL;

	if (element && torture->table && random_below(random, 2))
		old = table_update(random, element, own);
	else if (element)
		old = rcu_xchg_pointer(&torture->shared[random_below(random, SHARED)], element);
	if (torture->table && !random_below(random, 64))
		table_resize(random);
	if (old) {
		__atomic_store_n(&old->age, 1, __ATOMIC_RELAXED);
		if (!random_below(random, 4)) {
			flavour->call(&old->head, called);
			counted[COUNT_CALLED]++;
		} else {
			pipeline->element[pipeline->length++] = old;
		}
	}
	__atomic_fetch_add(&torture->updates, 1, __ATOMIC_RELAXED);
	if (pipeline->length == PIPELINE || random_below(random, 8)) {
		wait_somehow(random);
		pipeline_age(pipeline);
	}
}

void *updater_thread(void *index)
{
	struct pipeline pipeline = { .length = 0 };
	struct element *own = NULL;
	struct random random;

	random_start(&random, (uint32_t)(uintptr_t)index);
	signals_may_come(0);
	register_thread();
	while (!stopped()) {
		update(&random, &own, &pipeline);
		if (!random_below(&random, 4))
			section(&random);
		delay(&random, 1);
	}
	while (pipeline.length) {
		flavour->synchronize();
		pipeline_age(&pipeline);
	}
	unregister_thread();
	counts_flush();
	return NULL;
}
