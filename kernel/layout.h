/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the parts of a session of the kernel's lie: in its mapping, and in memory reserved at boot.
 *
 * Plain arithmetic on numbers, without the kernel's headers: kernel/test/left_test.c compiles it
 * for the host, and feeds it numbers that no session has.
 */
#ifndef LULL_KERNEL_LAYOUT_H
#define LULL_KERNEL_LAYOUT_H

#include "ring.h"

/* A range of reserved memory: a page for the note, the session's head, its rings' data. */
struct lull_range {
	uint64_t bytes;
	uint32_t page_bytes;
	uint32_t given_count; /* physical sub-buffers of each ring that have memory of their own */
};

/* lull_layout_geometry() - the geometry of one CPU's ring. */
struct lull_ring_geometry lull_layout_geometry(const struct lull_session_control *layout,
					       uint32_t cpu);

/*
 * lull_layout_make() - place all parts.
 * @layout: says the mode, the sub-buffers' size and number, the CPUs and the size of the patterns,
 * which are LULL_KERNEL_PATTERNS_MAX at most; the rest is filled in
 * @physical_least: physical sub-buffers that each ring needs
 * Return: 1; 0 for sizes that a session cannot have.
 */
int lull_layout_make(struct lull_session_control *layout, uint32_t physical_least,
		     uint32_t page_bytes);

/*
 * lull_range_ring() - where a ring's data begins in a reserved range.
 *
 * All physical sub-buffers of a ring lie in the range, one behind the other. Those from given_count
 * on are also those of the rings that follow, or lie behind the last ring's. No honest reference
 * names them; one that a reader made up leads to memory of the same session.
 * Return: the offset; 0 where the range has no room for the ring, or the session no such ring.
 */
uint64_t lull_range_ring(const struct lull_session_control *layout, const struct lull_range *range,
			 uint64_t ring);

/*
 * lull_range_at() - where a byte of a session's mapping lies in a reserved range.
 * Return: the offset; 0 where there is no memory for it.
 */
uint64_t lull_range_at(const struct lull_session_control *layout, const struct lull_range *range,
		       uint64_t at);

#endif
