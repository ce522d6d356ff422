/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recorder of the kernel's events, as small as tests need it: plan, map, enable, read packets.
 *
 * Packets are read by core/ring/reader.c, and walked by descriptions from the session's table:
 * every byte of a packet has to be accounted for.
 */
#ifndef LULL_KERNEL_TEST_SESSION_H
#define LULL_KERNEL_TEST_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include "lull/abi/kernel.h"
#include "ring/ring.h"

struct recorder {
	int descriptor;
	unsigned char *base; /* the mapping */
	struct lull_session_control layout;
	struct lull_ring *rings;
	uint32_t *spares;
	uint64_t (*seen)[2]; /* of each ring: its next packet, and the time of its last event */
};

/* One event of a packet. */
struct recorded {
	uint32_t cpu;
	uint32_t id;
	uint64_t cycles;
	uint32_t pid; /* of the run */
	uint32_t tid;
	const char *name; /* of the thread */
	const unsigned char *context; /* before the payload, where the session records any */
	const unsigned char *payload;
};

/* A plan that every machine can have. */
struct lull_kernel_plan plan_of(const char *patterns, uint32_t mode);

/* Opens the device, plans and maps. Return: 0, or errno. */
int recorder_open(struct recorder *recorder, struct lull_kernel_plan *plan);
void recorder_close(struct recorder *recorder);

/* Return: what the call answers, or zeros and errno. */
struct lull_kernel_enable recorder_enable(struct recorder *recorder);

/* The identifier of an event by its name. Return: 0 where the table does not have it. */
uint32_t recorder_event(const struct recorder *recorder, const char *name);

/* An event's description, NUL-terminated, to be freed; NULL where the table has none. */
char *recorder_description(const struct recorder *recorder, uint32_t id);

/*
 * Bytes of one field at @at, by its line in the description. Return: more than @left where it does
 * not end there.
 */
size_t recorder_field_bytes(const char *line, const unsigned char *at, size_t left);

/*
 * Reads all that is in the rings, once. Return: how many events, or -1 where a packet is not as it
 * has to be; then a line says what is wrong.
 */
long recorder_read(struct recorder *recorder,
		   void (*visit)(const struct recorded *event, void *context), void *context);

/* The same for sub-buffers that are open, which stay as they are. */
long recorder_peek(struct recorder *recorder,
		   void (*visit)(const struct recorded *event, void *context), void *context);

/* The sum of the counts of lost events. */
uint64_t recorder_lost(const struct recorder *recorder);

#endif
