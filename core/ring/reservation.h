/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One step of the write count, as core hands it to a port's lull_publish().
 *
 * Paper: B 4.3.1 (the LCAS of algorithms 1, 2 and 4); port/PORT.md says what each port does.
 */
#ifndef LULL_RESERVATION_H
#define LULL_RESERVATION_H

#include <stdint.h>
#include "lull/abi/session.h"

struct lull_reservation {
	struct lull_ring_shared *shared;
	uint64_t expect; /* the write count it starts from */
	uint64_t until; /* the write count it ends with */
	uint64_t run; /* new value of shared->run */
	uint64_t cycles; /* new value of shared->last_cycles */
	uint64_t physical; /* new value of shared->physical: the same while a run goes on */
	void *slot_low; /* first word of the slot */
	void *slot_high; /* second word, or scratch where the slot has only one */
	uint32_t mark_low; /* what to leave there: a hole, an end, or a final header */
	uint32_t mark_high;
	uint32_t cpu; /* the CPU whose ring it is */
	long place; /* lull_place() of the calling thread */
};

#endif
