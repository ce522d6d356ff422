/* SPDX-License-Identifier: MIT */
/*
 * The stand-in for liblull: scans the notes of every loaded object, gives each event the
 * identifier 100 + its number, and records into memory.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "harness.h"
#include "site/note.h"
#include "site/pattern.h"
#include "site/site.h"

#define NOTES_MAX 4096
#define SEGMENTS_MAX 16

struct capture captures[CAPTURES_MAX];
uint32_t capture_count;
uint32_t reserve_count;
int reserve_refuses;
void (*reserve_hook)(void);

static struct lull_note notes[NOTES_MAX];
static uint32_t note_count;

static int harness_reserve(struct lull_slot *slot, uint32_t session, uint32_t id,
			   uint32_t payload_bytes)
{
	static __thread unsigned char buffer[SESSIONS][PAYLOAD_BYTES_MAX + 4];

	__atomic_add_fetch(&reserve_count, 1, __ATOMIC_RELAXED);
	if (reserve_hook)
		reserve_hook();
	if (reserve_refuses || payload_bytes > PAYLOAD_BYTES_MAX)
		return 0;
	memset(buffer[session], 0xee, sizeof(buffer[session]));
	slot->payload = buffer[session];
	slot->private_words[0] = session;
	slot->private_words[1] = id;
	slot->private_words[2] = payload_bytes;
	return 1;
}

static void harness_commit(struct lull_slot *slot)
{
	uint32_t index = __atomic_fetch_add(&capture_count, 1, __ATOMIC_RELAXED);
	uint32_t bytes = (uint32_t)slot->private_words[2];

	if (memcmp(slot->payload + bytes, "\xee\xee\xee\xee", 4))
		check(0, "payload_ends_where_reserved", "bytes beyond the slot were written");
	if (index >= CAPTURES_MAX)
		return;
	captures[index].session = (uint32_t)slot->private_words[0];
	captures[index].id = (uint32_t)slot->private_words[1];
	captures[index].bytes = bytes;
	memcpy(captures[index].payload, slot->payload, bytes);
}

static const struct lull_probe_interface harness_interface = {
	.version = 1,
	.reserve = harness_reserve,
	.commit = harness_commit,
};

void capture_reset(void)
{
	memset(captures, 0, sizeof(captures));
	capture_count = 0;
	reserve_count = 0;
}

struct object {
	struct lull_segment segments[SEGMENTS_MAX];
	size_t segment_count;
};

static int note_take(const struct lull_note *note, void *context)
{
	const struct object *object = context;

	if (lull_note_check(note, object->segments, object->segment_count))
		check(0, "notes_point_into_their_object", note->description);
	if (lull_description_check(note->description, note->description_bytes))
		check(0, "descriptions_are_well_formed", note->description);
	if (note_count < NOTES_MAX)
		notes[note_count++] = *note;
	return 0;
}

static int object_take(struct dl_phdr_info *info, size_t size, void *context)
{
	struct object object = { .segment_count = 0 };

	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || object.segment_count == SEGMENTS_MAX)
			continue;
		object.segments[object.segment_count++] = (struct lull_segment){
			.begin = info->dlpi_addr + segment->p_vaddr,
			.until = info->dlpi_addr + segment->p_vaddr + segment->p_memsz,
			.is_executable = !!(segment->p_flags & PF_X),
			.is_writable = !!(segment->p_flags & PF_W),
		};
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE &&
		    lull_note_walk((const void *)(info->dlpi_addr + segment->p_vaddr),
				   segment->p_memsz, note_take, &object))
			check(0, "notes_are_well_formed", info->dlpi_name);
	}
	return 0;
}

static int named(const struct lull_note *note, uint32_t type, const char *name)
{
	return note->type == type && note->name_bytes == strlen(name) &&
	       !memcmp(note->name, name, note->name_bytes);
}

static uint32_t count_named(uint32_t type, const char *name)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < note_count; i++)
		count += (uint32_t)named(&notes[i], type, name);
	return count;
}

uint32_t sites_scan(void)
{
	uint32_t sites = 0;

	note_count = 0;
	dl_iterate_phdr(object_take, NULL);
	for (uint32_t i = 0; i < note_count; i++) {
		struct lull_probe_record *record = (struct lull_probe_record *)notes[i].record;

		sites += notes[i].type == LULL_NOTE_SITE;
		if (notes[i].type != LULL_NOTE_PROBE)
			continue;
		record->interface = &harness_interface;
		for (uint32_t session = 0; session < SESSIONS; session++)
			record->id[session] = (uint16_t)(100 + session);
	}
	return sites;
}

uint32_t sites_set(const char *patterns, uint32_t mask)
{
	struct lull_patch patch;
	uint32_t failures = 0;

	for (uint32_t i = 0; i < note_count; i++) {
		struct lull_probe_record *record = (struct lull_probe_record *)notes[i].record;

		if (notes[i].type == LULL_NOTE_PROBE)
			__atomic_store_n(&record->enabled_mask,
					 lull_pattern_match(patterns, notes[i].name,
							    notes[i].name_bytes, notes[i].level) ?
						 mask :
						 0,
					 __ATOMIC_RELEASE);
	}
	lull_patch_begin(&patch);
	for (uint32_t i = 0; i < note_count; i++)
		if (notes[i].type == LULL_NOTE_SITE && notes[i].code)
			failures += !!lull_patch_site(&patch, notes[i].code, notes[i].target,
						      lull_pattern_match(patterns, notes[i].name,
									 notes[i].name_bytes,
									 notes[i].level));
	lull_patch_end(&patch);
	return failures;
}

uint32_t sites_named(const char *name)
{
	return count_named(LULL_NOTE_SITE, name);
}

uint32_t probes_named(const char *name)
{
	return count_named(LULL_NOTE_PROBE, name);
}

const char *description_of(const char *name)
{
	for (uint32_t i = 0; i < note_count; i++)
		if (named(&notes[i], LULL_NOTE_SITE, name))
			return notes[i].description;
	return NULL;
}

int site_address(const char *name, uintptr_t *code, uintptr_t *target)
{
	for (uint32_t i = 0; i < note_count; i++) {
		if (named(&notes[i], LULL_NOTE_SITE, name)) {
			*code = notes[i].code;
			*target = notes[i].target;
			return 1;
		}
	}
	return 0;
}

int site_set(uintptr_t code, uintptr_t target, int enable)
{
	struct lull_patch patch;
	int result;

	lull_patch_begin(&patch);
	result = lull_patch_site(&patch, code, target, enable);
	lull_patch_end(&patch);
	return result;
}

void check(int condition, const char *name, const char *why)
{
	if (condition)
		printf("ok   %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	fflush(stdout);
}
