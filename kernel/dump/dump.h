/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dump of a session's state: what was there before the session's events, as events.
 *
 * A work item walks over what the kernel has: threads with their credentials, files and memory
 * maps, then devices and the rest. It copies one thing at a time under the locks that protect that
 * thing, lets go of them, and records the copy. Paper: O 4.2 (state dump).
 */
#ifndef LULL_KERNEL_DUMP_H
#define LULL_KERNEL_DUMP_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* The kinds of things, each with an event of its own; kernel/dump/dump.c has their names. */
enum dump_kind {
	DUMP_THREAD,
	DUMP_PROCESS,
	DUMP_COMMAND,
	DUMP_CREDENTIALS,
	DUMP_CGROUP,
	DUMP_FILE,
	DUMP_SOCKET,
	DUMP_MAP,
	DUMP_MODULE,
	DUMP_INTERRUPT,
	DUMP_BLOCK_DEVICE,
	DUMP_NETWORK_DEVICE,
	DUMP_ADDRESS,
	DUMP_CPU,
	DUMP_KINDS
};

struct dump_count {
	uint64_t tried; /* events that were to be recorded */
	uint64_t written;
	uint64_t skipped; /* things that could not be read, because their lock was held for long */
};

struct dump {
	struct work_struct work;
	struct mutex mutex; /* orders begin and stop */
	bool is_stopping;
	uint32_t number; /* of the dump in its session, from 1 */

	/* Of the dump that runs; the work's own. */
	struct dump_count counts[DUMP_KINDS];
	struct dump_count rest; /* of begin, end and the counts themselves */
	uint32_t waits_left; /* for the reader */
	char *text; /* PATH_MAX bytes */
	bool has_maps, has_commands; /* or nobody wants them */
};

/* lull_dump_init() - make a session's dump, which does nothing yet. */
void lull_dump_init(struct dump *dump);

/*
 * lull_dump_begin() - begin a dump, if the session records any of its events.
 * Context: may sleep; the session's events are enabled, so that what changes from now on is told
 * by them. Return: 0; -ENOENT where the session records no event of a dump; -EBUSY while one runs.
 */
int lull_dump_begin(struct dump *dump);

/* lull_dump_stop() - end the dump that runs, and wait until it has ended. May sleep. */
void lull_dump_stop(struct dump *dump);

#endif
