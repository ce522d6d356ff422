/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Notes: finding the sites and probes of a loaded object. Bytes: abi/site.h.
 *
 * The flow of a caller (liblull, when an object is loaded): for each PT_NOTE segment,
 * lull_note_walk(); for each probe note whose name the patterns match, fill in the record;
 * then walk again, and lull_patch_site() for each site note with a name that matches.
 * Paper: T 8.1 (markers are found through a section of their own).
 */
#ifndef LULL_SITE_NOTE_H
#define LULL_SITE_NOTE_H

#include <stddef.h>
#include <stdint.h>
#include "lull/abi/site.h"

#define LULL_FIELDS_MAX 16u

/* One site or probe, as its note describes it. lull_note_check() checks the addresses. */
struct lull_note {
	uint32_t type; /* LULL_NOTE_SITE or LULL_NOTE_PROBE */
	uint32_t level; /* enum lull_level */
	uintptr_t code; /* of a site: the no-op, or 0 where the site tests its record */
	uintptr_t target; /* of a site: where the jump goes, or 0 */
	uintptr_t record; /* of a probe: its struct lull_probe_record */
	const char *name; /* inside description, not NUL-terminated */
	size_t name_bytes;
	const char *description; /* NUL-terminated */
	size_t description_bytes; /* without the NUL */
};

/* A part of the address space, from a loaded object's program headers. */
struct lull_segment {
	uintptr_t begin;
	uintptr_t until;
	int is_executable;
	int is_writable;
};

/* One note of any owner, inside its segment. */
struct lull_elf_note {
	uint32_t type;
	const char *name; /* not necessarily NUL-terminated */
	size_t name_bytes;
	const char *descriptor;
	size_t descriptor_bytes;
};

/* The notes of a segment that were not taken yet. */
struct lull_elf_notes {
	const char *at;
	size_t left;
};

/**
 * lull_elf_note_take() - take the next note of a segment, whoever owns it.
 * @notes: what is left of the segment; without the note afterwards.
 * @note: the note, if there is one.
 *
 * Nothing outside the segment is read, whatever the segment holds. A note takes at least 12 bytes.
 *
 * Context: any, async-signal-safe. Progress: wait-free.
 * Return: 1; 0 at the end of the segment; -EINVAL where the note is cut short.
 */
int lull_elf_note_take(struct lull_elf_notes *notes, struct lull_elf_note *note);

/**
 * lull_note_walk() - visit the sites and probes of a note segment.
 * @notes: the segment, at the address where it is loaded (offsets are relative to it).
 * @bytes: its size.
 * @visit: called for each note of Lull's, in order; a value other than 0 ends the walk.
 * @context: passed on to visit.
 *
 * Notes of other owners, types that this version does not know, and notes of Lull's whose
 * description has no end, name or level are skipped. Nothing outside the segment is read, whatever
 * the segment holds. Of a description, only the lines of the name and the level are read: a caller
 * that uses the rest calls lull_description_check().
 *
 * Context: any, async-signal-safe. Progress: wait-free, linear in bytes.
 * Return: 0; what visit returned; or -EINVAL where one of Lull's was skipped for its description,
 * or a note is cut short, which ends the walk. All others have been visited.
 */
int lull_note_walk(const void *notes, size_t bytes,
		   int (*visit)(const struct lull_note *note, void *context), void *context);

/**
 * lull_note_check() - are a note's addresses in segments where they may be?
 * @note: from lull_note_walk().
 * @segments: the loaded object's segments.
 * @count: how many.
 *
 * Context: any, async-signal-safe. Progress: wait-free.
 * Return: 0; -EFAULT where the no-op or its target is not in an executable segment, or the
 * record is not in a writable one or not on a boundary of 8 bytes.
 */
int lull_note_check(const struct lull_note *note, const struct lull_segment *segments,
		    size_t count);

/* lull_description_hash() - what finds a description in a session's event table: never 0. */
static inline uint64_t lull_description_hash(const char *text, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash ? hash : 1;
}

/**
 * lull_description_check() - is this text a description as abi/site.h defines it?
 * @text: not necessarily NUL-terminated.
 * @bytes: its length, without a NUL.
 *
 * Context: any, async-signal-safe. Progress: wait-free, linear in bytes.
 * Return: 0 or -EINVAL.
 */
int lull_description_check(const char *text, size_t bytes);

#endif
