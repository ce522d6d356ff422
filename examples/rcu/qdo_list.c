// SPDX-License-Identifier: MIT
/*
 * A lock-free sorted list whose elements are freed by QDo. Paper: Q 1.2, figure 3.3.
 *
 * An element is removed in two moves: its next pointer gets a mark, so that no thread inserts
 * behind it; then the next thread that passes unlinks it, and requests that it be freed once all
 * operations have ended that may still hold it. Operations take no lock and write only the links
 * they change.
 *
 * qdo_list [ROUNDS]     status 0 if every element that was made was freed, once, and none early.
 */
#include <lull/qdo.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define KEYS 64
#define ALIVE 0x600du

struct element {
	uintptr_t next; /* the next element's address; bit 0: this one is removed */
	long key;
	unsigned int state;
};

static struct qdo *qdo;
static uintptr_t list; /* the link to the first element */
static unsigned long made, freed, early;
static long rounds = 20000;

static struct element *element_at(uintptr_t link)
{
	return (struct element *)(link & ~(uintptr_t)1);
}

static int swap(uintptr_t *link, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(link, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Called when no operation can hold the element any more. */
static void free_element(void *argument)
{
	struct element *element = argument;

	element->state = 0;
	free(element);
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
}

static void retire(struct element *element)
{
	if (qdo_request(qdo, free_element, element, NULL, NULL)) {
		fprintf(stderr, "qdo_list: no memory for a request\n");
		exit(2);
	}
}

/* Finds the link to the first element of at least @key; unlinks removed elements on the way. */
static uintptr_t *search(long key, struct element **found)
{
	struct element *element;
	uintptr_t *link, here, next;
again:
	link = &list;
	here = __atomic_load_n(link, __ATOMIC_ACQUIRE);
	while ((element = element_at(here)) != NULL) {
		if (element->state != ALIVE)
			__atomic_add_fetch(&early, 1, __ATOMIC_RELAXED);
		next = __atomic_load_n(&element->next, __ATOMIC_ACQUIRE);
		if (next & 1) {
			if (!swap(link, (uintptr_t)element, next & ~(uintptr_t)1))
				goto again;
			retire(element); /* only the thread that unlinked it */
			here = next & ~(uintptr_t)1;
			continue;
		}
		if (element->key >= key)
			break;
		link = &element->next;
		here = next;
	}
	*found = element;
	return link;
}

static void insert(long key)
{
	struct element *element = malloc(sizeof(*element)), *found;
	struct qdo_operation operation;
	uintptr_t *link;

	if (!element)
		exit(2);
	element->key = key;
	element->state = ALIVE;
	qdo_enter(qdo, &operation);
	do {
		link = search(key, &found);
		if (found && found->key == key)
			break;
		element->next = (uintptr_t)found;
	} while (!swap(link, (uintptr_t)found, (uintptr_t)element));
	if (found && found->key == key)
		free(element); /* no other thread has seen it */
	else
		__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	qdo_leave(&operation);
}

static void delete (long key)
{
	struct qdo_operation operation;
	struct element *found;
	uintptr_t next;

	qdo_enter(qdo, &operation);
	search(key, &found);
	if (found && found->key == key) {
		next = __atomic_load_n(&found->next, __ATOMIC_ACQUIRE);
		if (!(next & 1) && swap(&found->next, next, next | 1))
			search(key + 1, &found); /* unlinks it */
	}
	qdo_leave(&operation);
}

static int contains(long key)
{
	struct qdo_operation operation;
	struct element *found;
	int is_there;

	qdo_enter(qdo, &operation);
	search(key, &found);
	is_there = found && found->key == key;
	qdo_leave(&operation);
	return is_there;
}

static void *work(void *argument)
{
	unsigned int seed = 17 + (unsigned int)(uintptr_t)argument;
	long i, hits = 0;

	for (i = 0; i < rounds; i++) {
		long key = rand_r(&seed) % KEYS;

		switch (rand_r(&seed) % 4) {
		case 0:
			insert(key);
			break;
		case 1:
			delete (key);
			break;
		default:
			hits += contains(key);
		}
	}
	return (void *)hits;
}

int main(int count, char **words)
{
	pthread_t threads[THREADS];
	long key;
	int i;

	if (count > 1)
		rounds = atol(words[1]);
	qdo = qdo_default();
	if (!qdo)
		return 2;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
			return 2;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (key = 0; key < KEYS; key++)
		delete (key);
	qdo_barrier(qdo);
	printf("%lu elements made, %lu freed, %lu seen after they were freed\n", made, freed,
	       early);
	return made != freed || early || list;
}
