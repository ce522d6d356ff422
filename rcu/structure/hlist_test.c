/* SPDX-License-Identifier: MIT */
/* Chains: order, what deletion leaves to readers, and a table's lookups beside its updater. */
#include <lull/rcu/hlist.h>
#include <lull/rcu/memb.h>
#include "stress_test.h"

#define KEYS 64u
#define CHAINS 8u
#define FIXED_EVERY 4u /* keys that are in the table all the time */
#define UPDATES STRESS_OPERATIONS(600000u)
#define READERS 2u

struct entry {
	struct rcu_head head;
	struct rcu_hlist_node node;
	unsigned int alive;
	unsigned int key;
	unsigned int version; /* of the key: grows with each replacement */
	unsigned int product; /* of key and version, written before the entry is published */
};

static struct rcu_hlist table[CHAINS];
static struct rcu_hlist_node *at[KEYS]; /* each key's node, for the updater */
static int updating;
static unsigned long lookups;

static unsigned long digits(struct rcu_hlist *chain)
{
	unsigned long entries = 0, nodes = 0, readers = 0;
	struct rcu_hlist_node *node;
	struct entry *entry;

	rcu_hlist_for_each_entry(entry, chain, node)
		entries = entries * 10 + entry->key;
	rcu_hlist_for_each(node, chain)
		nodes = nodes * 10 + rcu_entry(node, struct entry, node)->key;
	rcu_hlist_for_each_rcu(node, chain)
		readers = readers * 10 + rcu_entry(node, struct entry, node)->key;
	return nodes == entries && readers == entries ? entries : 0;
}

static void order(void)
{
	struct rcu_hlist chain = RCU_HLIST_INIT;
	struct entry entries[10], *entry = NULL;
	unsigned int met = 0;

	for (unsigned int i = 0; i < 10; i++)
		entries[i].key = i;
	check(rcu_hlist_empty(&chain) && !rcu_hlist_first(&chain), "a_new_chain_is_empty");
	rcu_hlist_add(&entries[5].node, &chain);
	rcu_hlist_add(&entries[2].node, &chain);
	check(digits(&chain) == 25 && rcu_hlist_first(&chain) == &entries[2].node,
	      "entries_are_added_in_front");
	rcu_hlist_add_before(&entries[1].node, &entries[2].node);
	rcu_hlist_add_after(&entries[3].node, &entries[2].node);
	rcu_hlist_add_before(&entries[4].node, &entries[5].node);
	rcu_hlist_add_after(&entries[6].node, &entries[5].node);
	check(digits(&chain) == 123456, "entries_are_added_beside_others");
	rcu_hlist_del(&entries[3].node);
	rcu_hlist_replace(&entries[5].node, &entries[9].node);
	check(digits(&chain) == 12496, "entries_are_deleted_and_replaced");
	check(entries[3].node.next == &entries[4].node && entries[5].node.next == &entries[6].node,
	      "entries_that_left_lead_back_into_the_chain");
	check(!entries[3].node.link && !entries[5].node.link,
	      "deleting_twice_would_follow_a_null_pointer");
	rcu_hlist_del(&entries[1].node);
	rcu_hlist_del(&entries[6].node);
	check(digits(&chain) == 249, "both_ends_are_deleted");
	rcu_hlist_for_each_entry_rcu(entry, &chain, node) {
		const struct entry *seen;

		rcu_hlist_for_each_entry_rcu(seen, &chain, node)
			met += entry->key == seen->key;
		if (entry->key == 4)
			break;
	}
	check(entry->key == 4 && met == 2, "walks_may_be_left_and_nested");
	rcu_hlist_for_each_entry(entry, &chain, node) {
		rcu_hlist_del(&entry->node);
		entry_poison(entry, sizeof(*entry));
	}
	check(rcu_hlist_empty(&chain), "a_walk_may_reuse_what_it_deletes");
}

static struct entry *entry_of(unsigned int key, unsigned int version)
{
	struct entry *entry = entry_new(sizeof(*entry));

	entry->alive = ENTRY_ALIVE;
	entry->key = key;
	entry->version = version;
	entry->product = (key + 1) * 2654435761u ^ version;
	return entry;
}

static void reclaim(struct rcu_head *head)
{
	entry_free(rcu_entry(head, struct entry, head), sizeof(struct entry));
}

static void leave(struct rcu_hlist_node *node, unsigned int how)
{
	struct entry *entry = rcu_entry(node, struct entry, node);

	if (how) {
		call_rcu(&entry->head, reclaim);
		return;
	}
	synchronize_rcu();
	entry_free(entry, sizeof(*entry));
}

/* Adds an entry to its chain: in front, or behind or before the first entry. */
static void insert(struct entry *entry, unsigned int how)
{
	struct rcu_hlist *chain = &table[entry->key % CHAINS];
	struct rcu_hlist_node *first = rcu_hlist_first(chain);

	if (!first || how % 3 == 0)
		rcu_hlist_add(&entry->node, chain);
	else if (how % 3 == 1)
		rcu_hlist_add_after(&entry->node, first);
	else
		rcu_hlist_add_before(&entry->node, first);
	at[entry->key] = &entry->node;
}

static void update(struct stress_thread *self)
{
	for (unsigned int i = 1; i <= UPDATES; i++) {
		unsigned int key = random_below(&self->random, KEYS);
		unsigned int how = random_below(&self->random, 256);
		struct rcu_hlist_node *old = at[key];

		if (!old) {
			insert(entry_of(key, i), how);
		} else if (key % FIXED_EVERY == 0 || how % 2) {
			at[key] = &entry_of(key, i)->node;
			rcu_hlist_replace(old, at[key]);
			leave(old, how);
		} else {
			at[key] = NULL;
			rcu_hlist_del(old);
			leave(old, how);
		}
		if (i % 4096 == 0)
			rcu_barrier(); /* bounds the memory that waits for grace periods */
	}
	__atomic_store_n(&updating, 0, __ATOMIC_RELEASE);
}

/* Return: the version that was found; 0 for none. */
static unsigned int look_up(unsigned int key)
{
	struct entry *entry;
	unsigned int version = 0;

	rcu_read_lock();
	rcu_hlist_for_each_entry_rcu(entry, &table[key % CHAINS], node) {
		expect(is_alive(&entry->alive), "a reader is on an entry that was reclaimed");
		expect(entry->key % CHAINS == key % CHAINS, "a reader is in another chain");
		if (entry->key != key)
			continue;
		version = entry->version;
		expect(entry->product == ((key + 1) * 2654435761u ^ version),
		       "an entry is not yet written");
		if (version % 512 == 0)
			sched_yield();
		expect(is_alive(&entry->alive), "an entry is reclaimed under a reader");
		break;
	}
	rcu_read_unlock();
	return version;
}

static void read_table(struct stress_thread *self)
{
	unsigned int newest[KEYS] = { 0 };
	unsigned long count = 0;

	rcu_register_thread();
	do {
		unsigned int key = random_below(&self->random, KEYS);
		unsigned int version = look_up(key);

		expect(version || key % FIXED_EVERY, "a reader misses an entry that stays");
		expect(!version || version >= newest[key], "a reader sees an old version again");
		if (version)
			newest[key] = version;
		count++;
	} while (__atomic_load_n(&updating, __ATOMIC_ACQUIRE));
	rcu_unregister_thread();
	__atomic_fetch_add(&lookups, count, __ATOMIC_RELAXED);
}

static void readers_beside_an_updater(void)
{
	struct stress_thread readers[READERS], updater[1];
	struct entry *entry;

	for (unsigned int key = 0; key < KEYS; key += FIXED_EVERY)
		insert(entry_of(key, 1), key);
	updating = 1;
	stress_start(readers, READERS, read_table);
	stress_start(updater, 1, update);
	stress_disturb(readers, READERS);
	stress_join(updater, 1);
	stress_join(readers, READERS);
	check(no_faults() && lookups >= READERS,
	      "lookups_find_what_stays_and_never_an_older_version");
	for (unsigned int i = 0; i < CHAINS; i++)
		rcu_hlist_for_each_entry(entry, &table[i], node) {
			rcu_hlist_del(&entry->node);
			entry_free(entry, sizeof(*entry));
		}
	rcu_barrier();
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	order();
	readers_beside_an_updater();
	return sums();
}
