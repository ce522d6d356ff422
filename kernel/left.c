// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of a note that was found in reserved memory: all of it is hostile.
 *
 * The hash finds what decayed or was written over by accident. Nothing rests on it: sizes and
 * places are believed only where they are those that this module makes of the same plan.
 */
#include "left.h"
#include "lull/abi/kernel.h"
#include "note.h"

uint64_t lull_left_hash(const struct lull_left_note *note)
{
	const char *begin = (const char *)&note->version;

	return lull_description_hash(begin, (size_t)((const char *)&note->hash - begin));
}

const char *lull_left_check(const struct lull_left_note *note, uint64_t range_bytes,
			    uint32_t page_bytes)
{
	const struct lull_session_control *found = &note->layout;
	struct lull_session_control made = {
		.magic = LULL_SESSION_MAGIC,
		.version = LULL_SESSION_VERSION,
		.mode = found->mode,
		.clock_kind = found->clock_kind,
		.cpu_count = found->cpu_count,
		.subbuf_size_bytes = found->subbuf_size_bytes,
		.subbuf_count = found->subbuf_count,
		.patterns_bytes = found->patterns_bytes,
		.user_id = found->user_id,
		.stream_id = found->stream_id,
	};

	if (note->magic != LULL_LEFT_MAGIC)
		return "no session was left there";
	if (note->version != LULL_LEFT_VERSION || note->bytes != sizeof(*note) ||
	    found->version != LULL_SESSION_VERSION)
		return "another version of this module made it";
	if (note->hash != lull_left_hash(note))
		return "its description is damaged";
	if (note->range.bytes != range_bytes || note->range.page_bytes != page_bytes)
		return "it was made in a range of another size";
	__builtin_memcpy(made.uuid, found->uuid, sizeof(made.uuid));
	if (!lull_layout_make(&made, note->range.given_count, page_bytes) ||
	    __builtin_memcmp(&made, found, LULL_LEFT_FIXED_BYTES) ||
	    !lull_range_ring(&made, &note->range, 0))
		return "it has sizes that no session has";
	return NULL;
}
