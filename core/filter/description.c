/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading an event's description for a filter. It is NUL-terminated; nothing else of it is
 * believed.
 */
#include "description.h"

static const char *line_after(const char *line)
{
	while (*line && *line != '\n')
		line++;
	return *line ? line + 1 : line;
}

/* Up to a space, a line's end or the text's. */
static struct word word_at(const char *text)
{
	size_t bytes = 0;

	while (text[bytes] && text[bytes] != ' ' && text[bytes] != '\n')
		bytes++;
	return (struct word){ text, bytes };
}

/* The word behind another one, in its line. */
static struct word word_after(struct word word)
{
	const char *until = word.text + word.bytes;

	return word_at(*until == ' ' ? until + 1 : until);
}

const char *lull_description_fields(const char *description)
{
	/* Name, level and place are the first three lines. */
	return line_after(line_after(line_after(description)));
}

const char *lull_description_field(const char *line, struct field *field)
{
	const char *argument;
	size_t bytes = 0;

	field->type = word_at(line);
	field->name = word_after(field->type);
	/* The rest of the line: it may have spaces. */
	argument = word_after(field->name).text;
	while (argument[bytes] && argument[bytes] != '\n')
		bytes++;
	field->argument = (struct word){ argument, bytes };
	return line_after(line);
}

int lull_description_find(const char *description, struct word name, struct field *field)
{
	const char *line = lull_description_fields(description);

	for (int i = 0; *line && i < (int)LULL_FILTER_FIELDS_MAX; i++) {
		line = lull_description_field(line, field);
		if (is_same_word(field->name, name))
			return i;
	}
	return -1;
}

struct word lull_description_name(const char *description)
{
	size_t bytes = 0;

	while (description[bytes] && description[bytes] != '\n')
		bytes++;
	return (struct word){ description, bytes };
}

struct field_type lull_description_type(struct word type)
{
	static const char *const widths[] = { "8", "16", "32", "64" };
	const struct word width = { type.text + 1, type.bytes - 1 };
	const char sign = type.bytes > 1 ? *type.text : '\0';

	if (is_word(type, "str") || is_word(type, "strn"))
		return (struct field_type){ .input = LULL_FILTER_BYTES };
	if (is_word(type, "bool"))
		return (struct field_type){ LULL_FILTER_NUMBER, 1, 0, 0 };
	if (is_word(type, "ptr"))
		return (struct field_type){ LULL_FILTER_NUMBER, 64, 0, 0 };
	if (is_word(type, "enum"))
		return (struct field_type){ LULL_FILTER_NUMBER, 32, 1, 1 };
	for (uint8_t i = 0; i < 4 && (sign == 'u' || sign == 'i' || sign == 'x'); i++)
		if (is_word(width, widths[i]))
			return (struct field_type){ LULL_FILTER_NUMBER, (uint8_t)(8u << i),
						    sign == 'i', sign == 'x' };
	return (struct field_type){ .input = LULL_FILTER_NONE };
}
