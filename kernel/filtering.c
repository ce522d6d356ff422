// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of filters, from user space: copied once, checked for each event that they decide on,
 * and then run by probes. Design: docs/design/70-filter.md.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "filtering.h"
#include "note.h"
#include "probe.h"
#include "session.h"

#define PROGRAM_BYTES_MAX                                     \
	(sizeof(struct lull_filter) + LULL_FILTER_TEXTS_MAX + \
	 LULL_FILTER_TESTS_MAX * sizeof(struct lull_filter_test))

struct lull_filtering *lull_filtering_create(uint64_t event_hash, uint64_t from, uint32_t bytes)
{
	struct lull_filtering *filtering;

	if (bytes < sizeof(filtering->program) || bytes > PROGRAM_BYTES_MAX)
		return ERR_PTR(-EINVAL);
	filtering = kvzalloc(offsetof(struct lull_filtering, program) + bytes, GFP_KERNEL_ACCOUNT);
	if (!filtering)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(&filtering->program, u64_to_user_ptr(from), bytes)) {
		filtering->event_hash = event_hash;
		filtering->bytes = bytes;
		return filtering;
	}
	kvfree(filtering);
	return ERR_PTR(-EFAULT);
}

static struct lull_filtering *find(const struct filterings *all, uint64_t event_hash)
{
	struct lull_filtering *filtering;

	hash_for_each_possible(all->by_hash, filtering, node,
			       event_hash) if (filtering->event_hash ==
					       event_hash) return filtering;
	return NULL;
}

int lull_filtering_add(struct session *session, struct lull_filtering *filtering)
{
	uint32_t capacity = session->memory.layout.event_capacity;
	struct filterings *all = &session->filterings;

	if (find(all, filtering->event_hash))
		return -EEXIST;
	if (all->count == capacity)
		return -ENOSPC;
	if (!all->by_event) {
		all->by_event = kvcalloc(capacity, sizeof(*all->by_event), GFP_KERNEL_ACCOUNT);
		if (!all->by_event)
			return -ENOMEM;
		lull_probe_filters(session->index, all->by_event);
	}
	hash_add(all->by_hash, &filtering->node, filtering->event_hash);
	all->count++;
	return 0;
}

int lull_filtering_tie(struct session *session, uint32_t id, const char *description, size_t bytes)
{
	struct filterings *all = &session->filterings;
	uint8_t inputs[LULL_FILTER_FIELDS_MAX];
	struct lull_filtering *filtering;

	if (!all->count || id >= session->memory.layout.event_capacity)
		return 0;
	filtering = find(all, lull_description_hash(description, bytes));
	if (filtering && lull_filter_check(&filtering->program, filtering->bytes, inputs,
					   lull_filter_fields(description, inputs))) {
		all->by_event[id] = NULL;
		return -EINVAL;
	}
	if (filtering)
		filtering->contexts = lull_filter_contexts(&filtering->program);
	/* Probes that ask the event's filter already find the same one here, all the time. */
	all->by_event[id] = filtering;
	if (!filtering)
		return 0;
	all->used_count += !filtering->is_used;
	filtering->is_used = true;
	return 0;
}

uint32_t lull_filtering_bits(const struct session *session, uint16_t id)
{
	struct lull_filtering *const *filters = session->filterings.by_event;
	uint32_t bits = LULL_MASK_SESSION(session->index);

	return filters && filters[id] ? bits | LULL_MASK_FILTER(session->index) : bits;
}

void lull_filterings_forget(struct session *session)
{
	struct filterings *all = &session->filterings;
	struct lull_filtering *filtering;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(all->by_hash, bucket, next, filtering, node)
	{
		hash_del(&filtering->node);
		kvfree(filtering);
	}
	if (all->by_event)
		memset(all->by_event, 0,
		       session->memory.layout.event_capacity * sizeof(*all->by_event));
	all->count = 0;
	all->used_count = 0;
}

void lull_filterings_free(struct session *session)
{
	lull_filterings_forget(session);
	kvfree(session->filterings.by_event);
}
