// SPDX-License-Identifier: MIT
/*
 * Two producers and two consumers on each queue and stack: nothing is lost, nothing comes twice,
 * and what one producer puts into a queue comes out in its order. Where a lock or one's own time
 * protects pop, what was taken is put back again.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <urcu.h>
#include <urcu/cds.h>

#include "../../../check/test.h"

#define SIDES 2
#define EACH 400000
#define LAPS 4

struct item {
	union {
		struct cds_wfcq_node queue;
		struct cds_wfs_node wait_free;
		struct cds_lfs_node lock_free;
		struct cds_lfq_node_rcu fifo;
	} in;
	int producer;
	int number;
	int laps;
};

/* A structure under test: puts one item, takes one or NULL. */
struct kind {
	const char *name, *order;
	void (*put)(struct item *item);
	struct item *(*take)(void);
	int laps; /* how often each item is put */
};

static struct cds_wfcq_head queue_head;
static struct cds_wfcq_tail queue_tail;
static struct cds_wfs_stack wait_free;
static struct __cds_lfs_stack lock_free;
static struct cds_lfs_stack locked;
static struct cds_lfq_queue_rcu fifo;
static const struct kind *kind;
static struct item *items[SIDES];
static unsigned long taken_count, producing;
static int unordered;
static pthread_barrier_t all;

static void queue_put(struct item *item)
{
	cds_wfcq_node_init(&item->in.queue);
	cds_wfcq_enqueue(&queue_head, &queue_tail, &item->in.queue);
}

static struct item *queue_take(void)
{
	struct cds_wfcq_node *node = cds_wfcq_dequeue_blocking(&queue_head, &queue_tail);

	return node ? caa_container_of(node, struct item, in.queue) : NULL;
}

/* By way of a queue of the consumer's own: consumers splice without a lock. */
static struct item *splice_take(void)
{
	static __thread struct __cds_wfcq_head head;
	static __thread struct cds_wfcq_tail tail;
	struct cds_wfcq_node *node;

	if (!tail.p)
		__cds_wfcq_init(&head, &tail);
	if (cds_wfcq_empty(&head, &tail))
		__cds_wfcq_splice_blocking(&head, &tail, &queue_head, &queue_tail);
	node = __cds_wfcq_dequeue_blocking(&head, &tail);
	return node ? caa_container_of(node, struct item, in.queue) : NULL;
}

static void wait_free_put(struct item *item)
{
	cds_wfs_node_init(&item->in.wait_free);
	cds_wfs_push(&wait_free, &item->in.wait_free);
}

static struct item *wait_free_take(void)
{
	struct cds_wfs_node *node = cds_wfs_pop_blocking(&wait_free);

	return node ? caa_container_of(node, struct item, in.wait_free) : NULL;
}

static void lock_free_put(struct item *item)
{
	cds_lfs_push(&lock_free, &item->in.lock_free);
}

/* Items are put once only, so that no other protection is needed than that memory stays. */
static struct item *lock_free_take(void)
{
	struct cds_lfs_node *node;

	rcu_read_lock();
	node = __cds_lfs_pop(&lock_free);
	rcu_read_unlock();
	return node ? caa_container_of(node, struct item, in.lock_free) : NULL;
}

static void locked_put(struct item *item)
{
	cds_lfs_push(&locked, &item->in.lock_free);
}

static struct item *locked_take(void)
{
	struct cds_lfs_node *node = cds_lfs_pop_blocking(&locked);

	return node ? caa_container_of(node, struct item, in.lock_free) : NULL;
}

static void fifo_put(struct item *item)
{
	cds_lfq_node_init_rcu(&item->in.fifo);
	rcu_read_lock();
	cds_lfq_enqueue_rcu(&fifo, &item->in.fifo);
	rcu_read_unlock();
}

static struct item *fifo_take(void)
{
	struct cds_lfq_node_rcu *node;

	rcu_read_lock();
	node = cds_lfq_dequeue_rcu(&fifo);
	rcu_read_unlock();
	return node ? caa_container_of(node, struct item, in.fifo) : NULL;
}

static void *produce(void *own)
{
	struct item *item = own;

	rcu_register_thread();
	pthread_barrier_wait(&all);
	for (int i = 0; i < EACH; i++)
		kind->put(&item[i]);
	uatomic_dec(&producing);
	rcu_unregister_thread();
	return NULL;
}

static void *consume(void *unused)
{
	int last[SIDES] = { -1, -1 };
	struct item *item, *held = NULL;
	int done;

	rcu_register_thread();
	pthread_barrier_wait(&all);
	do {
		done = !uatomic_read(&producing);
		cmm_smp_mb();
		while ((item = kind->take()) != NULL) {
			done = 0;
			if (item->number < last[item->producer])
				uatomic_inc(&unordered);
			last[item->producer] = item->number;
			uatomic_inc(&taken_count);
			/* What was taken is put back after the next one is: who relies on it to
			 * have stayed where it was meanwhile is wrong. */
			if (held)
				kind->put(held);
			held = ++item->laps < kind->laps ? item : NULL;
		}
		if (held) {
			kind->put(held);
			held = NULL;
			done = 0;
		}
		sched_yield();
	} while (!done);
	rcu_unregister_thread();
	return unused;
}

static void run(const struct kind *tested)
{
	pthread_t thread[2 * SIDES];
	int incomplete = 0;

	kind = tested;
	taken_count = unordered = 0;
	pthread_barrier_init(&all, NULL, 2 * SIDES);
	producing = SIDES;
	for (int side = 0; side < SIDES; side++) {
		items[side] = calloc(EACH, sizeof(struct item));
		for (int i = 0; i < EACH; i++) {
			items[side][i].producer = side;
			items[side][i].number = i;
		}
	}
	for (int i = 0; i < SIDES; i++) {
		pthread_create(&thread[i], NULL, produce, items[i]);
		pthread_create(&thread[SIDES + i], NULL, consume, NULL);
	}
	for (int i = 0; i < 2 * SIDES; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&all);
	for (int side = 0; side < SIDES; side++)
		for (int i = 0; i < EACH; i++)
			incomplete += items[side][i].laps != kind->laps;
	check(taken_count == (unsigned long)SIDES * EACH * kind->laps && !incomplete, kind->name);
	if (kind->order)
		check(!unordered, kind->order);
	for (int side = 0; side < SIDES; side++)
		free(items[side]);
}

/* An object that readers check while another thread replaces and frees it. */
struct published {
	long number;
	long complement;
	struct rcu_head head;
};

static struct published *current;
static int torn, reading = 1;
static unsigned long freed;

static void poison(struct rcu_head *head)
{
	struct published *old = caa_container_of(head, struct published, head);

	old->number = old->complement = 77;
	free(old);
	uatomic_inc(&freed);
}

static void *reader(void *unused)
{
	rcu_register_thread();
	while (uatomic_read(&reading)) {
		struct published *seen;

		rcu_read_lock();
		seen = rcu_dereference(current);
		for (int i = 0; i < 20; i++)
			torn += CMM_LOAD_SHARED(seen->number) != ~CMM_LOAD_SHARED(seen->complement);
		rcu_read_unlock();
	}
	rcu_unregister_thread();
	return unused;
}

static struct published *make(long number)
{
	struct published *made = malloc(sizeof(*made));

	made->number = number;
	made->complement = ~number;
	return made;
}

static void reclaim(void)
{
	pthread_t thread;
	const int replaced = 20000;

	rcu_assign_pointer(current, make(0));
	pthread_create(&thread, NULL, reader, NULL);
	for (int i = 1; i <= replaced; i++) {
		struct published *old = rcu_xchg_pointer(&current, make(i));

		if (i % 100)
			call_rcu(&old->head, poison);
		else
			synchronize_rcu(), poison(&old->head);
	}
	uatomic_set(&reading, 0);
	pthread_join(thread, NULL);
	rcu_barrier();
	check(!torn, "readers_never_see_a_reclaimed_object");
	check(freed == (unsigned long)replaced, "each_replaced_object_is_reclaimed");
	free(current);
}

int main(void)
{
	static const struct kind kinds[] = {
		{ "nothing_is_lost_in_a_wait_free_queue", NULL, queue_put, queue_take, LAPS },
		{ "nothing_is_lost_in_splices", "splices_keep_each_producers_order", queue_put,
		  splice_take, 1 },
		{ "nothing_is_lost_in_a_wait_free_stack", NULL, wait_free_put, wait_free_take,
		  LAPS },
		{ "nothing_is_lost_in_a_lock_free_stack", NULL, lock_free_put, lock_free_take, 1 },
		{ "nothing_is_lost_in_a_locked_lock_free_stack", NULL, locked_put, locked_take,
		  LAPS },
		{ "nothing_is_lost_in_a_lock_free_queue",
		  "a_lock_free_queue_keeps_each_producers_order", fifo_put, fifo_take, 1 },
	};

	cds_wfcq_init(&queue_head, &queue_tail);
	cds_wfs_init(&wait_free);
	__cds_lfs_init(&lock_free);
	cds_lfs_init(&locked);
	cds_lfq_init_rcu(&fifo, call_rcu);
	for (size_t i = 0; i < CAA_ARRAY_SIZE(kinds); i++)
		run(&kinds[i]);
	check(cds_lfq_destroy_rcu(&fifo) == 0, "an_emptied_queue_is_destroyed");
	reclaim();
	rcu_barrier();
	return sums();
}
