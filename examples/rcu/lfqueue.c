/* SPDX-License-Identifier: MIT */
/*
 * Producers and consumers share a queue; no thread ever waits for a particular other one.
 *
 * Build: gcc lfqueue.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if each
 * message arrived once, and those of one producer in order at each consumer.
 */
#include <lull/rcu/lfqueue.h>
#include <lull/rcu/mb.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define PRODUCERS 2
#define CONSUMERS 2
#define MESSAGES 20000

struct message {
	struct rcu_lfqueue_node node;
	struct rcu_head head;
	int producer;
	int number;
};

static struct rcu_lfqueue queue = RCU_LFQUEUE_INIT;
static int received, wrong;

static void *produce(void *index)
{
	rcu_register_thread();
	for (int i = 0; i < MESSAGES; i++) {
		struct message *message = malloc(sizeof(*message));

		if (!message)
			abort();
		message->producer = *(int *)index;
		message->number = i;
		rcu_read_lock(); /* enqueue looks at the last message, which may be leaving */
		rcu_lfqueue_enqueue(&queue, &message->node);
		rcu_read_unlock();
	}
	rcu_unregister_thread();
	return NULL;
}

static void reclaim(struct rcu_head *head)
{
	free(rcu_entry(head, struct message, head));
}

static void *consume(void *unused)
{
	int next[PRODUCERS] = { 0 };

	rcu_register_thread();
	while (__atomic_load_n(&received, __ATOMIC_RELAXED) < PRODUCERS * MESSAGES) {
		struct rcu_lfqueue_node *node;
		struct message *message;

		rcu_read_lock();
		node = rcu_lfqueue_dequeue(&queue);
		rcu_read_unlock();
		if (!node) {
			sched_yield();
			continue;
		}
		message = rcu_entry(node, struct message, node); /* ours now, except the node */
		if (message->number < next[message->producer])
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		next[message->producer] = message->number + 1;
		__atomic_add_fetch(&received, 1, __ATOMIC_RELAXED);
		call_rcu(&message->head, reclaim); /* other threads may still look at the node */
	}
	rcu_unregister_thread();
	return unused;
}

int main(void)
{
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];
	int indexes[PRODUCERS] = { 0, 1 }, i;

	for (i = 0; i < CONSUMERS; i++)
		if (pthread_create(&consumers[i], NULL, consume, NULL))
			return 1;
	for (i = 0; i < PRODUCERS; i++)
		if (pthread_create(&producers[i], NULL, produce, &indexes[i]))
			return 1;
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	for (i = 0; i < CONSUMERS; i++)
		pthread_join(consumers[i], NULL);
	rcu_barrier();
	printf("%d messages, %d wrong\n", received, wrong);
	return wrong != 0 || received != PRODUCERS * MESSAGES || !rcu_lfqueue_empty(&queue);
}
