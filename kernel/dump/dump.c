// SPDX-License-Identifier: GPL-2.0-only
/*
 * The course of a dump: begin, the parts, how many of each kind, end.
 *
 * The events of a session are enabled before its dump begins, so whatever changes meanwhile is told
 * by an event, too. A reader takes what the dump says of a thing unless an event since the dump's
 * begin told of that thing: the dump's copy may be older than the event, although it is recorded
 * later. docs/design/60-kernel.md has the argument. Paper: O 4.2.
 */
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "catalogue.h"
#include "dump/record.h"
#include "filtering.h"
#include "ring.h"
#include "session.h"

/* How long a dump waits for the reader, in all; then its events are lost and counted. */
#define WAIT_MS 10
#define WAITS_MAX 1000

static const char *const kind_names[DUMP_KINDS] = {
	[DUMP_THREAD] = "thread",
	[DUMP_PROCESS] = "process",
	[DUMP_COMMAND] = "command",
	[DUMP_CREDENTIALS] = "credentials",
	[DUMP_CGROUP] = "cgroup",
	[DUMP_FILE] = "file",
	[DUMP_SOCKET] = "socket",
	[DUMP_MAP] = "map",
	[DUMP_MODULE] = "module",
	[DUMP_INTERRUPT] = "interrupt",
	[DUMP_BLOCK_DEVICE] = "block_device",
	[DUMP_NETWORK_DEVICE] = "network_device",
	[DUMP_ADDRESS] = "address",
	[DUMP_CPU] = "cpu",
};

/* What a dump goes over, where the session records any event whose name begins so. */
static const struct {
	const char *prefix;
	void (*walk)(struct dump *dump);
} parts[] = {
	{ "state:", lull_dump_tasks },
	{ "state:module", lull_dump_modules },
	{ "state:interrupt", lull_dump_interrupts },
	{ "state:block_device", lull_dump_block_devices },
	{ "state:network_device", lull_dump_network },
	{ "state:address", lull_dump_addresses },
	{ "state:cpu", lull_dump_cpus },
};

static struct session *session_of(const struct dump *dump)
{
	return container_of(dump, struct session, dump);
}

/* Let the reader make room. In flight-recorder mode there always is. */
static void wait_for_room(struct dump *dump)
{
	const struct memory *memory = &session_of(dump)->memory;

	if (memory->layout.mode != LULL_MODE_DISCARD)
		return;
	while (dump->waits_left && !READ_ONCE(dump->is_stopping) &&
	       lull_ring_poll(&memory->rings[raw_smp_processor_id()]) == LULL_RING_URGENT) {
		dump->waits_left--;
		msleep(WAIT_MS);
	}
}

uint32_t lull_dump_enter(struct dump *dump, struct dump_count *count, struct lull_slot *slot,
			 const struct lull_probe_record *record)
{
	uint32_t bit = LULL_MASK_SESSION(session_of(dump)->index), sessions;

	if (!(READ_ONCE(record->enabled_mask) & bit))
		return 0;
	wait_for_room(dump);
	count->tried++;
	sessions = lull_probe_enter(slot, record);
	if (sessions && !(sessions & bit))
		lull_probe_leave(slot);
	return sessions & bit;
}

bool lull_dump_goes_on(const struct dump *dump)
{
	cond_resched();
	return !READ_ONCE(dump->is_stopping);
}

bool lull_dump_wants(const struct dump *dump, const char *prefix)
{
	return lull_catalogue_records(session_of(dump), prefix);
}

const char *lull_dump_path(struct dump *dump, const struct path *path)
{
	const char *text = d_path(path, dump->text, PATH_MAX);

	return IS_ERR(text) ? "(unreadable)" : text;
}

/* How many of each kind. Return: whether all were written. */
static bool counts_record(struct dump *dump)
{
	bool is_all = true;
	int kind;

	for (kind = 0; kind < DUMP_KINDS; kind++) {
		const struct dump_count count = dump->counts[kind];
		uint64_t lost = count.tried - count.written;

		is_all &= !lost && !count.skipped;
		if (count.tried || count.skipped)
			LULL_DUMP_EVENT(&dump->rest, "state:count",
					lull_strn(kind, kind_names[kind], 16),
					lull_u64(written, count.written), lull_u64(lost, lost),
					lull_u64(skipped, count.skipped));
	}
	return is_all;
}

static void dump_run(struct work_struct *work)
{
	struct dump *dump = container_of(work, struct dump, work);
	bool is_whole;
	size_t i;

	memset(dump->counts, 0, sizeof(dump->counts));
	dump->rest = (struct dump_count){ 0 };
	dump->waits_left = WAITS_MAX;
	dump->text = kmalloc(PATH_MAX, GFP_KERNEL);
	LULL_DUMP_EVENT(&dump->rest, "state:begin", lull_u32(number, dump->number));
	for (i = 0; dump->text && i < ARRAY_SIZE(parts); i++)
		if (lull_dump_goes_on(dump) && lull_dump_wants(dump, parts[i].prefix))
			parts[i].walk(dump);
	is_whole = dump->text && !READ_ONCE(dump->is_stopping);
	is_whole &= counts_record(dump);
	LULL_DUMP_EVENT(&dump->rest, "state:end", lull_u32(number, dump->number),
			lull_bool(is_whole, is_whole));
	kfree(dump->text);
}

void lull_dump_init(struct dump *dump)
{
	mutex_init(&dump->mutex);
	INIT_WORK(&dump->work, dump_run);
}

int lull_dump_begin(struct dump *dump)
{
	int error = -ENOENT;

	mutex_lock(&dump->mutex);
	if (lull_dump_wants(dump, "state:"))
		error = work_busy(&dump->work) ? -EBUSY : 0;
	if (!error) {
		WRITE_ONCE(dump->is_stopping, false);
		dump->number++;
		queue_work(system_unbound_wq, &dump->work);
	}
	mutex_unlock(&dump->mutex);
	return error;
}

void lull_dump_stop(struct dump *dump)
{
	mutex_lock(&dump->mutex);
	WRITE_ONCE(dump->is_stopping, true);
	flush_work(&dump->work);
	mutex_unlock(&dump->mutex);
}
