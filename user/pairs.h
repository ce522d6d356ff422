/* SPDX-License-Identifier: MIT */
/*
 * Pairs: the entry and the exit of a call, of which a sample has both or none.
 *
 * Place in the flow: filters.c finds out whether an event is one end of a pair of which both ends
 * are sampled alike; sampling.h then draws here, at the entry alone.
 * Design: docs/design/71-budget.md. Paper: T 4.5.
 */
#ifndef LULL_PAIRS_H
#define LULL_PAIRS_H

#include "liblull.h"

/* Which end of which pair an event is. All 0: it draws for itself. */
struct pair_end {
	uint64_t pair; /* session, rate and name of the call, as one number */
	uint64_t is_exit; /* as wide, for ends are compared byte by byte (filters.c) */
};

struct sampling;

/*
 * pairs.c: is an event one end of a pair that this session samples alike, without a filter of the
 * partner's? @sample: the event's own rate; it has no filter.
 * Context: as lull_filter_enable().
 */
struct pair_end lull_pair_find(const struct session *session, const struct lull_note *note,
			       uint32_t sample);

/*
 * pairs.c: is this occurrence of one end recorded? Of an exit, its entry's draw tells; an exit of
 * which this thread knows no entry draws for itself.
 * Context: any, async-signal-safe. Progress: wait-free.
 */
int lull_pair_draw(const struct sampling *sampling);

#endif
