// SPDX-License-Identifier: MIT
/*
 * A program of anybody's: it uses one flavour, and a hash table and QDo, by public headers only.
 *
 * program [race]: without an argument no access of the program's races with another, and
 * ThreadSanitizer reports nothing. With one, some accesses do race, and it reports those. Elements
 * are plain memory of the heap: nothing but the library orders their accesses. RCU_DOMAIN is the
 * flavour's domain.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lull/qdo.h"
#include "lull/rcu/hash.h"
#include "lull/rcu/lfqueue.h"
#include "lull/rcu/list.h"
#include "lull/rcu/queue.h"
#include "lull/rcu/stack.h"

#include FLAVOUR_HEADER /* lull/rcu/FLAVOUR.h, with its short names */

#define READERS 5
#define UPDATERS 7
#define PRODUCERS 2
#define ROUNDS 200
#define KEYS 64ul
#define LARGE 4096ul

struct element {
	struct rcu_head head;
	struct rcu_list_node link;
	struct rcu_hash_node node;
	struct rcu_queue_node queued;
	struct rcu_stack_node stacked;
	struct rcu_lfqueue_node free_queued;
	unsigned long key;
	unsigned long content; /* key + 1 */
};

static struct element *shared;
static struct rcu_list list = RCU_LIST_INIT(list);
static struct rcu_hash *table;
static struct rcu_queue queue = RCU_QUEUE_INIT(queue);
static struct rcu_stack stack = RCU_STACK_INIT;
static struct rcu_lfqueue free_queue = RCU_LFQUEUE_INIT;
static struct qdo *instance;
static struct element *operated; /* what operations of QDo read */
static int stop, waiting = 1;
static unsigned long wrong;
static unsigned long called; /* plain: rcu_barrier() orders it */
static const char *race = "";

static int races(const char *name)
{
	return !strcmp(race, name);
}

static struct element *element_new(unsigned long key)
{
	struct element *element = malloc(sizeof(*element));

	if (!element)
		exit(2);
	memset(element, 0, sizeof(*element));
	element->key = key;
	element->content = key + 1;
	return element;
}

/* Writes, so that a section that still reads is seen to race. */
static void element_free(struct element *element)
{
	if (!element)
		return;
	element->content = 0;
	free(element);
}

static void element_check(const struct element *element)
{
	if (element && element->content != element->key + 1)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static int match(struct rcu_hash_node *node, const void *key)
{
	return rcu_hash_entry(node, struct element, node)->key == *(const unsigned long *)key;
}

/* QSBR's sections are what lies between quiescent states, and not where the thread is offline. */
static void section_begin(int outside)
{
	if (outside)
		rcu_thread_offline();
	else
		rcu_read_lock();
}

static void section_end(int outside)
{
	if (outside)
		rcu_thread_online();
	else
		rcu_read_unlock();
}

static void read_pointer(unsigned long unused)
{
	(void)unused;
	element_check(rcu_dereference(shared));
}

static void read_list(unsigned long unused)
{
	struct element *element;

	(void)unused;
	rcu_list_for_each_entry_rcu(element, &list, link) {
		element_check(element);
	}
}

static void look_up(unsigned long round)
{
	unsigned long key = round % KEYS;
	struct rcu_hash_iterator it;

	rcu_hash_for_each_duplicate(table, key, match, &key, &it) {
		element_check(rcu_hash_entry(it.node, struct element, node));
	}
}

static void walk(unsigned long unused)
{
	struct rcu_hash_iterator it;

	(void)unused;
	rcu_hash_for_each(table, &it) {
		element_check(rcu_hash_entry(it.node, struct element, node));
	}
}

static void operate(unsigned long unused)
{
	struct qdo_operation operation;

	(void)unused;
	qdo_enter(instance, &operation);
	element_check(rcu_dereference(operated));
	qdo_leave(&operation);
}

/* Each reads one thing only, so that nothing it acquires from that orders the rest. */
static void (*const reads[READERS])(unsigned long round) = { read_pointer, read_list, look_up, walk,
							     operate };

static void *reader(void *read)
{
	/* Not in the table: its memory may be none any more. */
	int outside = races("outside") && read == &reads[0];
	unsigned long i;

	rcu_register_thread();
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		section_begin(outside);
		(*(void (*const *)(unsigned long))read)(i);
		section_end(outside);
		rcu_quiescent_state();
		if (i % 16 == 0) {
			rcu_thread_offline();
			rcu_thread_online();
		}
	}
	rcu_unregister_thread();
	return NULL;
}

/* Callbacks read, too: the threads that call them are readers. */
static void free_called(struct rcu_head *head)
{
	rcu_read_lock();
	element_check(rcu_dereference(shared));
	rcu_read_unlock();
	element_free((struct element *)(void *)head);
	called++; /* one thread calls all */
}

static void free_argument(void *element)
{
	element_free(element);
}

static void wait_polling(void)
{
	struct rcu_gp_poll_state state = start_poll_synchronize_rcu();

	while (!poll_state_synchronize_rcu(state)) {
		rcu_quiescent_state();
		usleep(100);
	}
}

/* Reclaims an element, in one way after the other. */
static void reclaim(struct element *element, unsigned long round)
{
	switch (races("early") ? 5 : round % 5) {
	case 0:
		synchronize_rcu();
		element_free(element);
		break;
	case 1:
		synchronize_rcu_expedited();
		element_free(element);
		break;
	case 2:
		wait_polling();
		element_free(element);
		break;
	case 3:
		call_rcu(&element->head, free_called);
		break;
	case 4:
		defer_rcu(free_argument, element);
		break;
	default:
		element_free(element);
	}
}

static void update_pointer(unsigned long round)
{
	struct element *old = rcu_xchg_pointer(&shared, element_new(round));

	if (old)
		reclaim(old, round);
}

/* One thread changes the list. */
static void update_list(unsigned long round)
{
	static struct element *kept[8];
	struct element **old = &kept[round % 8];

	if (*old) {
		rcu_list_del(&(*old)->link);
		reclaim(*old, round);
	}
	*old = element_new(round);
	rcu_list_add(&(*old)->link, &list);
}

static void update_hash(unsigned long round)
{
	struct element *element = element_new(round * 7 % KEYS), *old = NULL;
	struct rcu_hash_iterator it;
	struct rcu_hash_node *found;

	rcu_read_lock();
	switch (round % 5) {
	case 0:
		found = rcu_hash_add_replace(table, element->key, match, &element->key,
					     &element->node);
		if (found)
			old = rcu_hash_entry(found, struct element, node);
		break;
	case 1:
		found = rcu_hash_add_unique(table, element->key, match, &element->key,
					    &element->node);
		if (found != &element->node) {
			element_check(rcu_hash_entry(found, struct element, node));
			old = element;
		}
		break;
	case 2:
		rcu_hash_add(table, element->key, &element->node);
		break;
	case 3:
		rcu_hash_add_last(table, element->key, &element->node);
		break;
	default:
		old = element;
		if (rcu_hash_lookup(table, element->key, match, &element->key, &it) &&
		    !rcu_hash_replace(table, it.node, &element->node))
			old = rcu_hash_entry(it.node, struct element, node);
	}
	if (!old && round % 3 == 0 && rcu_hash_first(table, &it) && !rcu_hash_del(table, it.node))
		old = rcu_hash_entry(it.node, struct element, node);
	rcu_read_unlock();
	if (old)
		reclaim(old, round / 5);
}

/* Reads elements that others have added, by the function that matches them only. */
static void update_unique(unsigned long round)
{
	struct element *element = element_new(round * 11 % KEYS);
	struct rcu_hash_node *found;

	rcu_read_lock();
	found = rcu_hash_add_unique(table, element->key, match, &element->key, &element->node);
	rcu_read_unlock();
	if (found != &element->node)
		element_free(element);
}

/* Between arrays of all kinds. */
static void update_size(unsigned long round)
{
	static const unsigned long sizes[] = { 1, 256, 16, LARGE };

	if (round % 4 == 0)
		rcu_hash_resize(table, sizes[round / 4 % 4]);
}

static void free_operated(void *element)
{
	element_free(element);
}

static void count_one(void *count)
{
	++*(unsigned long *)count;
}

static void update_operated(unsigned long round)
{
	struct element *old = rcu_xchg_pointer(&operated, element_new(round));
	unsigned long count = 0;

	if (old && races("operation"))
		element_free(old);
	else if (old && qdo_request(instance, free_operated, old, NULL, NULL))
		exit(2);
	if (round % 10)
		return;
	if (qdo_request(instance, count_one, &count, NULL, NULL) || qdo_barrier(instance))
		exit(2);
	__atomic_fetch_add(&wrong, count != 1, __ATOMIC_RELAXED);
}

static void (*const updates[UPDATERS])(unsigned long round) = { update_pointer, update_list,
								update_hash,	update_hash,
								update_unique,	update_size,
								update_operated };

static void *updater(void *update)
{
	unsigned long round, rounds = *race ? 10 * ROUNDS : ROUNDS; /* a report ends it sooner */

	rcu_register_thread();
	if (rcu_defer_register_thread())
		exit(2);
	for (round = 0; round < rounds; round++) {
		(*(void (*const *)(unsigned long))update)(round);
		rcu_quiescent_state();
	}
	rcu_defer_barrier();
	rcu_defer_unregister_thread();
	rcu_unregister_thread();
	return NULL;
}

/* No reader: only its calls order what it wrote. */
static void *caller(void *unused)
{
	unsigned long round;

	if (rcu_defer_register_thread())
		exit(2);
	for (round = 0; round < ROUNDS; round++) {
		call_rcu(&element_new(round)->head, free_called);
		defer_rcu(free_argument, element_new(round));
		if (round % 20 == 0)
			usleep(1000);
	}
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED))
		usleep(1000); /* so that the library's thread makes the calls */
	rcu_defer_unregister_thread();
	return unused;
}

static void *producer(void *unused)
{
	unsigned long round;

	rcu_register_thread();
	for (round = 0; round < ROUNDS; round++) {
		rcu_queue_enqueue(&queue, &element_new(round)->queued);
		rcu_stack_push(&stack, &element_new(round)->stacked);
		rcu_read_lock();
		rcu_lfqueue_enqueue(&free_queue, &element_new(round)->free_queued);
		rcu_read_unlock();
		rcu_quiescent_state();
	}
	rcu_unregister_thread();
	return unused;
}

/* The one consumer. Elements of the lock-free queue are freed after a grace period. */
static void *consumer(void *unused)
{
	struct rcu_queue_node *queued;
	struct rcu_stack_node *stacked, *next;
	struct rcu_lfqueue_node *free_queued;
	unsigned long taken = 0;

	rcu_register_thread();
	while (taken < 3 * PRODUCERS * ROUNDS) {
		for (; (queued = rcu_queue_dequeue(&queue)) != NULL; taken++)
			element_free(rcu_entry(queued, struct element, queued));
		for (stacked = rcu_stack_pop_all(&stack); stacked; stacked = next, taken++) {
			next = rcu_stack_next(stacked);
			element_free(rcu_entry(stacked, struct element, stacked));
		}
		rcu_read_lock();
		free_queued = rcu_lfqueue_dequeue(&free_queue);
		rcu_read_unlock();
		if (free_queued) {
			call_rcu(&rcu_entry(free_queued, struct element, free_queued)->head,
				 free_called);
			taken++;
		}
		rcu_quiescent_state();
	}
	rcu_unregister_thread();
	return unused;
}

static void empty_table(void)
{
	struct rcu_hash_iterator it;

	rcu_hash_for_each(table, &it) {
		if (!rcu_hash_del(table, it.node))
			call_rcu(&rcu_hash_entry(it.node, struct element, node)->head, free_called);
	}
}

int main(int count, char **argument)
{
	struct rcu_hash_config config = { 1, 1, LARGE, RCU_HASH_AUTO_RESIZE };
	pthread_t thread[READERS + UPDATERS + PRODUCERS + 2];
	unsigned long before;
	int i, started = 0;

	if (count > 1)
		race = argument[1];
	table = rcu_hash_new(RCU_DOMAIN, &config);
	if (!table || qdo_create(NULL, &instance))
		return 2;
	for (i = 0; i < READERS; i++)
		pthread_create(&thread[started++], NULL, reader, (void *)&reads[i]);
	pthread_create(&thread[started++], NULL, caller, NULL);
	pthread_create(&thread[started++], NULL, consumer, NULL);
	for (i = 0; i < PRODUCERS; i++)
		pthread_create(&thread[started++], NULL, producer, NULL);
	for (i = 0; i < UPDATERS; i++)
		pthread_create(&thread[started++], NULL, updater, (void *)&updates[i]);
	while (started > READERS + 1)
		pthread_join(thread[--started], NULL);
	__atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	while (started)
		pthread_join(thread[--started], NULL);
	for (i = 0; i < ROUNDS; i++) {
		rcu_barrier();
		before = called;
		call_rcu(&element_new(0)->head, free_called);
		rcu_barrier();
		wrong += called != before + 1;
	}
	rcu_register_thread();
	rcu_read_lock();
	empty_table();
	rcu_read_unlock();
	rcu_unregister_thread();
	rcu_barrier();
	element_free(shared);
	if (rcu_hash_destroy(table) || qdo_destroy(instance))
		return 2;
	element_free(operated);
	return wrong != 0;
}
