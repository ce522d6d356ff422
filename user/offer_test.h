/* SPDX-License-Identifier: MIT */
/*
 * A session as a recorder makes it, for tests of what liblull does with one: memory with a control
 * block and patterns, in a directory of its own.
 */
#ifndef LULL_USER_OFFER_TEST_H
#define LULL_USER_OFFER_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <unistd.h>
#include "../check/test.h"
#include "liblull.h"

#define NOBODY 65534
#define CPUS 2u
#define PLAIN 1u
#define RINGS (CPUS + PLAIN)
#define SUBBUF 16384u
#define SUBBUFS 2u
#define PHYSICAL 64u
#ifndef PATTERNS
#define PATTERNS "test:*"
#endif
#define PATTERNS_ROOM 256u
#define FILTERS_ROOM 512u
#define CAPACITY 64u
#define ARENA_BYTES 4096u
#define ROOM_BYTES (2ull << 20) /* behind what is needed: what is changed then fits all the same */

/* A session as a recorder makes it, in a directory of its own. */
struct offer {
	char directory[64];
	unsigned char *memory;
	int id;
	int key;
	struct lull_session_control *control;
};

static inline uint64_t up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

static inline struct lull_session_control control_good(void)
{
	struct lull_ring_geometry geometry = { .subbuf_size_bytes = SUBBUF,
					       .subbuf_count = SUBBUFS,
					       .physical_count = PHYSICAL };
	struct lull_session_control control = {
		.magic = LULL_SESSION_MAGIC,
		.version = LULL_SESSION_VERSION,
		.mode = LULL_MODE_DISCARD,
		.clock_kind = LULL_CLOCK_MONOTONIC,
		.cpu_count = CPUS,
		.plain_count = PLAIN,
		.subbuf_size_bytes = SUBBUF,
		.subbuf_count = SUBBUFS,
		.physical_count = PHYSICAL,
		.ring_stride_bytes = up(lull_ring_control_bytes(&geometry), 128),
		.data_stride_bytes = PHYSICAL * SUBBUF,
		.own_offset_bytes = sizeof(control),
		.patterns_offset_bytes = sizeof(control) + sizeof(struct lull_own_events),
		.patterns_bytes = PATTERNS_ROOM,
		.filters_bytes = FILTERS_ROOM,
		.patterns_used_bytes = { sizeof(PATTERNS) },
		.event_capacity = CAPACITY,
		.arena_bytes = ARENA_BYTES,
	};

	control.filters_offset_bytes =
		(uint32_t)up(control.patterns_offset_bytes + 2 * PATTERNS_ROOM, 64);
	control.events_offset_bytes = (uint32_t)up(
		control.filters_offset_bytes + CAPACITY * sizeof(uint32_t) + 2 * FILTERS_ROOM, 64);
	control.arena_offset_bytes =
		control.events_offset_bytes + CAPACITY * (uint32_t)sizeof(struct lull_event_entry);
	control.control_bytes = (uint32_t)up(control.arena_offset_bytes + ARENA_BYTES, 4096);
	control.rings_offset_bytes = control.control_bytes;
	control.data_offset_bytes =
		up(control.rings_offset_bytes + RINGS * control.ring_stride_bytes, 4096);
	control.memory_bytes = control.data_offset_bytes + RINGS * control.data_stride_bytes;
	return control;
}

static inline void link_make(const struct offer *offer, const char *target)
{
	char path[128];

	snprintf(path, sizeof(path), "%.63s/%s", offer->directory, LULL_SESSION_MEMORY_LINK);
	unlink(path);
	if (target && symlink(target, path))
		abort();
}

/* A key that no segment has. */
static inline int key_free(void)
{
	static int key;

	do {
		if (getrandom(&key, sizeof(key), 0) != sizeof(key))
			abort();
		key = (key & INT32_MAX) | 1;
	} while (shmget(key, 0, 0) >= 0);
	return key;
}

static inline struct offer offer_make(int mode)
{
	struct lull_session_control good = control_good();
	struct offer offer = { .directory = "/tmp/lull-attach-XXXXXX" };
	char target[32];

	offer.key = key_free();
	offer.id = shmget(offer.key, good.memory_bytes + ROOM_BYTES, IPC_CREAT | IPC_EXCL | mode);
	offer.memory = shmat(offer.id, NULL, 0);
	if (!mkdtemp(offer.directory) || offer.id < 0 || offer.memory == (void *)-1)
		abort();
	memcpy(offer.memory, &good, sizeof(good));
	memcpy(offer.memory + good.patterns_offset_bytes, PATTERNS, sizeof(PATTERNS));
	offer.control = (struct lull_session_control *)offer.memory;
	snprintf(target, sizeof(target), LULL_SESSION_MEMORY_PREFIX "%d", offer.key);
	link_make(&offer, target);
	return offer;
}

static inline void offer_end(struct offer *offer)
{
	link_make(offer, NULL);
	rmdir(offer->directory);
	shmdt(offer->memory);
	shmctl(offer->id, IPC_RMID, NULL);
}

#endif
