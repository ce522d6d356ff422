// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recorder of session.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "lull_port.h"
#include "../layout.h"
#include "session.h"

/* The recorder never writes events. */
__thread struct rseq *lull_rseq_area;

static struct recorder *at_barrier;

/* The reader's half of the kernel's light barriers is a call of the kernel's. */
void lull_barrier_heavy(void)
{
	ioctl(at_barrier->descriptor, LULL_KERNEL_BARRIER);
}

struct lull_kernel_plan plan_of(const char *patterns, uint32_t mode)
{
	return (struct lull_kernel_plan){
		.bytes = sizeof(struct lull_kernel_plan),
		.uuid = "0123456789abcde",
		.mode = mode,
		.stream_id = 3,
		.subbuf_size_bytes = 1 << 16,
		.subbuf_count = 8,
		.spare_count = 1,
		.patterns = (uintptr_t)patterns,
		.patterns_bytes = (uint32_t)strlen(patterns) + 1,
	};
}

static void rings_attach(struct recorder *recorder)
{
	const struct lull_session_control *layout = &recorder->layout;

	recorder->rings = aligned_alloc(128, layout->cpu_count * sizeof(*recorder->rings));
	recorder->spares = calloc(layout->cpu_count, sizeof(*recorder->spares));
	recorder->seen = calloc(layout->cpu_count, sizeof(*recorder->seen));
	for (uint32_t cpu = 0; cpu < layout->cpu_count; cpu++) {
		struct lull_ring_geometry geometry = lull_layout_geometry(layout, cpu);
		unsigned char *control = recorder->base + layout->rings_offset_bytes +
					 cpu * layout->ring_stride_bytes;
		unsigned char *data = recorder->base + layout->data_offset_bytes +
				      cpu * layout->data_stride_bytes;

		lull_ring_attach(&recorder->rings[cpu], &geometry, control,
				 (struct lull_ring_memory){ .base = data });
		recorder->spares[cpu] = layout->subbuf_count;
	}
}

int recorder_open(struct recorder *recorder, struct lull_kernel_plan *plan)
{
	int error;

	*recorder = (struct recorder){ .descriptor = open(LULL_KERNEL_DEVICE, O_RDWR | O_CLOEXEC) };
	if (recorder->descriptor < 0)
		return errno;
	if (ioctl(recorder->descriptor, LULL_KERNEL_PLAN, plan))
		goto failed;
	recorder->base = mmap(NULL, plan->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			      recorder->descriptor, 0);
	if (recorder->base == MAP_FAILED)
		goto failed;
	memcpy(&recorder->layout, recorder->base, sizeof(recorder->layout));
	rings_attach(recorder);
	return 0;
failed:
	error = errno;
	close(recorder->descriptor);
	return error;
}

void recorder_close(struct recorder *recorder)
{
	munmap(recorder->base, recorder->layout.memory_bytes);
	close(recorder->descriptor);
	free(recorder->rings);
	free(recorder->spares);
	free(recorder->seen);
}

struct lull_kernel_enable recorder_enable(struct recorder *recorder)
{
	struct lull_kernel_enable enable = { .bytes = sizeof(enable) };

	ioctl(recorder->descriptor, LULL_KERNEL_ENABLE, &enable);
	return enable;
}

char *recorder_description(const struct recorder *recorder, uint32_t id)
{
	const struct lull_session_control *layout = &recorder->layout;
	const struct lull_event_entry *entry =
		(const void *)(recorder->base + layout->events_offset_bytes + id * sizeof(*entry));
	uint32_t offset, length;

	if (id >= layout->event_capacity)
		return NULL;
	offset = lull_load32_acquire(&entry->offset_bytes);
	length = entry->length_bytes;
	if (!offset || offset - 1 > layout->arena_bytes ||
	    length > layout->arena_bytes - (offset - 1))
		return NULL;
	return strndup((char *)recorder->base + layout->arena_offset_bytes + offset - 1, length);
}

uint32_t recorder_event(const struct recorder *recorder, const char *name)
{
	uint32_t found = 0;

	for (uint32_t id = 1; id < recorder->layout.event_capacity && !found; id++) {
		char *text = recorder_description(recorder, id);

		if (text && !strncmp(text, name, strlen(name)) && text[strlen(name)] == '\n')
			found = id;
		free(text);
	}
	return found;
}

size_t recorder_field_bytes(const char *type, const unsigned char *at, size_t left)
{
	uint32_t count, bits;

	if (!strncmp(type, "str", 3))
		return strnlen((const char *)at, left) + 1;
	if (!strncmp(type, "name ", 5))
		return 16;
	if (!strncmp(type, "bool ", 5))
		return 1;
	if (!strncmp(type, "enum ", 5))
		return 4;
	if (!strncmp(type, "ptr ", 4))
		return 8;
	if (!strncmp(type, "aptr ", 5))
		type = "au64 ";
	if (*type != 'a' && *type != 'b')
		return (size_t)atoi(type + 1) / 8;
	if (left < sizeof(count))
		return left + 1;
	memcpy(&count, at, sizeof(count));
	bits = *type == 'b' ? 8 : (uint32_t)atoi(type + 2);
	return sizeof(count) + (size_t)count * (bits / 8);
}

/* Bytes of a description's fields, without padding; more than @left where they do not end there. */
static size_t described_bytes(const char *description, const unsigned char *at, size_t left)
{
	const char *line = description;
	size_t bytes = 0;

	for (int number = 0; line && *line; number++, line = strchr(line, '\n') + 1) {
		if (number >= 3)
			bytes += recorder_field_bytes(line, at + bytes, left - bytes);
		if (bytes > left || !strchr(line, '\n'))
			return SIZE_MAX;
	}
	return bytes;
}

/* What a walk knows of the packet. */
struct walk {
	struct recorder *recorder;
	struct recorded event;
	const char *what; /* is wrong */
	char **descriptions;
};

/* The context before an event's own fields, where the session records any. */
static size_t context_bytes(struct walk *walk, const unsigned char *at, size_t left)
{
	char **description = &walk->descriptions[LULL_EVENT_CONTEXT];

	if (walk->event.id < LULL_EVENT_FIRST)
		return 0;
	if (!*description)
		*description = recorder_description(walk->recorder, LULL_EVENT_CONTEXT);
	return *description ? described_bytes(*description, at, left) : 0;
}

/* Read the slot at @at. Return: its bytes, or 0 and walk->what. */
static size_t slot_read(struct walk *walk, const unsigned char *at, size_t left)
{
	struct recorded *event = &walk->event;
	size_t header_bytes = LULL_COMPACT_HEADER_BYTES, bytes;
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	event->id = word & 0xff;
	if (event->id == LULL_TAG_EXTENDED) {
		header_bytes = LULL_EXTENDED_HEADER_BYTES;
		memcpy(&event->id, at + 4, sizeof(event->id));
		memcpy(&event->cycles, at + 8, sizeof(event->cycles));
	} else {
		event->cycles += ((word >> 8) - event->cycles) & 0xffffff;
	}
	if (event->id >= walk->recorder->layout.event_capacity || header_bytes > left) {
		walk->what = "a tag that no slot has";
		return 0;
	}
	if (!walk->descriptions[event->id])
		walk->descriptions[event->id] = recorder_description(walk->recorder, event->id);
	if (!walk->descriptions[event->id]) {
		walk->what = "an event that is not described";
		return 0;
	}
	event->context = at + header_bytes;
	left -= header_bytes;
	bytes = context_bytes(walk, event->context, left);
	event->payload = event->context + bytes;
	if (bytes <= left)
		bytes += described_bytes(walk->descriptions[event->id], event->payload,
					 left - bytes);
	if (bytes > left)
		walk->what = "a payload that does not end in its packet";
	return walk->what ? 0 : header_bytes + ((bytes + 3) & ~(size_t)3);
}

static long packet_walk(struct walk *walk, const unsigned char *data, uint64_t content_bytes,
			void (*visit)(const struct recorded *event, void *context), void *context)
{
	uint64_t at = sizeof(struct lull_packet_header);
	uint64_t last = walk->recorder->seen[walk->event.cpu][1];
	long events = 0;

	/* Bound: each round goes on by the size of a slot. */
	while (at < content_bytes) {
		size_t bytes = slot_read(walk, data + at, content_bytes - at);

		if (walk->event.cycles < last)
			walk->what = "a time that runs backwards";
		if (walk->what)
			return -1;
		last = walk->event.cycles;
		if (walk->event.id == LULL_EVENT_THREAD) {
			memcpy(&walk->event.pid, walk->event.payload, 4);
			memcpy(&walk->event.tid, walk->event.payload + 4, 4);
			walk->event.name = (const char *)walk->event.payload + 8;
		} else {
			if (!walk->event.name)
				walk->what = "an event without a thread";
			events++;
			if (visit)
				visit(&walk->event, context);
		}
		at += bytes;
	}
	walk->recorder->seen[walk->event.cpu][1] = last;
	return walk->what ? -1 : events;
}

/* A full packet, or the open one without its end. */
static long subbuf_read(struct walk *walk, const struct lull_ring_subbuf *subbuf, int is_full,
			void (*visit)(const struct recorded *event, void *context), void *context)
{
	const struct lull_packet_header *header = (const void *)subbuf->data;
	uint64_t content_bytes = is_full ? header->content_size_bits / 8 : subbuf->content_bytes;
	uint64_t *next = &walk->recorder->seen[walk->event.cpu][0];

	walk->event.name = NULL;
	walk->event.cycles = header->timestamp_begin_cycles;
	if (header->magic != LULL_PACKET_MAGIC || header->cpu_id != walk->event.cpu ||
	    header->stream_id != walk->recorder->layout.stream_id)
		walk->what = "a header of another packet";
	else if (is_full && (header->packet_seq_num < *next ||
			     header->timestamp_end_cycles < header->timestamp_begin_cycles ||
			     content_bytes > walk->recorder->layout.subbuf_size_bytes))
		walk->what = "a header that contradicts itself";
	if (walk->what)
		return -1;
	*next = header->packet_seq_num + 1;
	return packet_walk(walk, subbuf->data, content_bytes, visit, context);
}

static long ring_read(struct walk *walk, uint32_t cpu,
		      void (*visit)(const struct recorded *event, void *context), void *context)
{
	struct lull_ring *ring = &walk->recorder->rings[cpu];
	struct lull_ring_subbuf subbuf;
	long events, sum = 0;
	int rounds = 4 * (int)walk->recorder->layout.subbuf_count;

	walk->event = (struct recorded){ .cpu = cpu };
	while (rounds-- && !lull_ring_get(ring, &walk->recorder->spares[cpu], &subbuf)) {
		events = subbuf_read(walk, &subbuf, 1, visit, context);
		lull_ring_put(ring, &subbuf);
		if (events < 0)
			return -1;
		sum += events;
	}
	return sum;
}

/* The ring's open sub-buffer, after the last event. */
static long ring_peek(struct walk *walk, uint32_t cpu,
		      void (*visit)(const struct recorded *event, void *context), void *context)
{
	struct lull_ring_subbuf subbuf;

	walk->event = (struct recorded){ .cpu = cpu };
	if (lull_ring_peek(&walk->recorder->rings[cpu], &subbuf))
		return 0;
	return subbuf_read(walk, &subbuf, 0, visit, context);
}

static long rings_read(struct recorder *recorder,
		       long (*read)(struct walk *walk, uint32_t cpu,
				    void (*visit)(const struct recorded *event, void *context),
				    void *context),
		       void (*visit)(const struct recorded *event, void *context), void *context)
{
	struct walk walk = { .recorder = recorder };
	long events, sum = 0;

	at_barrier = recorder;
	lull_barrier_heavy();
	walk.descriptions = calloc(recorder->layout.event_capacity, sizeof(char *));
	for (uint32_t cpu = 0; cpu < recorder->layout.cpu_count && sum >= 0; cpu++) {
		events = read(&walk, cpu, visit, context);
		if (events < 0)
			printf("  CPU %u: %s\n", cpu, walk.what);
		sum = events < 0 ? -1 : sum + events;
	}
	for (uint32_t id = 0; id < recorder->layout.event_capacity; id++)
		free(walk.descriptions[id]);
	free(walk.descriptions);
	return sum;
}

long recorder_read(struct recorder *recorder,
		   void (*visit)(const struct recorded *event, void *context), void *context)
{
	return rings_read(recorder, ring_read, visit, context);
}

long recorder_peek(struct recorder *recorder,
		   void (*visit)(const struct recorded *event, void *context), void *context)
{
	return rings_read(recorder, ring_peek, visit, context);
}

uint64_t recorder_lost(const struct recorder *recorder)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < recorder->layout.cpu_count; cpu++)
		for (int cause = 0; cause < LULL_LOST_CAUSES; cause++)
			sum += lull_ring_lost(&recorder->rings[cpu], cause);
	return sum;
}
