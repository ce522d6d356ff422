/* SPDX-License-Identifier: MIT */
/*
 * Sessions in a hash table: many threads look them up, open and close them, while the table
 * grows and shrinks by itself.
 *
 * Build: gcc hash.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if each session
 * was opened once and closed once, and no thread saw one that was freed.
 */
#include <lull/rcu/memb.h>
#include <lull/rcu/hash.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define SESSIONS 20000ul
#define OPEN 0x5e5510ul
#define CLOSED 0xdeadul

struct session {
	struct rcu_hash_node node; /* its place in the table */
	struct rcu_head head; /* its place in the queue of those to free */
	unsigned long identifier; /* the key */
	unsigned long state;
};

static struct rcu_hash *sessions;
static unsigned long opened, closed, wrong;

static unsigned long hash_of(unsigned long identifier)
{
	return identifier * 0x9e3779b9ul >> 3;
}

static int has_identifier(struct rcu_hash_node *node, const void *key)
{
	const struct session *session = rcu_hash_entry(node, struct session, node);

	return session->identifier == *(const unsigned long *)key;
}

/* Called after a grace period: no thread holds the session any more. */
static void session_free(struct rcu_head *head)
{
	struct session *session = (struct session *)((char *)head - offsetof(struct session, head));

	session->state = CLOSED;
	free(session);
}

/* Several threads open the same session; one of them is the first. */
static void session_open(unsigned long identifier)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		abort();
	session->identifier = identifier;
	session->state = OPEN;
	rcu_read_lock();
	if (rcu_hash_add_unique(sessions, hash_of(identifier), has_identifier, &identifier,
				&session->node) == &session->node)
		__atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
	else
		free(session); /* it never was in the table */
	rcu_read_unlock();
}

static void session_close(unsigned long identifier)
{
	struct rcu_hash_iterator it;
	struct session *session;

	rcu_read_lock();
	if (rcu_hash_lookup(sessions, hash_of(identifier), has_identifier, &identifier, &it)) {
		session = rcu_hash_entry(it.node, struct session, node);
		if (session->state != OPEN) /* valid until the unlock, even if it is closed */
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		if (rcu_hash_del(sessions, it.node) == 0) { /* one of the threads that try gets 0 */
			__atomic_add_fetch(&closed, 1, __ATOMIC_RELAXED);
			call_rcu(&session->head, session_free);
		}
	}
	rcu_read_unlock();
}

static void *work(void *unused)
{
	unsigned long i;

	(void)unused;
	rcu_register_thread();
	for (i = 0; i < SESSIONS; i++)
		session_open(i);
	for (i = 0; i < SESSIONS; i++)
		session_close(i);
	rcu_unregister_thread();
	return NULL;
}

int main(void)
{
	struct rcu_hash_config config = { .initial_buckets = 16, .flags = RCU_HASH_AUTO_RESIZE };
	pthread_t threads[THREADS];
	int i;

	sessions = rcu_hash_new(&rcu_memb_domain, &config);
	if (!sessions)
		return 1;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	rcu_barrier();
	printf("%lu sessions opened, %lu closed, %lu left, %lu wrong\n", opened, closed,
	       rcu_hash_count_estimate(sessions), wrong);
	return opened != closed || opened < SESSIONS || wrong || rcu_hash_destroy(sessions);
}
