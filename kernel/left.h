/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The note in reserved memory that says what session is there, and the check of one that was found.
 *
 * Like kernel/layout.h without the kernel's headers: kernel/test/left_test.c feeds it notes that
 * nobody wrote.
 */
#ifndef LULL_KERNEL_LEFT_H
#define LULL_KERNEL_LEFT_H

#include "layout.h"

#define LULL_LEFT_MAGIC 0x7466656c6c6c754cull /* "Lullleft" */
#define LULL_LEFT_VERSION 1u

/* The first bytes of the range. Readers of the session's mapping do not have them. */
struct lull_left_note {
	uint64_t magic; /* written last; 0 once the session has ended */
	uint32_t version;
	uint32_t bytes; /* of this structure */
	struct lull_range range;
	uint64_t begun_cycles; /* the session's clock when it was made */
	uint64_t begun_ns; /* CLOCK_REALTIME then */
	struct lull_session_control layout; /* up to what is written while tracing */
	uint64_t hash; /* FNV-1a, 64 bits, of what is before it but the magic */
};

/* What of the control block is written once, when the session is made. */
#define LULL_LEFT_FIXED_BYTES __builtin_offsetof(struct lull_session_control, arena_used_bytes)

/* lull_left_hash() - what a note's hash has to be. */
uint64_t lull_left_hash(const struct lull_left_note *note);

/*
 * lull_left_check() - can this be the note of a session that was made in this range?
 * @note: the caller's copy, of which every byte may be anything; @range_bytes, @page_bytes: of the
 * range that it was found in
 * Return: NULL when it is: then every part of its layout lies in the range, or is one that
 * lull_range_at() says is not there. Else what is wrong, for people.
 */
const char *lull_left_check(const struct lull_left_note *note, uint64_t range_bytes,
			    uint32_t page_bytes);

#endif
