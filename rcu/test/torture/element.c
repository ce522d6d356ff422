// SPDX-License-Identifier: MIT
/*
 * The elements that updaters share and reclaim: their ages, their poison, their reuse.
 *
 * No locks: callbacks use these too, and a fork may come at any moment.
 */
#include <stdlib.h>
#include "torture.h"

#define POISON 0xdeadul
#define MARK_DEAD 2ul /* 1: stored by sections */

static void element_push(struct torture *to, struct element *element)
{
	struct element *top = __atomic_load_n(&to->unused, __ATOMIC_RELAXED);

	do
		element->next = top;
	while (!__atomic_compare_exchange_n(&to->unused, &top, element, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

static struct element *element_ready(struct element *element)
{
	element->content = CONTENT;
	__atomic_store_n(&element->age, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&element->mark, 0, __ATOMIC_RELAXED);
	return element;
}

void elements_make(struct torture *to)
{
	int i;

	for (i = 0; i < SHARED; i++)
		to->shared[i] = element_ready(&to->element[i]);
	for (; i < ELEMENTS; i++)
		element_push(to, &to->element[i]);
}

void element_give(struct torture *to, struct element *own)
{
	struct element *next;

	for (; own; own = next) {
		next = own->next;
		element_push(to, own);
	}
}

struct element *element_take(struct torture *from, struct element **own)
{
	struct element *element = *own;

	if (!element)
		element = __atomic_exchange_n(&from->unused, NULL, __ATOMIC_ACQUIRE);
	if (!element)
		return NULL;
	*own = element->next;
	return element_ready(element);
}

/*
 * One grace period after its replacement no section may read or store any more: the last
 * word then stays what is stored here.
 */
void element_age(struct element *element)
{
	unsigned long age = __atomic_load_n(&element->age, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&element->age, age, __ATOMIC_RELAXED);
	if (age == 2) {
		__atomic_store_n(&element->mark, MARK_DEAD, __ATOMIC_RELAXED);
		element->content = POISON;
	}
	if (age < AGES - 1)
		return;
	if (__atomic_load_n(&element->mark, __ATOMIC_RELAXED) != MARK_DEAD)
		fault_found(FAULT_LATE_STORE);
	element_push(torture, element);
}
