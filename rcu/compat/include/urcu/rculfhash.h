/* SPDX-License-Identifier: MIT */
/*
 * Lock-free resizable hash table, under liburcu's names: lull/rcu/hash.h does the work and says
 * what each function guarantees. Callers are in an RCU section of the table's flavour, but for new,
 * resize and destroy.
 *
 * The thread attributes that a table is made with have no effect, as the library's own thread
 * resizes; cds_lfht_destroy() gives them back. Neither have the kind of memory and the functions
 * that allocate it: a table's memory is the library's own.
 */
#ifndef LULL_URCU_RCULFHASH_H
#define LULL_URCU_RCULFHASH_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include <urcu/compiler.h>
#include <urcu/config.h>
#include <urcu/flavor.h>

#include "lull/rcu/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A struct rcu_hash under another name. */
struct cds_lfht;

struct cds_lfht_node {
	struct rcu_hash_node lull;
} __attribute__((aligned(8)));

/* Programs read and set the node themselves. */
struct cds_lfht_iter {
	struct cds_lfht_node *node;
	unsigned long next;
};

enum { CDS_LFHT_AUTO_RESIZE = 1U << 0, CDS_LFHT_ACCOUNTING = 1U << 1 };

typedef int (*cds_lfht_match_fct)(struct cds_lfht_node *node, const void *key);

struct cds_lfht_mm_type {
	const char *name;
};

/* A program's own allocator. */
struct cds_lfht_alloc {
	void *(*malloc)(void *state, size_t size);
	void *(*calloc)(void *state, size_t nmemb, size_t size);
	void *(*realloc)(void *state, void *ptr, size_t size);
	void *(*aligned_alloc)(void *state, size_t alignment, size_t size);
	void (*free)(void *state, void *ptr);
	void *state;
};

/* In liblull-urcu. */
extern const struct cds_lfht_mm_type cds_lfht_mm_order, cds_lfht_mm_chunk, cds_lfht_mm_mmap;

/*
 * NULL when a size is no power of two, or without memory. Numbers of buckets: at first, at least,
 * at most (0: as many as memory allows).
 */
struct cds_lfht *_cds_lfht_new(unsigned long init_size, unsigned long min_nr_alloc_buckets,
			       unsigned long max_nr_buckets, int flags,
			       const struct cds_lfht_mm_type *mm,
			       const struct rcu_flavor_struct *flavor, pthread_attr_t *attr);
struct cds_lfht *_cds_lfht_new_with_alloc(unsigned long init_size,
					  unsigned long min_nr_alloc_buckets,
					  unsigned long max_nr_buckets, int flags,
					  const struct cds_lfht_mm_type *mm,
					  const struct rcu_flavor_struct *flavor,
					  const struct cds_lfht_alloc *alloc, pthread_attr_t *attr);
/* 0; or -EPERM when nodes are in it. */
int cds_lfht_destroy(struct cds_lfht *ht, pthread_attr_t **attr);

static inline struct cds_lfht *cds_lfht_new_flavor(unsigned long init_size,
						   unsigned long min_nr_alloc_buckets,
						   unsigned long max_nr_buckets, int flags,
						   const struct rcu_flavor_struct *flavor,
						   pthread_attr_t *attr)
{
	return _cds_lfht_new(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, NULL, flavor,
			     attr);
}

static inline struct cds_lfht *
cds_lfht_new_with_flavor_alloc(unsigned long init_size, unsigned long min_nr_alloc_buckets,
			       unsigned long max_nr_buckets, int flags,
			       const struct rcu_flavor_struct *flavor,
			       const struct cds_lfht_alloc *alloc, pthread_attr_t *attr)
{
	return _cds_lfht_new_with_alloc(init_size, min_nr_alloc_buckets, max_nr_buckets, flags,
					NULL, flavor, alloc, attr);
}

/* A macro, as the short name of the flavour is one; of the flavour whose header came last. */
#define cds_lfht_new(init_size, min_nr_alloc_buckets, max_nr_buckets, flags, attr)          \
	cds_lfht_new_flavor((init_size), (min_nr_alloc_buckets), (max_nr_buckets), (flags), \
			    &rcu_flavor, (attr))

/* liburcu's match function and its key, as the key of ours. */
struct cds_lfht_key_ {
	cds_lfht_match_fct match;
	const void *key;
};

static inline int cds_lfht_match_(struct rcu_hash_node *node, const void *key)
{
	const struct cds_lfht_key_ *theirs = (const struct cds_lfht_key_ *)key;

	return theirs->match((struct cds_lfht_node *)node, theirs->key);
}

static inline struct rcu_hash *cds_lfht_table_(struct cds_lfht *ht)
{
	return (struct rcu_hash *)ht;
}

static inline struct rcu_hash_iterator cds_lfht_to_(const struct cds_lfht_iter *iter)
{
	struct rcu_hash_iterator ours = { (struct rcu_hash_node *)iter->node, iter->next };

	return ours;
}

static inline void cds_lfht_from_(struct cds_lfht_iter *iter, struct rcu_hash_iterator ours)
{
	iter->node = (struct cds_lfht_node *)ours.node;
	iter->next = ours.next;
}

static inline struct cds_lfht_node *cds_lfht_iter_get_node(const struct cds_lfht_iter *iter)
{
	return iter->node;
}

static inline void cds_lfht_node_init(struct cds_lfht_node *node)
{
	(void)node;
}

static inline void cds_lfht_node_init_deleted(struct cds_lfht_node *node)
{
	rcu_hash_node_init_deleted(&node->lull);
}

static inline int cds_lfht_is_node_deleted(const struct cds_lfht_node *node)
{
	return rcu_hash_is_deleted(&node->lull);
}

static inline void cds_lfht_lookup(struct cds_lfht *ht, unsigned long hash,
				   cds_lfht_match_fct match, const void *key,
				   struct cds_lfht_iter *iter)
{
	const struct cds_lfht_key_ theirs = { match, key };
	struct rcu_hash_iterator ours;

	rcu_hash_lookup(cds_lfht_table_(ht), hash, cds_lfht_match_, &theirs, &ours);
	cds_lfht_from_(iter, ours);
}

static inline void cds_lfht_next_duplicate(struct cds_lfht *ht, cds_lfht_match_fct match,
					   const void *key, struct cds_lfht_iter *iter)
{
	const struct cds_lfht_key_ theirs = { match, key };
	struct rcu_hash_iterator ours = cds_lfht_to_(iter);

	rcu_hash_next_duplicate(cds_lfht_table_(ht), cds_lfht_match_, &theirs, &ours);
	cds_lfht_from_(iter, ours);
}

static inline void cds_lfht_first(struct cds_lfht *ht, struct cds_lfht_iter *iter)
{
	struct rcu_hash_iterator ours;

	rcu_hash_first(cds_lfht_table_(ht), &ours);
	cds_lfht_from_(iter, ours);
}

static inline void cds_lfht_next(struct cds_lfht *ht, struct cds_lfht_iter *iter)
{
	struct rcu_hash_iterator ours = cds_lfht_to_(iter);

	rcu_hash_next(cds_lfht_table_(ht), &ours);
	cds_lfht_from_(iter, ours);
}

/* Behind the nodes of the same hash; add_unique and add_replace put new keys in front of them. */
static inline void cds_lfht_add(struct cds_lfht *ht, unsigned long hash, struct cds_lfht_node *node)
{
	rcu_hash_add_last(cds_lfht_table_(ht), hash, &node->lull);
}

static inline struct cds_lfht_node *cds_lfht_add_unique(struct cds_lfht *ht, unsigned long hash,
							cds_lfht_match_fct match, const void *key,
							struct cds_lfht_node *node)
{
	const struct cds_lfht_key_ theirs = { match, key };

	return (struct cds_lfht_node *)rcu_hash_add_unique(cds_lfht_table_(ht), hash,
							   cds_lfht_match_, &theirs, &node->lull);
}

static inline struct cds_lfht_node *cds_lfht_add_replace(struct cds_lfht *ht, unsigned long hash,
							 cds_lfht_match_fct match, const void *key,
							 struct cds_lfht_node *node)
{
	const struct cds_lfht_key_ theirs = { match, key };

	return (struct cds_lfht_node *)rcu_hash_add_replace(cds_lfht_table_(ht), hash,
							    cds_lfht_match_, &theirs, &node->lull);
}

/* -ENOENT: the old node is not in the table (any more). -EINVAL: it has another hash or key. */
static inline int cds_lfht_replace(struct cds_lfht *ht, struct cds_lfht_iter *old_iter,
				   unsigned long hash, cds_lfht_match_fct match, const void *key,
				   struct cds_lfht_node *new_node)
{
	struct cds_lfht_node *old = old_iter->node;

	if (!old)
		return -ENOENT;
	if (old->lull.hash != hash || !match(old, key))
		return -EINVAL;
	return rcu_hash_replace(cds_lfht_table_(ht), &old->lull, &new_node->lull);
}

/* -ENOENT when there is no node, or it is not in the table any more. */
static inline int cds_lfht_del(struct cds_lfht *ht, struct cds_lfht_node *node)
{
	return node ? rcu_hash_del(cds_lfht_table_(ht), &node->lull) : -ENOENT;
}

/* The two estimates, by the counters, frame the count, which is a walk. */
static inline void cds_lfht_count_nodes(struct cds_lfht *ht, long *split_count_before,
					unsigned long *count, long *split_count_after)
{
	*split_count_before = (long)rcu_hash_count_estimate(cds_lfht_table_(ht));
	*count = rcu_hash_count_nodes(cds_lfht_table_(ht));
	*split_count_after = (long)rcu_hash_count_estimate(cds_lfht_table_(ht));
}

static inline void cds_lfht_resize(struct cds_lfht *ht, unsigned long new_size)
{
	rcu_hash_resize(cds_lfht_table_(ht), new_size);
}

/* Nodes may be removed and added meanwhile, the current one too. */
#define cds_lfht_for_each(ht, iter, node)                                                 \
	for (cds_lfht_first((ht), (iter)); (node = cds_lfht_iter_get_node(iter)) != NULL; \
	     cds_lfht_next((ht), (iter)))
#define cds_lfht_for_each_duplicate(ht, hash, match, key, iter, node) \
	for (cds_lfht_lookup((ht), (hash), (match), (key), (iter));   \
	     (node = cds_lfht_iter_get_node(iter)) != NULL;           \
	     cds_lfht_next_duplicate((ht), (match), (key), (iter)))

#define cds_lfht_entry(node, type, member) caa_container_of_check_null(node, type, member)
#define CDS_LFHT_AT_(iter, pos, member) \
	((pos = cds_lfht_entry(cds_lfht_iter_get_node(iter), __typeof__(*(pos)), member)) != NULL)
#define cds_lfht_for_each_entry(ht, iter, pos, member)                      \
	for (cds_lfht_first((ht), (iter)); CDS_LFHT_AT_(iter, pos, member); \
	     cds_lfht_next((ht), (iter)))
#define cds_lfht_for_each_entry_duplicate(ht, hash, match, key, iter, pos, member) \
	for (cds_lfht_lookup((ht), (hash), (match), (key), (iter));                \
	     CDS_LFHT_AT_(iter, pos, member);                                      \
	     cds_lfht_next_duplicate((ht), (match), (key), (iter)))

#ifdef __cplusplus
}
#endif

#endif
