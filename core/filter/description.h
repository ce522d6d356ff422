/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An event's description (lull/abi/site.h), as filters read it: line by line, and what a filter
 * can make of a field's type. For the check of programs and for linking them.
 */
#ifndef LULL_FILTER_DESCRIPTION_H
#define LULL_FILTER_DESCRIPTION_H

#include "filter.h"

struct word {
	const char *text; /* not NUL-terminated */
	size_t bytes;
};

/* One line: TYPE SPACE NAME [SPACE ARGUMENT]. What is not there has no bytes. */
struct field {
	struct word type;
	struct word name;
	struct word argument;
};

struct field_type {
	enum lull_filter_input input;
	uint8_t bits; /* of a number; a truth value has one */
	uint8_t is_signed;
	uint8_t is_named; /* the argument may name its values */
};

/* The line of the first field, or the text's end. */
const char *lull_description_fields(const char *description);

/* Read a line. Return: the next one, or the text's end. */
const char *lull_description_field(const char *line, struct field *field);

struct field_type lull_description_type(struct word type);

/* The field of a name. Return: its place among the fields that filters know, or -1. */
int lull_description_find(const char *description, struct word name, struct field *field);

/* The event's name. */
struct word lull_description_name(const char *description);

static inline int is_word(struct word word, const char *text)
{
	return __builtin_strlen(text) == word.bytes &&
	       !__builtin_memcmp(word.text, text, word.bytes);
}

static inline int is_same_word(struct word a, struct word b)
{
	return a.bytes == b.bytes && !__builtin_memcmp(a.text, b.text, a.bytes);
}

#endif
