/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a probe gives to filters: the values of its event's fields, and which sessions ask.
 *
 * A record's mask has a second bit for each session that filters the event. While none does, a
 * probe tests that word, which it has loaded already, and does no more. Otherwise it asks a
 * function (trace.h: LULL_PROBE_FILTER) before it reserves. Design: docs/design/70-filter.md.
 */
#ifndef LULL_INPUTS_H
#define LULL_INPUTS_H

#pragma GCC system_header

#include "abi/site.h"

/* Of a record's mask: the bit that a session records the event, and that it filters it. */
#define LULL_MASK_SESSION(index) (1u << (index))
#define LULL_MASK_FILTER(index) (1u << ((index) + LULL_SESSIONS_MAX))
#define LULL_MASK_SESSIONS ((1u << LULL_SESSIONS_MAX) - 1)
#define LULL_MASK_FILTERED (LULL_MASK_SESSIONS << LULL_SESSIONS_MAX)

/*
 * Ask the filters of this occurrence: a statement in a loop, which it leaves where no session
 * records it. `filter` is called where a session has a filter, with the record, its mask and the
 * values; it returns the bits of sessions that take them. The last word is of no field: there may
 * be none.
 */
#define LULL_PROBE_ASK(filter, probe, ...)                                                      \
	if (__builtin_expect((probe)->mask & LULL_MASK_FILTERED, 0)) {                          \
		const uint64_t lull_values_[] = { LULL_EACH(LULL_FIELD_INPUT, __VA_ARGS__) 0 }; \
		(probe)->mask = filter((probe)->record, (probe)->mask, lull_values_);           \
		if (!(probe)->mask)                                                             \
			break;                                                                  \
	}

/*
 * The operation INPUT on fields (fields.h): the two words of a struct lull_filter_value. They are
 * words because gcc would align an array of structures of 16 bytes by 16, and with it the stack of
 * each probe, also where nothing is filtered.
 */
#define LULL_FIELD_INPUT(kind, line, variable, condition, message, ...) \
	LULL_INPUT_##kind(variable, __VA_ARGS__),
#define LULL_FIELD_INPUT_MANY
/* A floating-point number has no value here, and to convert one could raise an exception. */
#define LULL_INPUT_LULL_FIXED(variable, ...) LULL_IS_DOUBLE(variable) ? 0u : LULL_WORD(variable), 0
#define LULL_INPUT_LULL_NAMED(variable, ...) LULL_WORD(variable), 0
#define LULL_INPUT_LULL_STRINGS(variable, ...) variable.bytes, (uintptr_t)variable.text
#define LULL_INPUT_LULL_ARRAY(variable, ...) 0, 0

#endif
