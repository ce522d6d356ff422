/* SPDX-License-Identifier: MIT */
/* Lists: order, what deletion leaves to readers, and walks while an updater works. */
#include <lull/rcu/list.h>
#include <lull/rcu/memb.h>
#include "stress_test.h"

#define KEYS 64u
#define FIXED_EVERY 8u /* keys that are in the list all the time */
#define UPDATES STRESS_OPERATIONS(1000000u)
#define READERS 2u

struct entry {
	struct rcu_head head;
	struct rcu_list_node node;
	unsigned int alive;
	unsigned int key;
	unsigned int product; /* of key, written before the entry is published */
};

static struct rcu_list list = RCU_LIST_INIT(list);
static struct rcu_list_node *at[KEYS]; /* each key's node, for the updater */
static int updating;
static unsigned long walks;

/* The keys of a list as one number, first key first; forwards and backwards must agree. */
static unsigned long digits(struct rcu_list *from)
{
	unsigned long forward = 0, nodes = 0, backward = 0, scale = 1, readers = 0;
	struct rcu_list_node *node;
	struct entry *entry;

	rcu_list_for_each_entry(entry, from, node)
		forward = forward * 10 + entry->key;
	rcu_list_for_each(node, from)
		nodes = nodes * 10 + rcu_entry(node, struct entry, node)->key;
	rcu_list_for_each_rcu(node, from)
		readers = readers * 10 + rcu_entry(node, struct entry, node)->key;
	rcu_list_for_each_entry_reverse(entry, from, node) {
		backward += scale * entry->key;
		scale *= 10;
	}
	return forward == backward && nodes == forward && readers == forward ? forward : 0;
}

static void order(void)
{
	struct rcu_list here, other;
	struct entry entries[10], *entry;
	const struct entry *seen = NULL;
	unsigned int met = 0;

	for (unsigned int i = 0; i < 10; i++)
		entries[i].key = i;
	rcu_list_init(&here);
	rcu_list_init(&other);
	check(rcu_list_empty(&here) && !rcu_list_first(&here) && digits(&here) == 0,
	      "a_new_list_is_empty");
	rcu_list_add(&entries[3].node, &here);
	rcu_list_add(&entries[1].node, &here);
	rcu_list_add_tail(&entries[5].node, &here);
	check(digits(&here) == 135 && !rcu_list_empty(&here) &&
		      rcu_list_first(&here) == &entries[1].node,
	      "entries_are_added_at_both_ends");
	rcu_list_add_after(&entries[2].node, &entries[1].node);
	rcu_list_add_before(&entries[4].node, &entries[5].node);
	rcu_list_add_after(&entries[6].node, &entries[5].node);
	check(digits(&here) == 123456, "entries_are_added_beside_others");
	rcu_list_del(&entries[3].node);
	rcu_list_replace(&entries[5].node, &entries[9].node);
	check(digits(&here) == 12496, "entries_are_deleted_and_replaced");
	check(entries[3].node.next == &entries[4].node && entries[5].node.next == &entries[6].node,
	      "entries_that_left_lead_back_into_the_list");
	check(!entries[3].node.previous && !entries[5].node.previous,
	      "deleting_twice_would_follow_a_null_pointer");
	rcu_list_splice(&other, &here);
	rcu_list_add(&entries[8].node, &other);
	rcu_list_add(&entries[7].node, &other);
	rcu_list_splice(&other, &here);
	check(digits(&here) == 7812496 && rcu_list_empty(&other), "a_list_is_spliced_in_front");
	rcu_list_for_each_entry(entry, &here, node)
		if (entry->key % 2 == 0)
			rcu_list_del(&entry->node);
	check(digits(&here) == 719, "a_walk_may_delete_what_it_is_at");
	rcu_list_for_each_entry_rcu(seen, &here, node)
		if (seen->key == 1)
			break;
	rcu_list_for_each_entry_rcu(seen, &here, node) {
		rcu_list_for_each_entry_rcu(entry, &here, node)
			met += entry->key == seen->key;
	}
	check(seen->key == 9 && met == 3, "walks_may_be_left_and_nested");
}

static void reclaim(struct rcu_head *head)
{
	entry_free(rcu_entry(head, struct entry, head), sizeof(struct entry));
}

static struct entry *entry_of(unsigned int key)
{
	struct entry *entry = entry_new(sizeof(*entry));

	entry->alive = ENTRY_ALIVE;
	entry->key = key;
	entry->product = key * 2654435761u;
	return entry;
}

/* Keeps the list sorted, so that a reader that is led astray can tell. */
static void insert(unsigned int key)
{
	unsigned int before = key;
	struct entry *entry = entry_of(key);

	while (before > 0 && !at[before - 1])
		before--;
	if (before)
		rcu_list_add_after(&entry->node, at[before - 1]);
	else
		rcu_list_add(&entry->node, &list);
	at[key] = &entry->node;
}

static void leave(struct rcu_list_node *node, unsigned int how)
{
	struct entry *entry = rcu_entry(node, struct entry, node);

	if (how) {
		call_rcu(&entry->head, reclaim);
		return;
	}
	synchronize_rcu();
	entry_free(entry, sizeof(*entry));
}

static void update(struct stress_thread *self)
{
	for (unsigned int i = 0; i < UPDATES; i++) {
		unsigned int key = random_below(&self->random, KEYS);
		unsigned int how = random_below(&self->random, 256);
		struct rcu_list_node *old = at[key];

		if (!old) {
			insert(key);
		} else if (key % FIXED_EVERY == 0 || how % 2) {
			at[key] = &entry_of(key)->node;
			rcu_list_replace(old, at[key]);
			leave(old, how);
		} else {
			at[key] = NULL;
			rcu_list_del(old);
			leave(old, how);
		}
		if (i % 4096 == 0)
			rcu_barrier(); /* bounds the memory that waits for grace periods */
	}
	__atomic_store_n(&updating, 0, __ATOMIC_RELEASE);
}

static void walk(uint64_t *random)
{
	unsigned int fixed = 0, last = 0, first = 1;
	struct entry *entry;

	rcu_list_for_each_entry_rcu(entry, &list, node) {
		unsigned int key = entry->key;

		expect(is_alive(&entry->alive), "a reader is on an entry that was reclaimed");
		expect(entry->product == key * 2654435761u, "an entry is not yet written");
		expect(first || key > last, "a reader meets entries out of order");
		fixed += key % FIXED_EVERY == 0;
		last = key;
		first = 0;
		if (random_below(random, 512) == 0)
			sched_yield();
		expect(is_alive(&entry->alive), "an entry is reclaimed under a reader");
	}
	expect(fixed == KEYS / FIXED_EVERY, "a reader misses an entry that was always there");
}

static void read_list(struct stress_thread *self)
{
	unsigned long count = 0;

	rcu_register_thread();
	do {
		rcu_read_lock();
		walk(&self->random);
		rcu_read_unlock();
		count++;
	} while (__atomic_load_n(&updating, __ATOMIC_ACQUIRE));
	rcu_unregister_thread();
	__atomic_fetch_add(&walks, count, __ATOMIC_RELAXED);
}

static void readers_beside_an_updater(void)
{
	struct stress_thread readers[READERS], updater[1];
	struct entry *entry;

	for (unsigned int key = 0; key < KEYS; key += FIXED_EVERY)
		insert(key);
	updating = 1;
	stress_start(readers, READERS, read_list);
	stress_start(updater, 1, update);
	stress_disturb(readers, READERS);
	stress_join(updater, 1);
	stress_join(readers, READERS);
	check(no_faults() && walks >= READERS,
	      "readers_meet_live_entries_in_order_and_miss_none_that_stay");
	rcu_list_for_each_entry(entry, &list, node) {
		rcu_list_del(&entry->node);
		entry_free(entry, sizeof(*entry));
	}
	rcu_barrier();
	check(rcu_list_empty(&list), "a_walk_may_free_what_it_deletes");
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	order();
	readers_beside_an_updater();
	return sums();
}
