/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters of sessions: programs that a recorder gives, each for the events of one description,
 * whichever probe has them: lull.ko's own, another module's, or a source's. They are given before
 * the session has any event, and tied to an event when that gets its identifier. Design:
 * docs/design/70-filter.md.
 */
#ifndef LULL_KERNEL_FILTERING_H
#define LULL_KERNEL_FILTERING_H

#include <linux/hashtable.h>
#include "filter/filter.h"
#include "lull/inputs.h"

struct session;

/* One session's filter of events that have the same description. */
struct lull_filtering {
	struct hlist_node node;
	uint64_t event_hash; /* of that description */
	uint32_t contexts; /* those that the program reads */
	uint32_t bytes; /* of the program, as user space gave it */
	bool is_used; /* an event has it */
	struct lull_filter program __aligned(8);
};

/* What a session has of them; under the catalogue's mutex. */
struct filterings {
	DECLARE_HASHTABLE(by_hash, 8);
	uint32_t count;
	uint32_t used_count; /* those that an event has */
	struct lull_filtering **by_event; /* by identifier; NULL while there are none */
};

/*
 * lull_filtering_create() - copy a program of user space, which is not checked yet.
 * Return: what kvfree() frees; -EINVAL for a size that no program has; -EFAULT; -ENOMEM.
 */
struct lull_filtering *lull_filtering_create(uint64_t event_hash, uint64_t from, uint32_t bytes);

/*
 * lull_filtering_add() - give a filter to a session that has no event yet.
 * Return: 0, and it is the session's; -EEXIST: there is one for these events; -ENOSPC: there is one
 * for each event that the session can have; -ENOMEM.
 */
int lull_filtering_add(struct session *session, struct lull_filtering *filtering);

/*
 * lull_filtering_tie() - an event gets an identifier, or is enabled again: it is filtered, if its
 * description has a filter.
 * @id: the event's, or, where the call before this failed after it, that of another one
 * @description: NUL-terminated after @bytes
 * Return: 0; -EINVAL: the program is not one for this event.
 */
int lull_filtering_tie(struct session *session, uint32_t id, const char *description, size_t bytes);

/* lull_filtering_bits() - those of a record's mask for a session in which its event has @id. */
uint32_t lull_filtering_bits(const struct session *session, uint16_t id);

/* lull_filterings_forget() - the session has none any more, and no probe asks them. */
void lull_filterings_forget(struct session *session);

/* lull_filterings_free() - the session ends. */
void lull_filterings_free(struct session *session);

/*
 * lull_probe_filter() - which sessions record this occurrence of an event?
 * @mask: of the record, with the bits of filters
 * @values: all of the event's fields, two words for each, as struct lull_filter_value has them
 * Context: in a probe. Progress: wait-free, bounded by the programs' tests.
 * Return: a bit for each session, without those of filters.
 */
uint32_t lull_probe_filter(const struct lull_probe_record *record, uint32_t mask,
			   const uint64_t *values);

#endif
