// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which events this module has, which tracepoint each needs, and what sessions want of them.
 *
 * Events are found by their notes, as in a program; tracepoints by their names, in the kernel and
 * in every module, also one that comes later. A probe is registered once with its tracepoint, while
 * any session wants any of the events that need it; the mask of each event's record says which
 * sessions. All of it is under one mutex, which probes do not know.
 *
 * CPUs that come are not met here: registering a probe waits for them, so what they wait for must
 * not wait for this mutex. Paper: T 8.1, 8.2 (tracepoints); B 3.4 (control).
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include "catalogue.h"
#include "event.h"
#include "filtering.h"
#include "note.h"
#include "pattern.h"
#include "points.h"

/* A tracepoint and a probe that can be registered with it. */
struct hook {
	const char *name;
	void *probe;
	struct tracepoint *tracepoint; /* NULL while no module that is loaded has it */
	unsigned int use_count; /* events in sessions */
	bool is_registered;
};

/* One of the hooks that an event needs. */
struct bound {
	struct hook *hook;
	struct bound *next;
};

struct event {
	struct lull_note note; /* of its probe */
	struct bound *bound; /* NULL: code of this module records it by itself */
};

/* What first.S and last.S enclose. */
extern const char lull_notes_begin[], lull_notes_end[];
extern const struct lull_binding *const lull_bindings_begin[], *const lull_bindings_end[];

static struct event *events;
static size_t event_count;
static struct hook *hooks;
static size_t hook_count;
static struct bound *bounds;
static DEFINE_MUTEX(mutex);

/* The events that every session has; tools/session has the same. */
static const struct {
	uint32_t id;
	const char *description;
} system_events[] = {
	{ LULL_EVENT_THREAD, LULL_DESCRIPTION_THREAD },
	{ LULL_EVENT_LOST, LULL_DESCRIPTION_LOST },
	{ LULL_EVENT_LOST_BYTES, LULL_DESCRIPTION_LOST_BYTES },
};

static struct lull_probe_record *record_of(const struct event *event)
{
	return (struct lull_probe_record *)event->note.record;
}

static bool is_named(const struct event *event, const char *name)
{
	return strlen(name) == event->note.name_bytes &&
	       !memcmp(name, event->note.name, event->note.name_bytes);
}

static void hook_register(struct hook *hook)
{
	if (hook->tracepoint && !hook->is_registered)
		hook->is_registered =
			!tracepoint_probe_register(hook->tracepoint, hook->probe, NULL);
}

static void hook_unregister(struct hook *hook)
{
	if (hook->is_registered)
		tracepoint_probe_unregister(hook->tracepoint, hook->probe, NULL);
	hook->is_registered = false;
}

/* Want an event's hooks. Return: 0; -ENOENT without a tracepoint; -EIO when the kernel refused. */
static int hooks_use(const struct event *event)
{
	const struct bound *bound = event->bound;
	bool is_there = !bound, is_registered = !bound;

	for (; bound; bound = bound->next) {
		if (!bound->hook->use_count++)
			hook_register(bound->hook);
		is_there |= bound->hook->tracepoint != NULL;
		is_registered |= bound->hook->is_registered;
	}
	return is_registered ? 0 : is_there ? -EIO : -ENOENT;
}

static void hooks_leave(const struct event *event)
{
	const struct bound *bound;

	for (bound = event->bound; bound; bound = bound->next)
		if (!--bound->hook->use_count)
			hook_unregister(bound->hook);
}

/* Put a description into a session's table. Return: false when table or arena are full. */
static bool publish(struct session *session, uint32_t id, const char *description, size_t bytes)
{
	const struct lull_session_control *layout = &session->memory.layout;
	struct lull_event_entry *entry =
		session->memory.base + layout->events_offset_bytes + id * sizeof(*entry);
	uint32_t used = session->arena_used_bytes;

	if (id >= layout->event_capacity || bytes > layout->arena_bytes - used)
		return false;
	session->arena_used_bytes += bytes;
	lull_store32(&memory_control(&session->memory)->arena_used_bytes, used + bytes);
	lull_copy(session->memory.base + layout->arena_offset_bytes + used, description, bytes);
	lull_store(&entry->hash, lull_description_hash(description, bytes));
	lull_store32(&entry->length_bytes, bytes);
	/* [session.describe:A], as in user/events.c: text and length before the offset, else a
	 * reader sees the offset and old bytes in place of the description */
	lull_store32_release(&entry->offset_bytes, used + 1);
	return true;
}

void lull_catalogue_describe_system(struct session *session)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(system_events); i++)
		publish(session, system_events[i].id, system_events[i].description,
			strlen(system_events[i].description));
}

int lull_catalogue_describe_context(struct session *session, const char *text, size_t bytes)
{
	bool is_described;

	mutex_lock(&mutex);
	is_described = publish(session, LULL_EVENT_CONTEXT, text, bytes);
	mutex_unlock(&mutex);
	return is_described ? 0 : -ENOSPC;
}

/* Context: under the mutex. */
static int event_describe(struct session *session, const struct lull_note *note)
{
	uint32_t id = session->event_next;
	int error = lull_filtering_tie(session, id, note->description, note->description_bytes);

	if (error)
		return error;
	if (!publish(session, id, note->description, note->description_bytes))
		return -ENOSPC;
	session->event_next++;
	return id;
}

int lull_catalogue_identify(struct session *session, const struct lull_note *note, uint16_t *id)
{
	int found;

	if (*id) /* its filter may be another one since */
		return lull_filtering_tie(session, *id, note->description, note->description_bytes);
	found = event_describe(session, note);
	if (found < 0)
		return found;
	*id = found;
	return 0;
}

int lull_catalogue_describe(struct session *session, const struct lull_note *note)
{
	int id;

	mutex_lock(&mutex);
	id = event_describe(session, note);
	session->has_sources |= id >= 0;
	mutex_unlock(&mutex);
	return id;
}

/*
 * Record an event that the session wants, by the filter that it has now. Return: as hooks_use();
 * -ENOSPC; -EINVAL.
 */
static int event_enable(struct session *session, const struct event *event)
{
	struct lull_probe_record *record = record_of(event);
	uint16_t *id = &session->ids[event - events];
	int error = lull_catalogue_identify(session, &event->note, id);

	if (error)
		return error;
	record->id[session->index] = *id;
	if (!(record->enabled_mask & LULL_MASK_SESSION(session->index)))
		error = hooks_use(event);
	if (error == -EIO) {
		hooks_leave(event);
		return error;
	}
	/* [site.enable:A], as in user/objects.c: the identifier before the mask's bit, else a probe
	 * writes the event under a wrong one */
	lull_store32_release(&record->enabled_mask,
			     record->enabled_mask | lull_filtering_bits(session, *id));
	return error;
}

int lull_catalogue_filter(struct session *session, struct lull_filtering *filtering)
{
	int error = -EBUSY;

	mutex_lock(&mutex);
	if (session->event_next == LULL_EVENT_FIRST || session->is_changing)
		error = lull_filtering_add(session, filtering);
	mutex_unlock(&mutex);
	return error;
}

void lull_catalogue_count(struct lull_kernel_enable *result, int error)
{
	result->matched_count++;
	result->enabled_count += !error;
	result->absent_count += error == -ENOENT;
	result->failed_count += error == -EIO || error == -EINVAL;
	result->undescribed_count += error == -ENOSPC;
}

bool lull_catalogue_wants(const struct session *session, const struct lull_note *note)
{
	return lull_rules_match(session->choice.rules, session->choice.rule_count, note->name,
				note->name_bytes, note->level);
}

void lull_catalogue_enable(struct session *session, struct lull_kernel_enable *result)
{
	struct lull_session_control *control = memory_control(&session->memory);
	uint32_t source_count = lull_sources_enable(session);
	size_t i;

	mutex_lock(&mutex);
	WRITE_ONCE(session->is_enabled, true);
	session->is_changing = false;
	result->event_count = event_count + source_count;
	result->matched_count = source_count;
	result->enabled_count = source_count;
	for (i = 0; i < event_count; i++) {
		if (lull_catalogue_wants(session, &events[i].note))
			lull_catalogue_count(result, event_enable(session, &events[i]));
	}
	lull_points_enable(session, result);
	result->unused_filter_count = session->filterings.count - session->filterings.used_count;
	mutex_unlock(&mutex);
	lull_store32(&control->site_count, result->event_count);
	lull_store32(&control->enabled_count, result->enabled_count);
	lull_store32(&control->unregistered_count, result->undescribed_count);
}

static void event_disable(const struct session *session, const struct event *event)
{
	uint32_t bit = LULL_MASK_SESSION(session->index);
	uint32_t bits = bit | LULL_MASK_FILTER(session->index);
	struct lull_probe_record *record = record_of(event);

	if (!(record->enabled_mask & bit))
		return;
	lull_store32(&record->enabled_mask, record->enabled_mask & ~bits);
	hooks_leave(event);
}

void lull_catalogue_unfilter(const struct session *session, struct lull_probe_record *record)
{
	uint32_t bit = LULL_MASK_FILTER(session->index);

	if (record->enabled_mask & bit)
		lull_store32(&record->enabled_mask, record->enabled_mask & ~bit);
}

/*
 * No probe asks the old filters any more when they are freed: the bits by which it would are gone,
 * and after that a grace period has passed.
 */
int lull_catalogue_change(struct session *session, struct choice *choice)
{
	int error = -EBUSY;
	size_t i;

	mutex_lock(&mutex);
	if (session->has_sources)
		goto out;
	swap(session->choice, *choice);
	for (i = 0; i < event_count; i++) {
		if (lull_catalogue_wants(session, &events[i].note))
			lull_catalogue_unfilter(session, record_of(&events[i]));
		else
			event_disable(session, &events[i]);
	}
	lull_points_change(session);
	tracepoint_synchronize_unregister();
	lull_filterings_forget(session);
	session->is_changing = true;
	error = 0;
out:
	mutex_unlock(&mutex);
	return error;
}

void lull_catalogue_disable(struct session *session)
{
	size_t i;

	lull_sources_disable(session);
	mutex_lock(&mutex);
	for (i = 0; i < event_count; i++)
		event_disable(session, &events[i]);
	lull_points_disable(session);
	mutex_unlock(&mutex);
	WRITE_ONCE(session->is_enabled, false);
	/* Probes hold off preemption, and tracepoints of idle CPUs a section of their own. */
	tracepoint_synchronize_unregister();
}

void lull_catalogue_forget(const struct session *session)
{
	mutex_lock(&mutex);
	lull_points_forget(session);
	mutex_unlock(&mutex);
}

bool lull_catalogue_records(const struct session *session, const char *prefix)
{
	size_t i, bytes = strlen(prefix);

	for (i = 0; i < event_count; i++)
		if (lull_load32(&record_of(&events[i])->enabled_mask) &
			    LULL_MASK_SESSION(session->index) &&
		    bytes <= events[i].note.name_bytes &&
		    !memcmp(events[i].note.name, prefix, bytes))
			return true;
	return false;
}

uint16_t *lull_catalogue_ids(void)
{
	return kvcalloc(event_count, sizeof(uint16_t), GFP_KERNEL_ACCOUNT);
}

static void tracepoint_found(struct tracepoint *tracepoint, void *unused)
{
	size_t i;

	for (i = 0; i < hook_count; i++)
		if (!hooks[i].tracepoint && !strcmp(hooks[i].name, tracepoint->name)) {
			hooks[i].tracepoint = tracepoint;
			if (hooks[i].use_count)
				hook_register(&hooks[i]);
		}
}

static void tracepoint_gone(struct tracepoint *tracepoint)
{
	size_t i;

	for (i = 0; i < hook_count; i++)
		if (hooks[i].tracepoint == tracepoint) {
			hook_unregister(&hooks[i]);
			hooks[i].tracepoint = NULL;
		}
}

/* A module that has tracepoints comes or goes, or is there when lull.ko does. */
static int module_changes(struct notifier_block *unused, unsigned long state, void *data)
{
	const struct tp_module *of = data;
	unsigned int i;

	mutex_lock(&mutex);
	for (i = 0; i < of->mod->num_tracepoints; i++) {
		struct tracepoint *tracepoint = tracepoint_ptr_deref(of->mod->tracepoints_ptrs + i);

		if (state == MODULE_STATE_COMING) {
			tracepoint_found(tracepoint, NULL);
			lull_points_add(tracepoint);
		} else if (state == MODULE_STATE_GOING) {
			tracepoint_gone(tracepoint);
			lull_points_remove(tracepoint);
		}
	}
	mutex_unlock(&mutex);
	return NOTIFY_OK;
}

static struct notifier_block modules = { .notifier_call = module_changes };

static int note_count(const struct lull_note *note, void *count)
{
	*(size_t *)count += note->type == LULL_NOTE_PROBE;
	return 0;
}

static int note_take(const struct lull_note *note, void *unused)
{
	if (note->type == LULL_NOTE_PROBE)
		events[event_count++].note = *note;
	return 0;
}

static struct hook *hook_find(const struct lull_binding *binding)
{
	size_t i;

	for (i = 0; i < hook_count; i++)
		if (hooks[i].probe == binding->probe && !strcmp(hooks[i].name, binding->tracepoint))
			return &hooks[i];
	hooks[hook_count] = (struct hook){ .name = binding->tracepoint, .probe = binding->probe };
	return &hooks[hook_count++];
}

/* Tie the events of a binding's name to its hook. Return: how many there are. */
static size_t bind(const struct lull_binding *binding, size_t bound_count)
{
	struct hook *hook = hook_find(binding);
	size_t i, found = 0;

	for (i = 0; i < event_count; i++) {
		struct bound *bound = &bounds[bound_count + found];

		if (!is_named(&events[i], binding->event))
			continue;
		if (bounds) {
			*bound = (struct bound){ .hook = hook, .next = events[i].bound };
			events[i].bound = bound;
		}
		found++;
	}
	if (!found)
		pr_err("lull: no probe has the event %s of a binding\n", binding->event);
	return found;
}

/* All bindings. Return: how many pairs of event and hook they make. */
static size_t bind_all(void)
{
	const struct lull_binding *const *binding;
	size_t count = 0;

	for (binding = lull_bindings_begin; binding < lull_bindings_end; binding++)
		count += bind(*binding, count);
	return count;
}

static void catalogue_free(void)
{
	kvfree(bounds);
	kvfree(hooks);
	kvfree(events);
}

int __init lull_catalogue_init(void)
{
	size_t notes_bytes = lull_notes_end - lull_notes_begin, count = 0;
	int error = lull_note_walk(lull_notes_begin, notes_bytes, note_count, &count);

	if (error)
		return error;
	events = kvcalloc(count, sizeof(*events), GFP_KERNEL);
	hooks = kvcalloc(lull_bindings_end - lull_bindings_begin, sizeof(*hooks), GFP_KERNEL);
	if (!events || !hooks)
		goto failed;
	lull_note_walk(lull_notes_begin, notes_bytes, note_take, NULL);
	bounds = kvcalloc(bind_all(), sizeof(*bounds), GFP_KERNEL);
	if (!bounds)
		goto failed;
	bind_all();
	for_each_kernel_tracepoint(tracepoint_found, NULL);
	error = register_tracepoint_module_notifier(&modules);
	if (!error)
		return 0;
	catalogue_free();
	return error;
failed:
	catalogue_free();
	return -ENOMEM;
}

void lull_catalogue_exit(void)
{
	unregister_tracepoint_module_notifier(&modules);
	catalogue_free();
}
