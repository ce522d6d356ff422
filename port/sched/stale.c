// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Loads of old values: what SCHED_STALE adds to the store buffers.
 *
 * When a store lands, the former contents of its bytes are kept for each other CPU, as a version.
 * Until that CPU orders its loads, a load there may still return the version, as if the load had
 * happened earlier than the program order says. Versions are kept in the order in which they came,
 * so that undoing those of some bytes from the newest on gives every value that the bytes had.
 *
 * - A load that has returned a version has seen all stores to the place before that: the older
 *   versions of it are spent. Loads of one place so stay in order.
 * - Loads after an acquire load are not earlier than it, and it may have happened as soon as the
 *   value that it returned had landed: all versions up to then are forgotten, no others. Therefore
 *   spent versions stay, as marks in time, while an older version is not spent.
 * - Barriers, and operations that land stores themselves, happen now: all versions are forgotten.
 *
 * Paper: the load side of T 7.3's out-of-order memory model.
 */
#include <string.h>
#include "world.h"

static int ends_staleness(const struct op *op)
{
	switch (op->kind) {
	case OP_FENCE:
	case OP_HEAVY:
	case OP_LOCK:
	case OP_FUTEX_WAIT:
		return 1;
	case OP_CAS:
	case OP_ADD:
	case OP_EXCHANGE:
		return op->full;
	}
	return 0;
}

/*
 * Whether a thread of @cpu may load before it forgets all versions. Threads that have not started
 * forget as they do, so only those that have count, by their pending access.
 */
static int someone_reads(uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < fixture.thread_count; i++)
		if (world.thread[i].state == THREAD_READY && world.thread[i].cpu == cpu &&
		    !ends_staleness(&world.thread[i].op))
			return 1;
	return 0;
}

void version_note(uint32_t writer, uint32_t offset, uint32_t bytes, uint64_t value)
{
	struct version version = { .offset = offset, .bytes = (uint8_t)bytes };
	uint32_t i;

	if (fixture.scenario->memory != SCHED_STALE)
		return;
	memcpy(&version.value, world.arena + offset, bytes);
	version_spend(writer, offset, bytes, 0);
	if (!memcmp(&version.value, &value, bytes))
		return;
	for (i = 0; i < fixture.cpu_count; i++) {
		struct cpu *cpu = &world.cpu[i];

		if (i == writer || !someone_reads(i))
			continue;
		if (cpu->version_count == VERSIONS_MAX)
			failure_set("a CPU may load more old values than VERSIONS_MAX");
		else
			cpu->version[cpu->version_count++] = version;
	}
}

/* The versions of these bytes that a load may return, newest first. Return: how many. */
static uint32_t versions_of(const struct cpu *cpu, uint32_t offset, uint32_t bytes, uint8_t *index)
{
	uint32_t i, count = 0;

	for (i = cpu->version_count; i-- > 0;)
		if (!cpu->version[i].spent &&
		    overlap(offset, bytes, cpu->version[i].offset, cpu->version[i].bytes))
			index[count++] = (uint8_t)i;
	return count;
}

/* Whether a spent version marks nothing that a later one of its place does not. */
static int is_idle(const struct cpu *cpu, uint32_t index)
{
	const struct version *version = &cpu->version[index];
	uint32_t i;

	for (i = index + 1; i < cpu->version_count; i++)
		if (cpu->version[i].spent && cpu->version[i].offset == version->offset &&
		    cpu->version[i].bytes == version->bytes)
			return 1;
	return 0;
}

/* Drop spent versions that mark nothing: none that is not spent is older. */
static void tidy(struct cpu *cpu)
{
	uint32_t i, kept = 0;

	for (i = 0; i < cpu->version_count; i++)
		if (!cpu->version[i].spent || (kept && !is_idle(cpu, i)))
			cpu->version[kept++] = cpu->version[i];
	cpu->version_count = kept;
}

void version_spend(uint32_t cpu, uint32_t offset, uint32_t bytes, uint32_t age)
{
	struct cpu *from = &world.cpu[cpu];
	uint8_t index[VERSIONS_MAX];
	uint32_t count = versions_of(from, offset, bytes, index);

	if (age >= count)
		return;
	for (; age < count; age++) {
		from->version[index[age]].spent = 1;
		from->version[index[age]].value = 0; /* so that equal states look equal */
	}
	tidy(from);
}

void version_acquire(uint32_t cpu, uint32_t offset, uint32_t bytes)
{
	struct cpu *from = &world.cpu[cpu];
	uint32_t i, until = 0;

	for (i = 0; i < from->version_count; i++)
		if (from->version[i].spent &&
		    overlap(offset, bytes, from->version[i].offset, from->version[i].bytes))
			until = i + 1;
	memmove(from->version, from->version + until,
		(from->version_count - until) * sizeof(from->version[0]));
	from->version_count -= until;
	tidy(from);
}

void version_forget_all(uint32_t cpu)
{
	world.cpu[cpu].version_count = 0;
}

void version_forget_unread(uint32_t cpu)
{
	if (!someone_reads(cpu))
		version_forget_all(cpu);
}

/* A CPU's own stores that have not landed are newer than any version. */
static int stored_here(const struct cpu *cpu, uint32_t offset, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < cpu->count; i++)
		if (overlap(offset, bytes, cpu->store[i].offset, cpu->store[i].bytes))
			return 1;
	return 0;
}

uint32_t version_count(uint32_t cpu, uint32_t offset, uint32_t bytes)
{
	uint8_t index[VERSIONS_MAX];

	if (!world.cpu[cpu].version_count || stored_here(&world.cpu[cpu], offset, bytes))
		return 0;
	return versions_of(&world.cpu[cpu], offset, bytes, index);
}

/* Puts into @view what @version held of the @bytes at @offset. */
static void undo(uint8_t *view, uint32_t offset, uint32_t bytes, const struct version *version)
{
	uint32_t from = version->offset > offset ? version->offset : offset;
	uint32_t until = version->offset + version->bytes;

	if (until > offset + bytes)
		until = offset + bytes;
	memcpy(view + (from - offset), (const uint8_t *)&version->value + (from - version->offset),
	       until - from);
}

uint64_t version_view(uint32_t cpu, uint32_t offset, uint32_t bytes, uint32_t age)
{
	uint64_t value = memory_view(cpu, offset, bytes);
	uint8_t index[VERSIONS_MAX];
	uint32_t i;

	versions_of(&world.cpu[cpu], offset, bytes, index);
	for (i = 0; i < age; i++)
		undo((uint8_t *)&value, offset, bytes, &world.cpu[cpu].version[index[i]]);
	version_spend(cpu, offset, bytes, age);
	return value;
}
