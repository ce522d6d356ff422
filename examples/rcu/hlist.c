/* SPDX-License-Identifier: MIT */
/*
 * A dictionary: a table of chains, of fixed size. Lookups are loads only.
 *
 * Build: gcc hlist.c $(pkg-config --cflags --libs lull-rcu) -pthread. Exits with 0 if every lookup
 * found what it should.
 */
#include <lull/rcu/hlist.h>
#include <lull/rcu/qsbr.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define READERS 2
#define CHAINS 64 /* a power of two */
#define WORDS 256
#define UPDATES 20000

struct word {
	struct rcu_hlist_node node;
	struct rcu_head head;
	unsigned int key;
	unsigned int square; /* of the key */
};

static struct rcu_hlist table[CHAINS]; /* zeroes: empty chains */
static int stop, wrong;

static struct rcu_hlist *chain_of(unsigned int key)
{
	return &table[key * 2654435769u >> 16 & (CHAINS - 1)];
}

/* Called in a section, or by the updater. */
static struct word *look_up(unsigned int key)
{
	struct word *word;

	rcu_hlist_for_each_entry_rcu(word, chain_of(key), node)
		if (word->key == key)
			return word;
	return NULL;
}

/* Called by the updater. There is one, so it needs no lock; several would lock each change. */
static void insert(unsigned int key)
{
	struct word *word = malloc(sizeof(*word));

	if (!word)
		abort();
	word->key = key;
	word->square = key * key;
	rcu_hlist_add(&word->node, chain_of(key));
}

static void reclaim(struct rcu_head *head)
{
	struct word *word = rcu_entry(head, struct word, head);

	word->square = ~0u; /* a reader that still held it would notice */
	free(word);
}

static void erase(unsigned int key)
{
	struct word *word = look_up(key);

	if (!word)
		return;
	rcu_hlist_del(&word->node);
	call_rcu(&word->head, reclaim); /* when no reader can be on it */
}

static void *reader(void *unused)
{
	unsigned int key = 0;

	rcu_register_thread();
	do {
		const struct word *word;

		rcu_read_lock(); /* no instruction at all, with QSBR */
		word = look_up(key);
		if (word ? word->square != key * key : key % 2 == 0) /* even keys stay */
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		rcu_read_unlock();
		rcu_quiescent_state(); /* in return, this flavour asks for quiescent states */
		key = (key + 1) % WORDS;
	} while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
	rcu_unregister_thread();
	return unused;
}

int main(void)
{
	pthread_t threads[READERS];
	unsigned int i;

	for (i = 0; i < WORDS; i += 2)
		insert(i);
	for (i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader, NULL))
			return 1;
	for (i = 1; i < UPDATES; i += 2) {
		insert(i % WORDS);
		erase(i % WORDS);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < WORDS; i += 2)
		erase(i);
	rcu_barrier();
	printf("%d updates, %d wrong lookups\n", UPDATES, wrong);
	return wrong != 0;
}
