/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: what a recorder planned, its memory, and which of the kernel's events it records.
 */
#ifndef LULL_KERNEL_SESSION_H
#define LULL_KERNEL_SESSION_H

#include <linux/kref.h>
#include <linux/list.h>
#include "dump/dump.h"
#include "filtering.h"
#include "memory.h"
#include "source/source.h"

struct lull_rule;
struct recorded;

/* Which events a session records. */
struct choice {
	char *patterns;
	struct lull_rule *rules; /* of the patterns, into which they point */
	size_t rule_count;
};

struct session {
	struct kref references; /* its descriptors */
	struct hlist_node hotplug;
	uint32_t index; /* in the masks of records */
	bool is_made; /* from then on, a CPU that comes may find no memory for its ring */
	bool is_enabled; /* by the last LULL_KERNEL_ENABLE or _DISABLE */
	unsigned long *ring_readers; /* a bit for each ring that has a descriptor */
	/* Under the mutex of recorded.c. */
	bool is_context_settled; /* by the first LULL_KERNEL_ENABLE */
	struct recorded *recorded; /* context of all events; NULL: none */
	struct memory memory;
	struct dump dump;

	struct sources sources; /* under the mutex of source.c */

	/* Under the catalogue's mutex; with this side's copies of what the event table holds. */
	struct choice choice;
	bool is_changing; /* from LULL_KERNEL_RULES to the next LULL_KERNEL_ENABLE */
	bool has_sources;
	uint16_t *ids; /* of each event of the catalogue; 0: not described yet */
	struct filterings filterings;
	uint32_t event_next;
	uint32_t arena_used_bytes;
};

/*
 * lull_session_create() - make a session that records nothing yet.
 * @plan: private to the caller; the kernel's answers are filled in
 * @patterns: NUL-terminated text from kvmalloc(), which the session frees, also on failure
 * Context: may sleep. Return: the session, or an error as in abi/kernel.h.
 */
struct session *lull_session_create(struct lull_kernel_plan *plan, char *patterns);

/*
 * lull_session_change() - record the events that other patterns match, without filters.
 * @patterns: as for lull_session_create(); @bytes: of it, with the NUL
 * Context: may sleep. Return: 0, or an error as LULL_KERNEL_RULES has it (abi/kernel.h).
 */
int lull_session_change(struct session *session, char *patterns, size_t bytes);

/* lull_session_get() - one more reference, for who has one. */
static inline void lull_session_get(struct session *session)
{
	kref_get(&session->references);
}

/* lull_session_put() - give one reference back. With the last one the session ends. May sleep. */
void lull_session_put(struct session *session);

/* lull_sessions_init(), _exit() - follow CPUs that come. Return: 0 or -errno. */
int lull_sessions_init(void);
void lull_sessions_exit(void);

/* The clock that stamps all sessions. */
extern enum lull_clock_kind lull_sessions_clock;

#endif
