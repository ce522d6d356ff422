/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A ring whose states tests make by hand, in one thread: its clock is the test's, and whoever
 * reads it may be interrupted by another writer.
 */
#ifndef LULL_RING_HAND_TEST_H
#define LULL_RING_HAND_TEST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../check/test.h"
#include "ring_words.h"

#define SUBBUF 4096u
#define COUNT 4u
#define PHYSICAL (2 * COUNT)
#define EVENT_ID 9u
#define SLOT_BYTES 8u /* of an event of 4 bytes whose thread goes on */
#define BEGIN_CYCLES 1000u

__thread struct rseq *lull_rseq_area;
static struct rseq area = { .cpu_id = 3 }; /* not registered: nothing restarts */

static const struct lull_ring_writer writer = { .pid = 10, .tid = 11, .name = "writer" };
static const struct lull_ring_writer other = { .pid = 10, .tid = 12, .name = "other" };

static struct lull_ring ring;
static unsigned char *memory, *copy;
static uint32_t spare;
static uint64_t now_cycles; /* what the clock says */
static unsigned int interruptions, interrupted; /* of who reads the clock: to come, so far */

static int event_of(const struct lull_ring_writer *who)
{
	struct lull_ring_slot slot;
	int result = lull_ring_reserve(&ring, who, EVENT_ID, 4, &slot);

	if (result)
		return result;
	memset(slot.payload, 0x11, 4);
	lull_ring_commit(&slot);
	return 0;
}

/* An event in the open sub-buffer, which is closed then. */
static int packet(void)
{
	CHECK(event_of(&writer) == 0);
	return lull_ring_force_switch(&ring) != 1;
}

static int clock_read(int32_t clock, void *time)
{
	struct timespec *now = time;

	(void)clock;
	if (interruptions) {
		unsigned int rest = interruptions - 1;

		interruptions = 0;
		interrupted += event_of(&other) == 0;
		interruptions = rest;
	}
	now_cycles++;
	now->tv_sec = 0;
	now->tv_nsec = (long)now_cycles;
	return 0;
}

static void ring_begin(uint32_t mode, uint32_t plain)
{
	struct lull_ring_geometry geometry = { .subbuf_size_bytes = SUBBUF,
					       .subbuf_count = COUNT,
					       .physical_count = PHYSICAL,
					       .mode = mode,
					       .plain = plain,
					       .cpu_id = 3 };

	memory = calloc(PHYSICAL, SUBBUF);
	copy = calloc(PHYSICAL, SUBBUF);
	spare = COUNT;
	lull_ring_attach(&ring, &geometry, aligned_alloc(64, 4096),
			 (struct lull_ring_memory){ memory, NULL });
	lull_ring_reset(&ring, 0);
	lull_rseq_area = &area;
	lull_clock.gettime = clock_read;
	now_cycles = BEGIN_CYCLES;
	interruptions = interrupted = 0;
}

static void ring_end(void)
{
	free(ring.shared);
	free(memory);
	free(copy);
}

static uint64_t tag(uint32_t index)
{
	return reference_tag(ring.reference[index]);
}

static uint64_t writing(uint64_t position)
{
	return reference_state(&ring, position) | LULL_REFERENCE_WRITING;
}

static uint32_t word_at(const void *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

#endif
