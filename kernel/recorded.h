/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Context that a session records with each of its events, before the event's own fields.
 *
 * It is decided once, before the session is enabled for the first time, because it is part of how
 * every event lies in the rings. Probes of sessions that record none test one word.
 */
#ifndef LULL_KERNEL_RECORDED_H
#define LULL_KERNEL_RECORDED_H

#include <linux/types.h>
#include "lull/abi/kernel.h"

#include "counters.h"
#include "stacks.h"

struct session;

/* What one session records. */
struct recorded {
	uint32_t contexts; /* 1 << LULL_CONTEXT_... */
	uint32_t contexts_bytes; /* of counters, too */
	struct counters counters;
	struct stack_depths stacks;
};

/*
 * lull_recorded_decide() - say what a session records.
 * @asked: private to the caller
 * Context: may sleep. Return: 0, or an error as in abi/kernel.h.
 */
long lull_recorded_decide(struct session *session, const struct lull_kernel_context *asked);

/* lull_recorded_settle() - the session is enabled: what it records is decided from now on. */
void lull_recorded_settle(struct session *session);

/* lull_recorded_free() - Context: no probe can be in the session. @recorded may be NULL. */
void lull_recorded_free(struct recorded *recorded);

#endif
