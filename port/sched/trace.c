// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A failing schedule, one line per step: which thread did what to which word.
 */
#include <string.h>
#include "world.h"

#define NAMES_MAX 64

struct name {
	uint32_t begin, until;
	const char *text;
};

static struct name names[NAMES_MAX];
static uint32_t name_count;

void trace_reset(void)
{
	name_count = 0;
}

void sched_name(const void *address, size_t bytes, const char *text)
{
	uint32_t offset = arena_offset(address, bytes);

	if (name_count < NAMES_MAX)
		names[name_count++] = (struct name){ offset, offset + (uint32_t)bytes, text };
}

/* The narrowest name that covers it. */
static const char *place(uint32_t offset)
{
	static char text[64];
	const struct name *best = NULL;
	uint32_t i;

	for (i = 0; i < name_count; i++)
		if (offset >= names[i].begin && offset < names[i].until &&
		    (!best || names[i].until - names[i].begin < best->until - best->begin))
			best = &names[i];
	if (best && offset == best->begin)
		snprintf(text, sizeof(text), "%s", best->text);
	else if (best)
		snprintf(text, sizeof(text), "%s+%u", best->text, offset - best->begin);
	else
		snprintf(text, sizeof(text), "+%u", offset);
	return text;
}

static const char *thread_name(uint32_t thread)
{
	return thread == NO_THREAD ? "explorer" : fixture.thread[thread].name;
}

static const char *const verb[] = {
	[OP_LOAD] = "load",
	[OP_LOAD_ACQUIRE] = "load-acquire",
	[OP_STORE] = "store",
	[OP_STORE_RELEASE] = "store-release",
	[OP_CAS] = "cas",
	[OP_ADD] = "add",
	[OP_COPY] = "copy",
	[OP_ZERO] = "zero",
	[OP_HEAVY] = "heavy barrier",
	[OP_PUBLISH] = "publish",
	[OP_CLOCK] = "clock",
	[OP_READ] = "read",
	[OP_READ_RACING] = "racing read",
	[OP_CHOOSE] = "choose",
	[OP_FENCE] = "fence",
	[OP_EXCHANGE] = "exchange",
	[OP_LOCK] = "lock",
	[OP_TRYLOCK] = "try lock",
	[OP_UNLOCK] = "unlock",
	[OP_FUTEX_WAIT] = "futex wait",
	[OP_FUTEX_WAKE] = "futex wake",
	[OP_COUNT] = "count",
	[OP_REPLACE] = "replace",
};

void trace_step(uint32_t thread, const struct op *op, uint32_t variant, uint64_t result)
{
	unsigned long long value = op->value, expect = op->expect, found = result;

	fprintf(tracing, "\t%-10s %-13s ", thread_name(thread), verb[op->kind]);
	switch (op->kind) {
	case OP_LOAD:
	case OP_LOAD_ACQUIRE:
		fprintf(tracing, "%s = 0x%llx%s\n", place(op->offset), found,
			variant ? ", an old value" : "");
		break;
	case OP_STORE:
	case OP_STORE_RELEASE:
	case OP_EXCHANGE:
		fprintf(tracing, "%s <- 0x%llx\n", place(op->offset), value);
		break;
	case OP_ADD:
		fprintf(tracing, "%s + 0x%llx = 0x%llx\n", place(op->offset), value, found);
		break;
	case OP_CAS:
		fprintf(tracing, "%s 0x%llx -> 0x%llx, %s 0x%llx\n", place(op->offset), expect,
			value, found == expect ? "done, found" : "refused, found", found);
		break;
	case OP_PUBLISH:
		value = ((const struct lull_reservation *)op->source)->until;
		expect = ((const struct lull_reservation *)op->source)->expect;
		fprintf(tracing, "0x%llx -> 0x%llx, ", expect, value);
		if (variant)
			fprintf(tracing, "interrupted after %u stores\n", variant - 1);
		else
			fprintf(tracing, "%s\n", found ? "done" : "refused");
		break;
	case OP_FENCE:
		fprintf(tracing, "\n");
		break;
	case OP_LOCK:
	case OP_TRYLOCK:
		fprintf(tracing, "%s, %s\n", place(op->offset), found ? "taken" : "busy");
		break;
	case OP_FUTEX_WAIT:
		fprintf(tracing, "%s while 0x%llx, %s\n", place(op->offset), value,
			world.thread[thread].asleep ? "sleeps" : "goes on");
		break;
	case OP_HEAVY:
		fprintf(tracing, "reaches CPU %u\n", op->count);
		break;
	case OP_CLOCK:
	case OP_CHOOSE:
		fprintf(tracing, "= %llu\n", found);
		break;
	default:
		fprintf(tracing, "%s, %u bytes\n", place(op->offset), op->bytes);
	}
}

void trace_event(uint32_t thread, const char *what, uint32_t number)
{
	fprintf(tracing, "\t%-10s %s %u\n", thread_name(thread), what, number);
}

void trace_store(uint32_t cpu, const struct store *store)
{
	fprintf(tracing, "\t  CPU %u: %s <- 0x%llx lands, %u bytes, by %s\n", cpu,
		place(store->offset), (unsigned long long)store->value, store->bytes,
		thread_name(store->thread));
}
