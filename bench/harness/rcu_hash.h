/* SPDX-License-Identifier: MIT */
/*
 * The measured program of the hash table's figures: one source, and the two libraries' tables
 * under one set of names. Each operation is a read-side section of its own; both read sides are
 * inline. Nodes lie in an array in random order of their keys, so that no lookup is helped by the
 * order in which nodes were made; a table of fixed size has as many buckets as nodes.
 */
#ifndef LULL_BENCH_RCU_HASH_H
#define LULL_BENCH_RCU_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "subject.h"
#include "rcu_side.h"

#ifdef SIDE_PEER
#include <urcu/rculfhash.h>

typedef struct cds_lfht hash_table;
typedef struct cds_lfht_node hash_node;
#else
#include <lull/rcu/hash.h>

typedef struct rcu_hash hash_table;
typedef struct rcu_hash_node hash_node;
#endif

struct hash_object {
	hash_node node; /* first: a node is its object */
	uint64_t key;
	uint64_t value; /* 1, so that what was found can be counted */
};

/* Keys are small numbers; this spreads them. */
static inline unsigned long hash_of(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ (key >> 32);
}

static inline int hash_match(hash_node *node, const void *key)
{
	return ((const struct hash_object *)(const void *)node)->key == *(const uint64_t *)key;
}

static inline struct hash_object *hash_object_of(hash_node *node)
{
	return (struct hash_object *)(void *)node;
}

/* A table that stays at so many buckets, or (0) one that sizes itself. */
hash_table *hash_table_new(unsigned long minimum, unsigned long maximum);
void hash_table_destroy(hash_table *table);
void hash_table_resize(hash_table *table, unsigned long buckets);
/* Sum of the values of all nodes. */
uint64_t hash_table_walk(hash_table *table);

#ifdef SIDE_PEER
static inline struct hash_object *hash_lookup(hash_table *table, uint64_t key)
{
	struct cds_lfht_iter found;

	cds_lfht_lookup(table, hash_of(key), hash_match, &key, &found);
	return hash_object_of(cds_lfht_iter_get_node(&found));
}

static inline void hash_add(hash_table *table, struct hash_object *object)
{
	cds_lfht_add(table, hash_of(object->key), &object->node);
}

static inline bool hash_add_unique(hash_table *table, struct hash_object *object)
{
	return cds_lfht_add_unique(table, hash_of(object->key), hash_match, &object->key,
				   &object->node) == &object->node;
}

static inline bool hash_add_replace(hash_table *table, struct hash_object *object)
{
	return cds_lfht_add_replace(table, hash_of(object->key), hash_match, &object->key,
				    &object->node) != NULL;
}

static inline bool hash_delete(hash_table *table, struct hash_object *object)
{
	return cds_lfht_del(table, &object->node) == 0;
}
#else
static inline struct hash_object *hash_lookup(hash_table *table, uint64_t key)
{
	struct rcu_hash_iterator found;

	return hash_object_of(rcu_hash_lookup(table, hash_of(key), hash_match, &key, &found));
}

static inline void hash_add(hash_table *table, struct hash_object *object)
{
	rcu_hash_add(table, hash_of(object->key), &object->node);
}

static inline bool hash_add_unique(hash_table *table, struct hash_object *object)
{
	return rcu_hash_add_unique(table, hash_of(object->key), hash_match, &object->key,
				   &object->node) == &object->node;
}

static inline bool hash_add_replace(hash_table *table, struct hash_object *object)
{
	return rcu_hash_add_replace(table, hash_of(object->key), hash_match, &object->key,
				    &object->node) != NULL;
}

static inline bool hash_delete(hash_table *table, struct hash_object *object)
{
	return rcu_hash_del(table, &object->node) == 0;
}
#endif

/* Numbers 0..count-1 in random order; objects with keys from base on, in random order. */
uint32_t *hash_order_new(uint32_t count);
struct hash_object *hash_objects_new(uint32_t count, uint64_t base);

void hash_add_all(hash_table *table, struct hash_object *objects, uint32_t count);
/* Takes the objects out in array order, and waits until nobody can see them. */
void hash_delete_all(hash_table *table, struct hash_object *objects, uint32_t count);
/* How many of the keys (from base on) are there. */
uint64_t hash_count_found(hash_table *table, const uint32_t *keys, uint32_t count, uint64_t base);

/* Each prints one answer line and returns 0, or -1 with a message on standard error. */
int hash_answer_lookup(uint32_t count, uint64_t operation_count);
int hash_answer_update(uint32_t count, uint64_t operation_count);
int hash_answer_grow(uint32_t count, uint64_t operation_count);
int hash_answer_pair(uint32_t count, unsigned int sample_ms);
int hash_answer_resize(uint32_t count, unsigned int sample_ms, const char *load);

#endif
