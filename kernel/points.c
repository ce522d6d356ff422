// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of other modules: found when a module comes, recorded by its own probes, forgotten when
 * it goes.
 *
 * A module announces each of its events as a tracepoint with a name that says so (lull/module.h),
 * and the kernel tells which tracepoints come and go. Enabling an event fills in the records of all
 * its points, and turns their static keys. The descriptions are copies, because a session's
 * identifier of an event outlives the module: when that comes again, its event is the same one.
 *
 * The text of a module's notes is as trustworthy as the module, which runs in the kernel anyway;
 * the checks guard against a module that another version of the headers made. Paper: T 8.1
 * (markers), O 4.1 (objects that come and go); docs/design/60-kernel.md.
 */
#include <lull/module.h>
#include <linux/list.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "catalogue.h"
#include "filtering.h"
#include "note.h"
#include "pattern.h"
#include "points.h"
#include "probe.h"

struct point_event {
	struct list_head node;
	struct lull_point *points; /* of modules that are there now */
	struct lull_note note; /* its text is the copy */
	uint16_t ids[LULL_SESSIONS_MAX]; /* 0: not described in that session */
	char description[];
};

static LIST_HEAD(events);
static struct session *enabled[LULL_SESSIONS_MAX];

static uint32_t point_enter(struct lull_slot *slot, uint32_t sessions)
{
	return lull_probe_begin(slot, sessions);
}

static void point_leave(struct lull_slot *slot)
{
	lull_probe_finish(slot);
}

static const struct lull_module_interface interface = {
	.probe = { .version = 1, .reserve = lull_slot_reserve, .commit = lull_slot_commit },
	.enter = point_enter,
	.leave = point_leave,
	.filter = lull_probe_filter,
};

/* What tests/module reads, to know which code modules reach: as .lull_bindings has probes. */
static const struct lull_module_interface *const
	interface_at __used __section(".lull_interfaces") = &interface;

bool lull_points_has(const struct tracepoint *tracepoint)
{
	return !strcmp(tracepoint->name, LULL_POINT_NAME);
}

static bool is_empty(const struct point_event *event)
{
	return !event->points && !memchr_inv(event->ids, 0, sizeof(event->ids));
}

static void drop_if_empty(struct point_event *event)
{
	if (!is_empty(event))
		return;
	list_del(&event->node);
	kvfree(event);
}

/* Let a point's probe record in a session in which its event has an identifier. */
static void point_enable(struct lull_point *point, const struct session *session, uint16_t id)
{
	struct lull_probe_record *record = &point->record;
	uint32_t mask = record->enabled_mask;

	record->interface = &interface.probe;
	record->id[session->index] = id;
	/* [site.enable:A], as in user/objects.c: interface and identifier before the mask's bit,
	 * else a probe calls through an interface that is not there yet */
	lull_store32_release(&record->enabled_mask, mask | lull_filtering_bits(session, id));
	if (!mask)
		static_branch_enable(&point->key);
}

static void point_disable(struct lull_point *point, const struct session *session)
{
	uint32_t bits = LULL_MASK_SESSION(session->index) | LULL_MASK_FILTER(session->index);
	uint32_t mask = point->record.enabled_mask & ~bits;

	if (mask == point->record.enabled_mask)
		return;
	lull_store32(&point->record.enabled_mask, mask);
	if (!mask)
		static_branch_disable(&point->key);
}

static struct point_event *event_find(const struct lull_note *note)
{
	struct point_event *event;

	list_for_each_entry(event, &events, node)
		if (event->note.description_bytes == note->description_bytes &&
		    !memcmp(event->description, note->description, note->description_bytes))
			return event;
	return NULL;
}

/* An event for a note that none has yet. Return: NULL where there is no memory. */
static struct point_event *event_create(const struct lull_note *note)
{
	struct point_event *event =
		kvzalloc(struct_size(event, description, note->description_bytes + 1), GFP_KERNEL);

	if (!event)
		return NULL;
	memcpy(event->description, note->description, note->description_bytes);
	event->note = *note;
	event->note.description = event->description;
	event->note.name = event->description + (note->name - note->description);
	list_add_tail(&event->node, &events);
	return event;
}

static int note_keep(const struct lull_note *note, void *kept)
{
	*(struct lull_note *)kept = *note;
	return 0;
}

/* Read a point's note. Return: 0; -EINVAL where it is not one of this point's event. */
static int point_read(const struct lull_point *point, struct lull_note *note)
{
	struct lull_elf_notes rest = { point->note, LULL_DESCRIPTION_BYTES_MAX };
	struct lull_elf_note elf;

	*note = (struct lull_note){ 0 };
	if (lull_elf_note_take(&rest, &elf) <= 0 ||
	    lull_note_walk(point->note, rest.at - point->note, note_keep, note) ||
	    note->type != LULL_NOTE_PROBE || note->record != (uintptr_t)&point->record)
		return -EINVAL;
	return lull_description_check(note->description, note->description_bytes);
}

void lull_points_add(struct tracepoint *tracepoint)
{
	struct lull_point *point;
	struct point_event *event;
	struct lull_note note;
	size_t i;

	if (!lull_points_has(tracepoint))
		return;
	point = container_of(tracepoint, struct lull_point, tracepoint);
	if (point_read(point, &note)) {
		pr_err("lull: the note of an event at %pS is damaged\n", point);
		return;
	}
	event = event_find(&note);
	if (!event)
		event = event_create(&note);
	if (!event) {
		pr_err("lull: no memory for the event %s of a module\n", note.description);
		return;
	}
	point->next = event->points;
	event->points = point;
	for (i = 0; i < ARRAY_SIZE(enabled); i++) {
		struct session *session = enabled[i];

		if (!session || !lull_catalogue_wants(session, &event->note))
			continue;
		if (!lull_catalogue_identify(session, &event->note, &event->ids[i]))
			point_enable(point, session, event->ids[i]);
		else
			pr_warn("lull: a session has no room for an event of a module that came\n");
	}
}

void lull_points_remove(struct tracepoint *tracepoint)
{
	struct point_event *event, *next;

	if (!lull_points_has(tracepoint))
		return;
	list_for_each_entry_safe(event, next, &events, node) {
		struct lull_point **at = &event->points;

		/* Bound: the points of one event, which modules hold. */
		while (*at && &(*at)->tracepoint != tracepoint)
			at = &(*at)->next;
		if (*at) {
			*at = (*at)->next;
			drop_if_empty(event);
			return;
		}
	}
}

void lull_points_enable(struct session *session, struct lull_kernel_enable *result)
{
	struct point_event *event;
	struct lull_point *point;

	enabled[session->index] = session;
	list_for_each_entry(event, &events, node) {
		uint16_t *id = &event->ids[session->index];
		int error;

		if (!event->points)
			continue;
		result->event_count++;
		if (!lull_catalogue_wants(session, &event->note))
			continue;
		error = lull_catalogue_identify(session, &event->note, id);
		for (point = event->points; point && !error; point = point->next)
			point_enable(point, session, *id);
		lull_catalogue_count(result, error);
	}
}

void lull_points_disable(struct session *session)
{
	struct point_event *event;
	struct lull_point *point;

	enabled[session->index] = NULL;
	list_for_each_entry(event, &events, node)
		for (point = event->points; point; point = point->next)
			point_disable(point, session);
}

void lull_points_change(const struct session *session)
{
	struct point_event *event;
	struct lull_point *point;

	list_for_each_entry(event, &events, node)
		for (point = event->points; point; point = point->next)
			if (lull_catalogue_wants(session, &event->note))
				lull_catalogue_unfilter(session, &point->record);
			else
				point_disable(point, session);
}

void lull_points_forget(const struct session *session)
{
	struct point_event *event, *next;

	list_for_each_entry_safe(event, next, &events, node) {
		event->ids[session->index] = 0;
		drop_if_empty(event);
	}
}
