/* SPDX-License-Identifier: MIT */
/*
 * Loaded objects: find their notes, give their events identifiers, enable their sites.
 *
 * All probes of an object are set up before the first of its sites is patched, so that no
 * thread arrives at a probe without an identifier. An object is scanned once; the list of objects
 * seen is emptied when an object was unloaded. The records of an object's probes then tell whether
 * it was set up before: they are in its own memory, and those of a new object at the same address
 * are zero. When a session joins or leaves, or its rules change, the objects in the list are looked
 * at again: a *change* (change.h), which does not take the dynamic linker's lock. An object can
 * have gone without liblull: by a call that was bound before liblull was loaded, or by the C
 * library itself. So each is looked up first, by a function that takes no lock (_dl_find_object,
 * glibc 2.35). One may go just after that: if the change then meets memory that is gone, the
 * recorder has it given up (control.h).
 *
 * Barrier pairs (in change.c; and [site.enable:A], which is in core/site/patch.c's table):
 *	[objects.scan:A]	the list of objects before loading	[objects.move:A]
 *	[objects.move:A]	loading before the list of objects	[objects.scan:A]
 *	[objects.begin:A]	changing before loading			[objects.load:A]
 *	[objects.load:A]	loading before changing			[objects.begin:A]
 *	[objects.finish:A]	what a change wrote before changing	[objects.wait:A]
 *	[objects.wait:A]	changing before masks and the list	[objects.finish:A]
 *
 * Paper: T 8.1, 8.2 (enabling one by one), O 4.1 (load and unload of instrumented objects).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include "change.h"
#include "liblull.h"
#include "lull_port.h"
#include "site/note.h"
#include "site/pattern.h"
#include "site/site.h"
#define LULL_SITE_SESSIONS sessions
#include "sites.h"

#define OBJECTS_SEEN_MAX 1024
#define SEGMENTS_MAX 32
#define BUILD_ID_BYTES_MAX 64
#define NOTE_TYPE_BUILD_ID 3u

_Static_assert(sizeof(struct lull_probe_record) == 32 || sizeof(void *) == 4,
	       "the assembly of sites makes records of 32 bytes");

/* An object's program headers, and the address that theirs are relative to. */
struct object {
	const ElfW(Phdr) * headers;
	uintptr_t base;
	unsigned int header_count;
	int has_notes; /* of Lull's */
	const char *path; /* the linker's; empty for the program */
	void *inside; /* an address of its first segment's */
};

/* Not in a C library that is older than 2.35; then the list is believed. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* Written under the dynamic linker's lock, and while no change is under way. */
static struct {
	unsigned long long unloads;
	unsigned int count;
	int is_full; /* there is an object with notes that is not in the list */
	struct object objects[OBJECTS_SEEN_MAX];
} seen;

static struct object object_of(const struct dl_phdr_info *info)
{
	struct object object = { .headers = info->dlpi_phdr,
				 .base = info->dlpi_addr,
				 .header_count = info->dlpi_phnum,
				 .path = info->dlpi_name };

	for (unsigned int i = 0; i < object.header_count && !object.inside; i++)
		if (object.headers[i].p_type == PT_LOAD)
			object.inside = (void *)(object.base + object.headers[i].p_vaddr);
	return object;
}

/*
 * Is an object of the list loaded still? Its headers may lie in memory of the linker's that is gone
 * with it. Context: async-signal-safe, within the dynamic linker, too.
 */
static int is_loaded(const struct object *object)
{
	struct dl_find_object found;

	if (!_dl_find_object || !object->inside)
		return 1;
	return !_dl_find_object(object->inside, &found) &&
	       found.dlfo_link_map->l_addr == object->base &&
	       found.dlfo_link_map->l_name == object->path;
}

/* One object while it is looked at. */
struct scan {
	struct lull_patch patch;
	struct lull_segment segments[SEGMENTS_MAX];
	size_t segment_count;
	uint32_t asked; /* bit i: session i is asked whether it wants an event */
	int is_change; /* the object was scanned before */
	enum change_why why; /* of a change */
	int has_notes; /* of Lull's */
	int has_unreadable; /* it has text that cannot be read */
	int is_new; /* it has a probe that was not set up before */
	uint32_t changed_count; /* probes and sites */
	int has_text; /* it has sites that are patched */
	int has_others; /* it has probes that are not liblull's own */
	int has_unregistered; /* it has an event without an identifier */
	/* The probe found last, which most often has the description of the site that follows. */
	const char *probe_description;
	size_t probe_description_bytes;
	uint32_t probe_wanted; /* bit i: session i */
	uint32_t probe_fresh; /* of these, those that did not want it before */
	uint32_t site_count;
	uint32_t enabled_count[LULL_SESSIONS_MAX];
	uint32_t unpatched_count[LULL_SESSIONS_MAX];
};

/* The rule by which a session wants an event; -1 where it does not. */
static int session_rule(struct session *session, const struct lull_note *note)
{
	int rule;

	if (!session->rules)
		lull_session_rules_read(session);
	rule = lull_rules_decide(session->rules, session->rule_count, note->name, note->name_bytes,
				 note->level);
	return rule >= 0 && !session->rules[rule].excludes ? rule : -1;
}

/*
 * Give the event an identifier in a session that wants it. An event that another process of the
 * session has registered is wanted, and that process checked its description. One that gets no
 * identifier is counted, and the object's other events are recorded.
 * @mask: gets the bits of the record's mask for the session.
 * Return: whether the session wants it.
 */
static uint32_t event_enable(struct scan *scan, struct lull_probe_record *record, uint32_t index,
			     const struct lull_note *note, uint32_t *mask)
{
	struct session *session = &lull_process.sessions[index];
	uint32_t id = lull_event_known(session, note->description, note->description_bytes);
	/* What a process registered, its session wanted; while the rules are as they were. */
	int is_known = id && !session->rules_sequence;
	int rule = is_known && !lull_session_asks(session) ? -1 : session_rule(session, note);

	if (!is_known && rule < 0)
		return 0;
	if (!id && !lull_description_check(note->description, note->description_bytes))
		id = lull_event_register(session, note->description, note->description_bytes);
	if (!id) {
		lull_add32_relaxed(&session->control->unregistered_count, 1);
		scan->has_unregistered = 1;
	}
	record->id[index] = (uint16_t)id;
	if (id)
		*mask |= lull_filter_enable(record, index, rule, note);
	return 1;
}

void lull_probe_enable(struct lull_probe_record *record, uint32_t mask)
{
	record->interface = &lull_process.lines[0].interface;
	/*
	 * [site.enable:A] release. Pairs with [site.probe:A].
	 * Orders: the stores of the interface, the identifier and the filters before the mask's
	 * bits.
	 * Else: a probe that sees the bit loads an interface that is still NULL, or a wrong
	 * identifier. Mutant: MASK_RELAXED.
	 */
	lull_store32_release(&record->enabled_mask, mask);
}

/* A session that is left wants no event. */
static int is_asked(const struct scan *scan, uint32_t index)
{
	return scan->asked & 1u << index && !(scan->is_change && scan->why == CHANGE_LEAVE);
}

/* Set up one probe: everything before the mask, for the mask is what probes look at. */
static void probe_found(struct scan *scan, const struct lull_note *note)
{
	struct lull_probe_record *record = (struct lull_probe_record *)note->record;
	uint32_t wanted, mask, before;

	if (record->interface && !scan->is_change)
		return;
	scan->is_new = 1;
	scan->has_others |= !lull_own_has(record);
	before = record->enabled_mask;
	mask = before & ~(scan->asked | scan->asked << LULL_SESSIONS_MAX);
	wanted = mask & LULL_MASK_SESSIONS;
	EACH_SESSION(i)
		if (is_asked(scan, i))
			wanted |= event_enable(scan, record, i, note, &mask) << i;
	scan->probe_description = note->description;
	scan->probe_description_bytes = note->description_bytes;
	scan->probe_wanted = wanted;
	scan->probe_fresh = wanted & ~before;
	scan->changed_count += mask != before;
	lull_probe_enable(record, mask);
}

/* Is a site's event that of the probe found last? */
static int is_of_probe(const struct scan *scan, const struct lull_note *note)
{
	return note->description_bytes == scan->probe_description_bytes &&
	       !__builtin_memcmp(note->description, scan->probe_description,
				 note->description_bytes);
}

/* The sessions that want a site's event, a bit for each. */
static uint32_t site_wanted(const struct scan *scan, const struct lull_note *note)
{
	uint32_t wanted = 0;

	if (is_of_probe(scan, note))
		return scan->probe_wanted;
	EACH_SESSION(i)
		if (is_asked(scan, i) || !(scan->asked & 1u << i))
			wanted |= (uint32_t)(session_rule(&lull_process.sessions[i], note) >= 0)
				  << i;
	return wanted;
}

static void site_count(struct scan *scan, uint32_t wanted, int failed)
{
	scan->site_count++;
	EACH_SESSION(i)
		if (wanted & scan->asked & 1u << i)
			(failed ? scan->unpatched_count : scan->enabled_count)[i]++;
}

/* The first walk: probes, and sites that test the record of their probe. */
static int note_found(const struct lull_note *note, void *context)
{
	struct scan *scan = context;

	scan->has_notes = 1;
	if (lull_note_check(note, scan->segments, scan->segment_count))
		return 0;
	if (note->type == LULL_NOTE_PROBE)
		probe_found(scan, note);
	else if (note->code)
		scan->has_text = 1;
	else if (scan->is_change && is_of_probe(scan, note))
		site_count(scan, scan->probe_fresh, 0);
	else
		site_count(scan, site_wanted(scan, note), 0);
	return 0;
}

/* A look at code needs no system call, where a change needs some for each page. */
static int is_as_wanted(const struct scan *scan, const struct lull_note *note, uint32_t wanted)
{
	return scan->is_change && !scan->has_unreadable &&
	       lull_patch_is_enabled(note->code, note->target) == !!wanted;
}

/*
 * The second walk: patch one site as sessions want its event. A session whose rules have changed
 * counts the sites that were enabled for it, but for those that another one had enabled.
 */
static int text_found(const struct lull_note *note, void *context)
{
	struct scan *scan = context;
	uint32_t wanted;
	int failed = 0;

	if (note->type != LULL_NOTE_SITE || !note->code ||
	    lull_note_check(note, scan->segments, scan->segment_count))
		return 0;
	wanted = site_wanted(scan, note);
	if (is_as_wanted(scan, note, wanted)) {
		if (scan->why == CHANGE_JOIN)
			site_count(scan, wanted, 0);
		return 0;
	}
	if (wanted || scan->is_change) {
		failed = lull_patch_site(&scan->patch, note->code, note->target, !!wanted) != 0;
		scan->changed_count++;
	}
	site_count(scan, wanted, failed);
	return 0;
}

/* Tell each session what was found. */
static void counts_add(const struct scan *scan)
{
	EACH_SESSION(i) {
		struct lull_session_control *control = lull_process.sessions[i].control;

		if (!is_asked(scan, i))
			continue;
		if (!scan->is_change || scan->why == CHANGE_JOIN)
			lull_add32_relaxed(&control->site_count, scan->site_count);
		lull_add32_relaxed(&control->enabled_count, scan->enabled_count[i]);
		lull_add32_relaxed(&control->unpatched_count, scan->unpatched_count[i]);
	}
}

static void segments_find(struct scan *scan, const struct object *object)
{
	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		uintptr_t begin = object->base + header->p_vaddr;

		if (header->p_type != PT_LOAD || scan->segment_count == SEGMENTS_MAX)
			continue;
		scan->has_unreadable |= (header->p_flags & (PF_X | PF_R)) == PF_X;
		scan->segments[scan->segment_count++] = (struct lull_segment){
			.begin = begin,
			.until = begin + header->p_memsz,
			.is_executable = (header->p_flags & PF_X) != 0,
			.is_writable = (header->p_flags & PF_W) != 0,
		};
	}
}

static void notes_walk(const struct object *object,
		       int (*visit)(const struct lull_note *note, void *context), void *context)
{
	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];

		if (header->p_type == PT_NOTE)
			lull_note_walk((const void *)(object->base + header->p_vaddr),
				       header->p_memsz, visit, context);
	}
}

/* The build identifier among one segment's notes: an ELF note "GNU" of type 3. */
static struct build_id build_id_find(const void *segment, size_t bytes)
{
	struct lull_elf_notes notes = { segment, bytes };
	struct lull_elf_note note;

	/* Bound: a note has at least 12 bytes. */
	while (lull_elf_note_take(&notes, &note) > 0)
		if (note.type == NOTE_TYPE_BUILD_ID && note.name_bytes == 4 &&
		    !__builtin_memcmp(note.name, "GNU", 4) &&
		    note.descriptor_bytes <= BUILD_ID_BYTES_MAX)
			return (struct build_id){ (const unsigned char *)note.descriptor,
						  (uint32_t)note.descriptor_bytes };
	return (struct build_id){ NULL, 0 };
}

static struct build_id object_build_id(const struct object *object)
{
	struct build_id id = { NULL, 0 };

	for (unsigned int i = 0; i < object->header_count && !id.count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];

		if (header->p_type == PT_NOTE)
			id = build_id_find((const void *)(object->base + header->p_vaddr),
					   header->p_memsz);
	}
	return id;
}

/* liblull was looked at, and nothing else: the processes that follow may know what was found. */
static void own_tell(const struct scan *scan, struct build_id id)
{
	if (scan->has_text || scan->has_others || scan->has_unregistered)
		return;
	EACH_SESSION(i)
		lull_own_tell(i, id, scan->site_count, scan->enabled_count[i]);
}

/* Both walks over an object's notes. */
static void object_walk(struct scan *scan, const struct object *object)
{
	segments_find(scan, object);
	notes_walk(object, note_found, scan);
	if (!scan->is_new)
		return;
	if (scan->has_text) {
		lull_patch_begin(&scan->patch);
		notes_walk(object, text_found, scan);
		lull_patch_end(&scan->patch);
	}
	counts_add(scan);
}

/* Put an object into the list. Return: where it is there; NULL where there is no room. */
static struct object *object_keep(const struct object *object)
{
	if (seen.count == OBJECTS_SEEN_MAX)
		return NULL;
	seen.objects[seen.count] = *object;
	return &seen.objects[seen.count++];
}

static int object_scan(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	struct object object = object_of(info);
	struct scan scan = { .asked = lull_process.attached };
	int is_own = lull_own_is(object.headers);
	struct build_id id = { NULL, 0 };
	struct object *kept;

	(void)unused;
	if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs) &&
	    info->dlpi_subs != seen.unloads) {
		seen.unloads = info->dlpi_subs;
		seen.count = 0;
		seen.is_full = 0;
	}
	for (unsigned int i = 0; i < seen.count; i++)
		if (seen.objects[i].headers == object.headers)
			return 0;
	if (is_own)
		id = object_build_id(&object);
	object.has_notes = is_own;
	kept = object_keep(&object);
	if (is_own && lull_own_recall(id))
		return 0;
	object_walk(&scan, &object);
	if (kept)
		kept->has_notes = scan.has_notes;
	else
		seen.is_full |= scan.has_notes;
	if (is_own && scan.is_new)
		own_tell(&scan, id);
	return 0;
}

void lull_objects_scan(void)
{
	if (lull_confined)
		return; /* to patch a site takes system calls */
	if (lull_loading_begin())
		dl_iterate_phdr(object_scan, NULL);
	lull_loading_end();
}

int lull_objects_change(uint32_t sessions, enum change_why why)
{
	uint32_t changed_count = 0;

	if (seen.is_full)
		return -E2BIG;
	for (unsigned int i = 0; i < seen.count; i++) {
		struct scan scan = { .asked = sessions, .is_change = 1, .why = why };

		if (!seen.objects[i].has_notes || !is_loaded(&seen.objects[i]))
			continue;
		object_walk(&scan, &seen.objects[i]);
		changed_count += scan.changed_count;
	}
	return (int)(changed_count & INT32_MAX);
}

struct move {
	uint32_t from;
	uint32_t to;
};

/* Make a probe that records in one session record in the other. */
static int probe_moves(const struct lull_note *note, void *context)
{
	const struct move *move = context;
	struct lull_probe_record *record = (struct lull_probe_record *)note->record;
	uint32_t mask, id = 0;

	if (note->type != LULL_NOTE_PROBE ||
	    record->interface != &lull_process.lines[0].interface ||
	    !(record->enabled_mask & LULL_MASK_SESSION(move->from)))
		return 0;
	if (move->to < LULL_SESSIONS_MAX)
		id = lull_event_register(&lull_process.sessions[move->to], note->description,
					 note->description_bytes);
	mask = record->enabled_mask &
	       ~(LULL_MASK_SESSION(move->from) | LULL_MASK_FILTER(move->from));
	if (id) {
		record->id[move->to] = (uint16_t)id;
		mask |= lull_filter_move(record, move->from, move->to);
	}
	/* [site.enable:A], as in probe_found(): the identifier before the mask's bit */
	lull_store32_release(&record->enabled_mask, mask);
	return 0;
}

void lull_objects_move(uint32_t from, uint32_t to)
{
	struct move move = { from, to };

	/* [site.enable:A], as in probe_found(): before the masks */
	lull_store32(&lull_process.successors[from], to < LULL_SESSIONS_MAX ? to + 1 : 0);
	for (unsigned int i = 0; i < seen.count; i++)
		if (seen.objects[i].has_notes && is_loaded(&seen.objects[i]))
			notes_walk(&seen.objects[i], probe_moves, &move);
}

static void object_dump(const struct object *object, const char *program, uint32_t sessions)
{
	/* The program itself has no name here. */
	const char *path = object->path && object->path[0] ? object->path : program;
	struct build_id id = object_build_id(object);
	uint64_t end = 0;

	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];

		if (header->p_type == PT_LOAD && header->p_vaddr + header->p_memsz > end)
			end = header->p_vaddr + header->p_memsz;
	}
	lull_event("process:object", lull_x64(base, object->base), lull_u64(bytes, end),
		   lull_str(path, path), lull_bytes(build_id, id.bytes, id.count));
}

static int loaded_dump(struct dl_phdr_info *info, size_t bytes, void *program)
{
	struct object object = object_of(info);

	(void)bytes;
	object_dump(&object, program, LULL_MASK_SESSIONS);
	return 0;
}

void lull_objects_dump(const char *program)
{
	dl_iterate_phdr(loaded_dump, (void *)program);
}

void lull_objects_dump_seen(const char *program, uint32_t sessions)
{
	for (unsigned int i = 0; i < seen.count; i++)
		if (is_loaded(&seen.objects[i]))
			object_dump(&seen.objects[i], program, sessions);
}
