// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which context a session records: asked for by user space, checked, described to readers.
 *
 * The description stands in the session's table under LULL_EVENT_CONTEXT, once for all events.
 * Probes store what it says, in its order (probe.c). Design: docs/design/60-kernel.md.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "catalogue.h"
#include "context.h"
#include "probe.h"
#include "recorded.h"
#include "session.h"

#define DESCRIPTION_BYTES_MAX 1024 /* more than all lines together */

static const char *const lines[LULL_CONTEXTS] = { LULL_CONTEXT_LINES };
static const char *const counter_lines[LULL_COUNTERS] = { LULL_COUNTER_LINES };
static DEFINE_MUTEX(deciding);

/* Describe it to readers. Return: 0; -ENOSPC. */
static int describe(struct session *session, const struct recorded *recorded)
{
	char text[DESCRIPTION_BYTES_MAX];
	size_t used = scnprintf(text, sizeof(text), "lull:context\n6\n:\n");
	uint32_t left;

	for (left = recorded->contexts; left; left &= left - 1)
		used += scnprintf(text + used, sizeof(text) - used, "%s",
				  lines[__builtin_ctz(left)]);
	for (left = recorded->counters.wanted; left; left &= left - 1)
		used += scnprintf(text + used, sizeof(text) - used, "%s",
				  counter_lines[__builtin_ctz(left)]);
	used += scnprintf(text + used, sizeof(text) - used, "%s%s",
			  recorded->stacks.kernel_frames ? "aptr kernel_stack\n" : "",
			  recorded->stacks.user_frames ? "aptr user_stack\n" : "");
	return lull_catalogue_describe_context(session, text, used);
}

static struct recorded *create(const struct lull_kernel_context *asked)
{
	struct recorded *recorded;
	int error;

	if (asked->flags || asked->contexts >> LULL_CONTEXTS || asked->counters >> LULL_COUNTERS)
		return ERR_PTR(-EINVAL);
	if (!asked->contexts && !asked->counters && !asked->kernel_frames && !asked->user_frames)
		return ERR_PTR(-EINVAL);
	recorded = kzalloc(sizeof(*recorded), GFP_KERNEL_ACCOUNT);
	if (!recorded)
		return ERR_PTR(-ENOMEM);
	recorded->contexts = asked->contexts;
	recorded->contexts_bytes =
		lull_context_bytes(asked->contexts) + lull_counters_bytes(asked->counters);
	error = lull_stacks_create(&recorded->stacks, asked->kernel_frames, asked->user_frames);
	if (!error)
		error = lull_counters_create(&recorded->counters, asked->counters);
	if (!error)
		return recorded;
	lull_recorded_free(recorded);
	return ERR_PTR(error);
}

long lull_recorded_decide(struct session *session, const struct lull_kernel_context *asked)
{
	struct recorded *recorded = create(asked);
	int error;

	if (IS_ERR(recorded))
		return PTR_ERR(recorded);
	mutex_lock(&deciding);
	if (session->recorded)
		error = -EEXIST;
	else if (session->is_context_settled)
		error = -EBUSY;
	else
		error = describe(session, recorded);
	if (!error) {
		session->recorded = recorded;
		lull_probe_record(session->index, recorded);
	}
	mutex_unlock(&deciding);
	if (error)
		lull_recorded_free(recorded);
	return error;
}

void lull_recorded_settle(struct session *session)
{
	mutex_lock(&deciding);
	session->is_context_settled = true;
	mutex_unlock(&deciding);
}

void lull_recorded_free(struct recorded *recorded)
{
	if (!recorded)
		return;
	lull_counters_free(&recorded->counters);
	lull_stacks_free(&recorded->stacks);
	kfree(recorded);
}
