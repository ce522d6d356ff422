/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a file of kernel/dump includes: how a dump records an event, and how it goes on.
 *
 * LULL_DUMP_EVENT() is lull_event() for one session: others that record the same event have dumps
 * of their own. It needs a variable `dump`, and may sleep before the event: in discard mode it
 * waits while the ring of this CPU is in its last free sub-buffer, so that a dump loses neither its
 * own events nor those of others. Fields are evaluated with preemption off: they read copies.
 */
#ifndef LULL_KERNEL_DUMP_RECORD_H
#define LULL_KERNEL_DUMP_RECORD_H

#include <linux/path.h>
#include "dump/dump.h"
#include "probe.h"

struct task_struct;

/*
 * lull_dump_enter() - begin the probe of a dump's event, as lull_probe_enter(), and count it.
 * Return: the bit of the dump's session, or 0, and the probe has ended.
 */
uint32_t lull_dump_enter(struct dump *dump, struct dump_count *count, struct lull_slot *slot,
			 const struct lull_probe_record *record);

#define LULL_SITE_LOAD
#define LULL_PROBE_ENTER(probe) lull_dump_enter(dump, dump_count_, &(probe)->slot, (probe)->record)
#define LULL_PROBE_LEAVE(probe) lull_probe_leave(&(probe)->slot)
#define LULL_PROBE_RESERVE(probe, session, id, payload_bytes) \
	lull_slot_reserve(&(probe)->slot, session, id, payload_bytes)
#define LULL_PROBE_COMMIT(probe)                  \
	do {                                      \
		lull_slot_commit(&(probe)->slot); \
		dump_count_->written++;           \
	} while (0)
#include "lull/trace.h"

/**
 * LULL_DUMP_EVENT() - Record one thing that a dump found.
 * @count: the struct dump_count of its kind
 * @...: the name and the fields, as for lull_event()
 *
 * Context: may sleep; no lock is held.
 */
#define LULL_DUMP_EVENT(count, ...)                             \
	do {                                                    \
		struct dump_count *const dump_count_ = (count); \
                                                                \
		lull_event(__VA_ARGS__);                        \
	} while (0)

/*
 * lull_dump_goes_on() - give the CPU to others, between two things.
 * Return: false when the dump is to end.
 */
bool lull_dump_goes_on(const struct dump *dump);

/* lull_dump_wants() - does the session record an event whose name begins with @prefix? */
bool lull_dump_wants(const struct dump *dump, const char *prefix);

/*
 * lull_dump_path() - the path of a file, as /proc shows it.
 * Context: any that may take a spinlock. Return: text in @dump->text, or a text that says why not.
 */
const char *lull_dump_path(struct dump *dump, const struct path *path);

/* The parts. Each goes over all things of its kinds. */
void lull_dump_tasks(struct dump *dump);
void lull_dump_modules(struct dump *dump);
void lull_dump_interrupts(struct dump *dump);
void lull_dump_block_devices(struct dump *dump);
void lull_dump_network(struct dump *dump);
void lull_dump_addresses(struct dump *dump);
void lull_dump_cpus(struct dump *dump);

/* The parts of a task. */
void lull_dump_command(struct dump *dump, struct task_struct *task);
void lull_dump_files(struct dump *dump, struct task_struct *task);
void lull_dump_maps(struct dump *dump, struct task_struct *task);

#endif
