/* SPDX-License-Identifier: MIT */
/*
 * A resident program's hash table of names, which grows and shrinks with what is in it.
 *
 * Look-ups take no lock. Writers take one; what they remove, and the arrays that a resize leaves
 * behind, go back to memory once no look-up can see them (Q 5.6: HashNonBlocking, XHandleTrans).
 */
#ifndef LULL_BENCH_QDO_TABLE_H
#define LULL_BENCH_QDO_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lull/qdo.h"
#include <lull/rcu/bp.h>

/* How look-ups and reclamation are kept apart. */
enum scripts_guard {
	SCRIPTS_NOTHING, /* not at all: memory stays until the end, as if reclaiming were free */
	SCRIPTS_QDO, /* look-ups are operations; a request for each name */
	SCRIPTS_QDO_BATCH, /* a request for as many names as a script has */
	SCRIPTS_LOCK, /* readers and writers of a glibc lock; memory goes at once */
	SCRIPTS_RCU, /* look-ups are RCU sections, flavour bp; call_rcu() for each name */
	SCRIPTS_RCU_BATCH, /* call_rcu() for as many names as a script has */
	SCRIPTS_MARKED, /* look-ups are operations, and memory stays until the end */
	SCRIPTS_ASKED, /* the same, and requests as with QDO_BATCH, whose callbacks free nothing */
	SCRIPTS_THREADS /* as LOCK, and each command is an operation: K42 counted threads */
};

#define TABLE_BATCH 192 /* names */

struct table_entry {
	struct table_entry *next;
	struct table_entry *next_dead;
	struct rcu_head head; /* of the first one of a batch */
	uint64_t name;
	unsigned long live; /* 0 once reclaimed: look-ups check */
};

struct table_array;

struct table {
	enum scripts_guard guard;
	struct qdo *instance;
	pthread_mutex_t writers;
	pthread_rwlock_t lock;
	struct table_array *array;
	unsigned long count;
	bool is_resizing; /* a request for the array before is under way */
	struct table_entry *dead; /* what is not handed in yet; with some guards it never is */
	unsigned long dead_count;
	struct table_array *dead_arrays;
	unsigned long resizes, requests, wrong; /* requests: calls of call_rcu() too */
};

/* Each returns false when there is no memory. */
bool table_init(struct table *table, enum scripts_guard guard, struct qdo *instance);
bool table_add(struct table *table, uint64_t name);
/* Waits until all requests are done. */
void table_drain(struct table *table);
/* Nobody else uses it, and all requests are done. */
void table_end(struct table *table);
bool table_has(struct table *table, uint64_t name);
bool table_remove(struct table *table, uint64_t name);

#endif
