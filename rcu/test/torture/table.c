// SPDX-License-Identifier: MIT
/*
 * A hash table of elements: keys that last, of which one element is replaced by the next, and keys
 * that come and go, while the table is resized.
 *
 * Sections look elements up here as they do by the shared pointers, in handlers too, and the child
 * of a fork goes on with the table as the fork found it.
 */
#include <stdlib.h>
#include <time.h>
#include "torture.h"

#define LASTING 16ul /* keys of which there is always an element */
#define KEYS (LASTING + 64)
#define SIZES 10u /* powers of two; 2^9 buckets are in the heap, and so more than a table has */
#define CHILD_ELEMENTS 40ul

static unsigned long mixed(unsigned long key)
{
	return key * 0x9e3779b9ul ^ key >> 5;
}

static struct element *element_of(struct rcu_hash_node *node)
{
	return rcu_hash_entry(node, struct element, node);
}

static int match(struct rcu_hash_node *node, const void *key)
{
	return element_of(node)->key == *(const unsigned long *)key;
}

static struct element *find(struct rcu_hash *table, unsigned long key)
{
	struct rcu_hash_iterator it;

	rcu_hash_lookup(table, mixed(key), match, &key, &it);
	if (!it.node && key < LASTING)
		fault_found(FAULT_MISSED);
	return it.node ? element_of(it.node) : NULL;
}

void table_make(struct torture *to)
{
	const struct rcu_hash_config config = { .flags = RCU_HASH_AUTO_RESIZE };
	struct element *element, *own = NULL;
	unsigned long key;

	to->table = rcu_hash_new(flavour->domain, &config);
	if (!to->table)
		exit(2);
	for (key = 0; key < LASTING; key++) {
		element = element_take(to, &own);
		element->key = key;
		rcu_hash_add(to->table, mixed(key), &element->node);
	}
	element_give(to, own);
}

struct element *table_look(struct random *random)
{
	struct rcu_hash_iterator it;

	counted[COUNT_LOOKED_UP]++;
	if (!random_below(random, 32)) {
		rcu_hash_for_each(torture->table, &it) {
			if (element_of(it.node)->content != CONTENT)
				fault_found(FAULT_CONTENT);
		}
	}
	return find(torture->table, random_below(random, KEYS));
}

void table_look_lasting(struct random *random)
{
	counted[COUNT_LOOKED_UP]++;
	(void)find(torture->table, random_below(random, LASTING));
}

void table_walk(struct random *random, void (*linger)(void))
{
	uint32_t left = random_below(random, LASTING);
	struct rcu_hash_iterator it;
	unsigned long met = 0;

	counted[COUNT_LOOKED_UP]++;
	rcu_hash_for_each(torture->table, &it) {
		if (element_of(it.node)->content != CONTENT)
			fault_found(FAULT_CONTENT);
		met += element_of(it.node)->key < LASTING;
		if (!left--)
			linger();
	}
	if (met != LASTING)
		fault_found(FAULT_MISSED);
}

struct element *table_update(struct random *random, struct element *element, struct element **own)
{
	struct rcu_hash *table = torture->table;
	struct rcu_hash_node *found;
	struct element *old = NULL;

	element->key = random_below(random, 2) ? random_below(random, LASTING) :
						 random_below(random, KEYS);
	flavour->read_lock();
	if (element->key < LASTING) {
		found = rcu_hash_add_replace(table, mixed(element->key), match, &element->key,
					     &element->node);
		if (found)
			old = element_of(found);
		else
			fault_found(FAULT_MISSED);
	} else {
		found = rcu_hash_add_unique(table, mixed(element->key), match, &element->key,
					    &element->node);
		if (found != &element->node) {
			element->next = *own;
			*own = element;
			if (!rcu_hash_del(table, found))
				old = element_of(found);
		}
	}
	flavour->read_unlock();
	return old;
}

void table_resize_to(unsigned long buckets)
{
	if (rcu_hash_resize(torture->table, buckets))
		exit(2);
	counted[COUNT_RESIZED]++;
}

void table_resize(struct random *random)
{
	table_resize_to(1ul << random_below(random, SIZES));
}

/*
 * The table grows by itself after updates: a thread of this process's does it. The first update on
 * a CPU may cancel one that is not yet in the table's count, and then does not look at the limits.
 */
static void await_growth(struct rcu_hash *table, struct element *added)
{
	struct timespec moment = { .tv_nsec = 1000000 };

	table_resize_to(1);
	flavour->read_lock();
	rcu_hash_add(table, mixed(added->key), &added->node);
	rcu_hash_del(table, &added->node);
	flavour->read_unlock();
	flavour->synchronize();
	flavour->read_lock();
	rcu_hash_add(table, mixed(added->key), &added->node);
	flavour->read_unlock();
	flavour->offline();
	while (rcu_hash_bucket_count(table) < LASTING)
		nanosleep(&moment, NULL);
	flavour->online();
}

int table_goes_on(struct random *random)
{
	static struct element added[CHILD_ELEMENTS];
	struct rcu_hash *table = torture->table;
	unsigned long i, lost = 0;

	for (i = 0; i < CHILD_ELEMENTS; i++) {
		added[i].key = KEYS + i;
		added[i].content = CONTENT;
		if (i == CHILD_ELEMENTS - 1) {
			await_growth(table, &added[i]);
			break;
		}
		flavour->read_lock();
		rcu_hash_add(table, mixed(added[i].key), &added[i].node);
		flavour->read_unlock();
	}
	table_resize(random);
	flavour->read_lock();
	for (i = 0; i < LASTING; i++)
		lost += !find(table, i);
	for (i = 0; i < CHILD_ELEMENTS; i++)
		lost += find(table, KEYS + i) != &added[i] || rcu_hash_del(table, &added[i].node);
	flavour->read_unlock();
	table_resize(random);
	flavour->read_lock();
	for (i = 0; i < CHILD_ELEMENTS; i++)
		lost += find(table, KEYS + i) != NULL;
	flavour->read_unlock();
	return lost == 0;
}
