// SPDX-License-Identifier: MIT
/*
 * What an event costs on this machine: events are recorded into a ring of this process's own, once,
 * when a recording that has a budget begins. The ring is a plain one, whose reservations cost a
 * little more than those of a CPU's ring: the estimate is not too low on that account.
 */
#include <sys/mman.h>
#include <time.h>
#include "ring.h"

#define ROUNDS 8
#define EVENTS 4000
#define PAYLOAD_BYTES 16
#define SUBBUF_BYTES 4096u
#define SUBBUF_COUNT 2u
#define PHYSICAL_COUNT 64u
#define DATA_BYTES (PHYSICAL_COUNT * (size_t)SUBBUF_BYTES)
#define CONTROL_BYTES 16384u

uint64_t lull_consumer_event_ps(void);

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t round_ns(struct lull_ring *ring)
{
	struct lull_ring_writer writer = { .pid = 1, .tid = 1 };
	struct lull_ring_slot slot;
	uint64_t begin = now_ns();

	for (int i = 0; i < EVENTS; i++) {
		if (lull_ring_reserve(ring, &writer, LULL_EVENT_FIRST, PAYLOAD_BYTES, &slot))
			return UINT64_MAX;
		__builtin_memset(slot.payload, i, PAYLOAD_BYTES);
		lull_ring_commit(&slot);
	}
	return now_ns() - begin;
}

/* Picoseconds of one event, in the fastest of some rounds; 0 where that cannot be found out. */
uint64_t lull_consumer_event_ps(void)
{
	struct lull_ring_geometry geometry = { .subbuf_size_bytes = SUBBUF_BYTES,
					       .subbuf_count = SUBBUF_COUNT,
					       .physical_count = PHYSICAL_COUNT,
					       .mode = LULL_MODE_FLIGHT_RECORDER,
					       .plain = 1 };
	unsigned char *memory = mmap(NULL, CONTROL_BYTES + DATA_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct lull_ring_memory data = { memory + CONTROL_BYTES, NULL };
	uint64_t least = UINT64_MAX;
	struct lull_ring ring;

	if (memory == MAP_FAILED)
		return 0;
	if (!lull_ring_check(&geometry) && lull_ring_control_bytes(&geometry) <= CONTROL_BYTES) {
		lull_ring_attach(&ring, &geometry, memory, data);
		lull_ring_reset(&ring, 0);
		for (int i = 0; i < ROUNDS; i++) {
			uint64_t taken = round_ns(&ring);

			least = taken < least ? taken : least;
		}
	}
	munmap(memory, CONTROL_BYTES + DATA_BYTES);
	return least == UINT64_MAX ? 0 : least * 1000 / EVENTS;
}
