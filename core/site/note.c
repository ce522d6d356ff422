/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Walking notes and checking descriptions. The object that carries the notes runs in this process
 * anyway, so it is not an attacker; the checks guard against a damaged file, and against a section
 * of the same name that another tool made.
 *
 *	note:	u32 name_bytes | u32 descriptor_bytes | u32 type | name | descriptor
 *		each of the last two padded to 4 bytes
 */
#include <errno.h>
#include "note.h"

struct note_header {
	uint32_t name_bytes;
	uint32_t descriptor_bytes;
	uint32_t type;
};

/* The part of a text that is not read yet. */
struct rest {
	const char *at;
	const char *until;
};

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Cut the next line off. Return: its first character; NULL when no complete line is left. */
static const char *line_take(struct rest *rest, size_t *bytes)
{
	const char *line = rest->at;
	const char *end;

	if (rest->at == rest->until)
		return NULL;
	end = __builtin_memchr(line, '\n', (size_t)(rest->until - line));
	if (!end)
		return NULL;
	rest->at = end + 1;
	*bytes = (size_t)(end - line);
	return line;
}

/* group:name, with at least one character on both sides of each colon. */
static int name_check(const char *name, size_t bytes)
{
	size_t part_bytes = 0;
	size_t part_count = 1;

	for (size_t i = 0; i < bytes; i++) {
		if (name[i] == ':' && part_bytes) {
			part_bytes = 0;
			part_count++;
		} else if (is_letter(name[i]) || name[i] == '.' || name[i] == '-') {
			part_bytes++;
		} else {
			return -EINVAL;
		}
	}
	return part_bytes && part_count > 1 ? 0 : -EINVAL;
}

/* FILE:LINE; a path may hold any character but a newline. */
static int place_check(const char *place, size_t bytes)
{
	size_t digits = 0;

	while (digits < bytes && place[bytes - 1 - digits] >= '0' &&
	       place[bytes - 1 - digits] <= '9')
		digits++;
	return digits && digits < bytes && place[bytes - 1 - digits] == ':' ? 0 : -EINVAL;
}

static int type_is_known(const char *type, size_t bytes)
{
	static const char types[] = " u8 u16 u32 u64 i8 i16 i32 i64 x8 x16 x32 x64 f32 f64 bool "
				    "ptr str strn bytes enum au8 au16 au32 au64 ai8 ai16 ai32 "
				    "ai64 ";

	if (!bytes || __builtin_memchr(type, ' ', bytes))
		return 0;
	for (size_t i = 0; i + bytes + 1 < sizeof(types) - 1; i++)
		if (types[i] == ' ' && !__builtin_memcmp(types + i + 1, type, bytes) &&
		    types[i + 1 + bytes] == ' ')
			return 1;
	return 0;
}

/*
 * TYPE NAME, and for an enumeration another space and its names, which an integer in base 16 may
 * have, too.
 */
static int field_check(const char *line, size_t bytes)
{
	const char *until = line + bytes;
	const char *name = __builtin_memchr(line, ' ', bytes);
	const char *at;
	int is_enum, has_names;

	if (!name || !type_is_known(line, (size_t)(name - line)))
		return -EINVAL;
	is_enum = *line == 'e';
	has_names = is_enum || *line == 'x';
	name++;
	for (at = name; at < until && is_letter(*at); at++)
		;
	if (at == name || (*name >= '0' && *name <= '9'))
		return -EINVAL;
	if (at == until)
		return is_enum ? -EINVAL : 0;
	return has_names && *at == ' ' && at + 1 < until ? 0 : -EINVAL;
}

/* Find the first two lines; only the level of the second is checked. */
static int head_read(const char *text, size_t bytes, struct rest *rest, struct lull_note *note)
{
	const char *line;
	size_t line_bytes;

	*rest = (struct rest){ text, text + bytes };
	note->name = line_take(rest, &note->name_bytes);
	line = line_take(rest, &line_bytes);
	if (!line || line_bytes != 1 || *line < '0' || *line > '0' + LULL_LEVEL_DEBUG)
		return -EINVAL;
	note->level = (uint32_t)(*line - '0');
	note->description = text;
	note->description_bytes = bytes;
	return 0;
}

int lull_description_check(const char *text, size_t bytes)
{
	struct lull_note note;
	struct rest rest;
	size_t line_bytes;
	const char *line;

	if (bytes >= LULL_DESCRIPTION_BYTES_MAX || __builtin_memchr(text, 0, bytes) ||
	    head_read(text, bytes, &rest, &note) || name_check(note.name, note.name_bytes))
		return -EINVAL;
	line = line_take(&rest, &line_bytes);
	if (!line || place_check(line, line_bytes))
		return -EINVAL;
	for (size_t fields = 0; rest.at < rest.until; fields++) {
		line = line_take(&rest, &line_bytes);
		if (!line || fields == LULL_FIELDS_MAX || field_check(line, line_bytes))
			return -EINVAL;
	}
	return 0;
}

/* An offset in a note is relative to the offset's own address; 0 means that there is no target. */
static uintptr_t offset_follow(const char *at)
{
	int32_t offset;

	__builtin_memcpy(&offset, at, sizeof(offset));
	return offset ? (uintptr_t)at + (uintptr_t)(intptr_t)offset : 0;
}

/* Read one of Lull's notes. Return: 0, -EINVAL, or -ENOENT for a type of a later version. */
static int descriptor_read(struct lull_note *note, uint32_t type, const char *descriptor,
			   size_t bytes)
{
	size_t fixed_bytes = type == LULL_NOTE_SITE ? sizeof(struct lull_note_site) :
						      sizeof(struct lull_note_probe);
	const char *text = descriptor + fixed_bytes;
	struct rest rest;
	const char *nul = descriptor + bytes - 1;

	if (type != LULL_NOTE_SITE && type != LULL_NOTE_PROBE)
		return -ENOENT;
	if (bytes <= fixed_bytes)
		return -EINVAL;
	if (*nul || head_read(text, (size_t)(nul - text), &rest, note))
		return -EINVAL;
	note->type = type;
	note->code = note->target = note->record = 0;
	if (type == LULL_NOTE_PROBE) {
		note->record = offset_follow(descriptor);
		return note->record ? 0 : -EINVAL;
	}
	note->code = offset_follow(descriptor);
	note->target = offset_follow(descriptor + sizeof(int32_t));
	return !note->code == !note->target ? 0 : -EINVAL;
}

static size_t padded(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

int lull_elf_note_take(struct lull_elf_notes *notes, struct lull_elf_note *note)
{
	struct note_header header;
	size_t name_bytes, left, bytes;

	if (notes->left < sizeof(header))
		return 0;
	__builtin_memcpy(&header, notes->at, sizeof(header));
	left = notes->left - sizeof(header);
	name_bytes = padded(header.name_bytes);
	if (header.name_bytes > left || name_bytes > left ||
	    header.descriptor_bytes > left - name_bytes)
		return -EINVAL;
	note->type = header.type;
	note->name = notes->at + sizeof(header);
	note->name_bytes = header.name_bytes;
	note->descriptor = note->name + name_bytes;
	note->descriptor_bytes = header.descriptor_bytes;
	/* The last note's padding may be left out. */
	bytes = padded(sizeof(header) + name_bytes + header.descriptor_bytes);
	bytes = bytes < notes->left ? bytes : notes->left;
	notes->at += bytes;
	notes->left -= bytes;
	return 1;
}

int lull_note_walk(const void *notes, size_t bytes,
		   int (*visit)(const struct lull_note *note, void *context), void *context)
{
	struct lull_elf_notes rest = { notes, bytes };
	struct lull_elf_note elf;
	int result, damage = 0;

	/* Bound: a note has at least a header's size. */
	while ((result = lull_elf_note_take(&rest, &elf)) > 0) {
		struct lull_note note;

		if (elf.name_bytes != sizeof(LULL_NOTE_NAME) ||
		    __builtin_memcmp(elf.name, LULL_NOTE_NAME, sizeof(LULL_NOTE_NAME)))
			continue;
		result = descriptor_read(&note, elf.type, elf.descriptor, elf.descriptor_bytes);
		if (result == -EINVAL)
			damage = result;
		if (result)
			continue;
		result = visit(&note, context);
		if (result)
			return result;
	}
	return result ? result : damage;
}

static int is_within(const struct lull_segment *segment, uintptr_t address, size_t bytes)
{
	return address >= segment->begin && address < segment->until &&
	       segment->until - address >= bytes;
}

int lull_note_check(const struct lull_note *note, const struct lull_segment *segments, size_t count)
{
	int code = !note->code, target = !note->target, record = !note->record;

	for (size_t i = 0; i < count && !(code && target && record); i++) {
		if (segments[i].is_executable && is_within(&segments[i], note->code, 4))
			code = 1;
		if (segments[i].is_executable && is_within(&segments[i], note->target, 1))
			target = 1;
		if (segments[i].is_writable && !(note->record & 7) &&
		    is_within(&segments[i], note->record, sizeof(struct lull_probe_record)))
			record = 1;
	}
	return code && target && record ? 0 : -EFAULT;
}
