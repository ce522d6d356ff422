/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters as tests make them: programs of one test, and the call that gives one to a session.
 */
#ifndef LULL_KERNEL_TEST_FILTER_PROGRAM_H
#define LULL_KERNEL_TEST_FILTER_PROGRAM_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "lull/abi/filter.h"
#include "session.h"
#include "site/note.h"

struct program {
	struct lull_filter head;
	struct lull_filter_test only;
	char text[64];
};

/* Is a number this one? */
static inline struct program program_of(uint8_t left, uint64_t constant)
{
	return (struct program){
		.head = { .bytes = offsetof(struct program, text), .test_count = 1 },
		.only = { .kind = LULL_FILTER_EQUAL,
			  .left = left,
			  .right = LULL_FILTER_CONSTANT,
			  .then = LULL_FILTER_ACCEPT,
			  .otherwise = LULL_FILTER_REJECT,
			  .mask = UINT64_MAX,
			  .operand = constant },
	};
}

/* Is a text this one? It has up to 63 bytes. */
static inline struct program text_program_of(uint8_t left, const char *text)
{
	struct program program = program_of(left, 0);
	size_t bytes = strlen(text);

	program.only.kind = LULL_FILTER_TEXT;
	program.only.mask = bytes;
	memcpy(program.text, text, bytes);
	program.head.bytes += (uint32_t)bytes;
	program.head.texts_bytes = (uint16_t)bytes;
	return program;
}

/* Return: 0, or errno. */
static inline int filter_give(const struct recorder *recorder, uint64_t hash,
			      const struct program *program)
{
	const size_t most = offsetof(struct program, text) + sizeof(program->text);
	struct lull_kernel_filter filter = {
		.bytes = sizeof(filter),
		.event_hash = hash,
		.program = (uintptr_t)program,
		.program_bytes = offsetof(struct program, text),
	};

	/* Where a test damages the size or the texts' size, the kernel gets what there is. */
	if ((uintptr_t)program > most)
		filter.program_bytes += program->head.texts_bytes % sizeof(program->text);
	return ioctl(recorder->descriptor, LULL_KERNEL_FILTER, &filter) ? errno : 0;
}

/* By its hash the module knows an event: from another session, which has it enabled. */
static inline uint64_t event_hash(const char *name)
{
	struct lull_kernel_plan plan = plan_of(name, LULL_MODE_DISCARD);
	struct recorder recorder;
	uint64_t hash = 0;
	char *text;

	if (recorder_open(&recorder, &plan))
		return 0;
	recorder_enable(&recorder);
	text = recorder_description(&recorder, recorder_event(&recorder, name));
	if (text)
		hash = lull_description_hash(text, strlen(text));
	free(text);
	recorder_close(&recorder);
	return hash;
}

/* A visitor, which counts those of the caller. */
static inline void events_of_this_thread(const struct recorded *event, void *count)
{
	*(long *)count += event->tid == (uint32_t)gettid();
}

#endif
