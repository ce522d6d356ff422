// SPDX-License-Identifier: GPL-2.0-only
/*
 * The layout of a source's event, as a recorder gives it: hostile, and checked here once, so that
 * the probe need not. Types come from the description alone, so what readers take an event for and
 * what the probe writes cannot differ. Paper: T 8.2 (types are checked).
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "event.h"
#include "source/source.h"

#ifdef CONFIG_X86_64
#define REGISTER_ARGUMENTS 6
#else
#define REGISTER_ARGUMENTS 8
#endif

static const struct {
	const char *name;
	uint8_t bytes;
} types[] = {
	{ "u8", 1 },  { "i8", 1 },  { "x8", 1 },  { "bool", 1 }, { "u16", 2 },	{ "i16", 2 },
	{ "x16", 2 }, { "u32", 4 }, { "i32", 4 }, { "x32", 4 },	 { "enum", 4 }, { "u64", 8 },
	{ "i64", 8 }, { "x64", 8 }, { "ptr", 8 }, { "str", 0 },
};

/* The type that a line begins with. Return: 0; -EINVAL for one that a source cannot have. */
static int type_read(struct source_field *field, const char *line)
{
	size_t bytes = strcspn(line, " "), i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i].name) == bytes && !memcmp(types[i].name, line, bytes)) {
			field->bytes = types[i].bytes;
			field->is_truth = *line == 'b';
			field->is_signed = *line == 'i' || *line == 'e';
			return 0;
		}
	return -EINVAL;
}

/* Whether the place where a value begins is one that this kind of source has. */
static bool begin_is_there(uint32_t kind, const struct lull_source_field *asked)
{
	bool has_registers = kind != LULL_SOURCE_TRACEPOINT;

	switch (asked->from) {
	case LULL_FROM_ARGUMENT:
		if (kind == LULL_SOURCE_TRACEPOINT)
			return asked->index < LULL_SOURCE_ARGUMENTS_MAX;
		return kind == LULL_SOURCE_FUNCTION && asked->index < REGISTER_ARGUMENTS;
	case LULL_FROM_REGISTER:
		return has_registers && asked->index <= MAX_REG_OFFSET &&
		       !(asked->index % sizeof(long));
	case LULL_FROM_RESULT:
		return (kind == LULL_SOURCE_RETURN || kind == LULL_SOURCE_PROGRAM_RETURN) &&
		       !asked->index;
	case LULL_FROM_CONSTANT:
		return !asked->index;
	case LULL_FROM_UNREAD:
		return !asked->index && !asked->step_count;
	}
	return false;
}

static int field_check(uint32_t kind, const struct source_field *field)
{
	const struct lull_source_field *asked = &field->asked;
	int i;

	if (!begin_is_there(kind, asked) || asked->unused || asked->is_user > 1 ||
	    asked->step_count > LULL_SOURCE_STEPS_MAX || (!field->bytes && !asked->step_count) ||
	    (asked->is_user && !asked->step_count) ||
	    (asked->constant && asked->from != LULL_FROM_CONSTANT))
		return -EINVAL;
	for (i = asked->step_count; i < LULL_SOURCE_STEPS_MAX; i++)
		if (asked->steps[i])
			return -EINVAL;
	return 0;
}

int lull_layout_check(struct source *source, const char *fields)
{
	uint32_t i, strings = 0;

	/* Bound: LULL_SOURCE_FIELDS_MAX, which the caller has checked. */
	for (i = 0; i < source->asked.field_count; i++) {
		struct source_field *field = &source->fields[i];

		if (!*fields || type_read(field, fields) || field_check(source->asked.kind, field))
			return -EINVAL;
		source->numbers_bytes += field->bytes;
		strings += !field->bytes;
		fields = strchr(fields, '\n') + 1;
	}
	source->string_bytes = strings ? LULL_SOURCE_STRINGS_BYTES / strings : 0;
	return *fields ? -EINVAL : 0;
}
