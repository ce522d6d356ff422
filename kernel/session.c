// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: made from a plan, known to probes by a bit, freed when no probe can be in them.
 *
 * The table that probes read has a place for each bit of a record's mask. A place is taken before
 * any record has the bit, and given back after a grace period in which none has it, so the probes
 * need no check of their own. Paper: B 3.4 (control), T 4.6.1 (session list, RCU).
 */
#include <linux/bitmap.h>
#include <linux/cpuhotplug.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "catalogue.h"
#include "clock_kernel.h"
#include "filtering.h"
#include "pattern.h"
#include "probe.h"
#include "recorded.h"
#include "session.h"

enum lull_clock_kind lull_sessions_clock;

static DECLARE_BITMAP(places, LULL_SESSIONS_MAX);
static int hotplug_state;

/* Take a place in the table of probes. Return: its index, or -EBUSY. */
static int place_take(void)
{
	unsigned int index;

	/* Bound: each round follows another session's success. */
	do {
		index = find_first_zero_bit(places, LULL_SESSIONS_MAX);
		if (index >= LULL_SESSIONS_MAX)
			return -EBUSY;
	} while (test_and_set_bit(index, places));
	return index;
}

/* A CPU comes, or the session is new and the CPU is there. */
static int cpu_prepare(unsigned int cpu, struct hlist_node *node)
{
	struct session *session = hlist_entry(node, struct session, hotplug);
	int error = lull_memory_give(&session->memory, cpu);

	if (!error || !session->is_made)
		return error;
	/* The machine needs the CPU more than we do: its events are counted as lost. */
	pr_warn("lull: no memory for the ring of CPU %u: its events are lost\n", cpu);
	return 0;
}

/* Read the rules of patterns. Return: 0; -EINVAL for a text that is wrong; -ENOMEM. */
static int choice_read(struct choice *choice, size_t patterns_bytes)
{
	size_t i, lines = 1;

	if (lull_pattern_check(choice->patterns, NULL))
		return -EINVAL;
	for (i = 0; i < patterns_bytes; i++)
		lines += choice->patterns[i] == '\n';
	choice->rules = kvcalloc(lines, sizeof(*choice->rules), GFP_KERNEL_ACCOUNT);
	if (!choice->rules)
		return -ENOMEM;
	choice->rule_count = lull_rules_read(choice->patterns, choice->rules, lines);
	return 0;
}

static void choice_free(struct choice *choice)
{
	kvfree(choice->rules);
	kvfree(choice->patterns);
}

static void session_free(struct session *session)
{
	lull_filterings_free(session);
	lull_recorded_free(session->recorded);
	lull_memory_free(&session->memory);
	bitmap_free(session->ring_readers);
	kvfree(session->ids);
	choice_free(&session->choice);
	kfree(session);
}

/* All of a session that needs no place among the others. */
static int session_fill(struct session *session, const struct lull_kernel_plan *plan)
{
	int error = choice_read(&session->choice, plan->patterns_bytes);

	if (error)
		return error;
	session->ids = lull_catalogue_ids();
	session->ring_readers = bitmap_zalloc(nr_cpu_ids, GFP_KERNEL_ACCOUNT);
	if (!session->ids || !session->ring_readers)
		return -ENOMEM;
	error = lull_memory_plan(&session->memory, plan, lull_sessions_clock);
	if (error)
		return error;
	return lull_memory_create(&session->memory, session->choice.patterns);
}

struct session *lull_session_create(struct lull_kernel_plan *plan, char *patterns)
{
	struct session *session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);
	int index, error;

	if (!session) {
		kvfree(patterns);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&session->references);
	lull_dump_init(&session->dump);
	session->choice.patterns = patterns;
	session->event_next = LULL_EVENT_FIRST;
	error = session_fill(session, plan);
	if (error)
		goto failed;
	index = place_take();
	error = index;
	if (error < 0)
		goto failed;
	session->index = index;
	error = cpuhp_state_add_instance(hotplug_state, &session->hotplug);
	if (error)
		goto failed_placed;
	session->is_made = true;
	lull_catalogue_describe_system(session);
	lull_memory_keep(&session->memory);
	lull_probe_attach(index, session->memory.rings, memory_control(&session->memory));
	plan->clock_kind = lull_sessions_clock;
	plan->memory_bytes = session->memory.layout.memory_bytes;
	return session;
failed_placed:
	clear_bit(index, places);
failed:
	session_free(session);
	return ERR_PTR(error);
}

int lull_session_change(struct session *session, char *patterns, size_t bytes)
{
	struct choice choice = { .patterns = patterns };
	int error = choice_read(&choice, bytes);

	if (!error)
		error = lull_catalogue_change(session, &choice);
	/* The one that the session had, or, after an error, this one. */
	choice_free(&choice);
	return error;
}

static void session_end(struct kref *references)
{
	struct session *session = container_of(references, struct session, references);

	lull_dump_stop(&session->dump);
	lull_catalogue_disable(session);
	lull_sources_end(session);
	lull_catalogue_forget(session);
	cpuhp_state_remove_instance_nocalls(hotplug_state, &session->hotplug);
	clear_bit(session->index, places);
	session_free(session);
}

void lull_session_put(struct session *session)
{
	kref_put(&session->references, session_end);
}

int __init lull_sessions_init(void)
{
	const char *reason;

	lull_sessions_clock = lull_clock_setup(&reason);
	pr_info("lull: clock %s: %s\n", lull_clock_name(lull_sessions_clock), reason);
	hotplug_state = cpuhp_setup_state_multi(CPUHP_BP_PREPARE_DYN, "trace/lull:prepare",
						cpu_prepare, NULL);
	return hotplug_state < 0 ? hotplug_state : 0;
}

void lull_sessions_exit(void)
{
	cpuhp_remove_multi_state(hotplug_state);
}
