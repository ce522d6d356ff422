// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Memory and store buffers: where a value is until all CPUs see its store.
 *
 * Each CPU has a buffer that its threads and handlers share. Stores to overlapping bytes
 * land in order; a release store lands after all stores before it, and on TSO every store is a
 * release store; all other stores land in any order. Paper: the store side of T 7.3's out-of-order
 * memory model.
 */
#include <string.h>
#include "world.h"

struct world world;

/* Both sums over aligned words of a mix of place and value: updated as words change. */
static struct hash word_hash(uint32_t word, uint64_t value)
{
	struct hash hash = { word + 1, ~(uint64_t)word };

	absorb(&hash, value);
	absorb(&hash, word);
	return hash;
}

static uint64_t word_load(uint32_t word)
{
	uint64_t value;

	memcpy(&value, world.arena + word * 8ul, sizeof(value));
	return value;
}

void arena_hash_all(void)
{
	uint32_t word;

	world.arena_hash = (struct hash){ 0, 0 };
	for (word = 0; word < fixture.arena_bytes / 8; word++) {
		struct hash hash = word_hash(word, word_load(word));

		if (arena_plain(word * 8, 8))
			continue;
		world.arena_hash.a += hash.a;
		world.arena_hash.b += hash.b;
	}
}

uint32_t arena_offset(const void *address, size_t bytes)
{
	uintptr_t begin = (uintptr_t)world.arena;
	uintptr_t at = (uintptr_t)address;

	if (at < begin || at + bytes > begin + fixture.arena_bytes) {
		failure_set("an access of %zu bytes at %td, outside of the shared memory", bytes,
			    (const uint8_t *)address - world.arena);
		return 0;
	}
	return (uint32_t)(at - begin);
}

int arena_plain(uint32_t offset, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < fixture.plain_count; i++)
		if (overlap(offset, bytes, fixture.plain[i].offset, fixture.plain[i].bytes))
			return 1;
	return 0;
}

void memory_write(uint32_t offset, uint32_t bytes, uint64_t value)
{
	uint32_t word;

	for (word = offset / 8; word <= (offset + bytes - 1) / 8; word++) {
		struct hash hash = word_hash(word, word_load(word));

		world.arena_hash.a -= hash.a;
		world.arena_hash.b -= hash.b;
	}
	memcpy(world.arena + offset, &value, bytes);
	for (word = offset / 8; word <= (offset + bytes - 1) / 8; word++) {
		struct hash hash = word_hash(word, word_load(word));

		world.arena_hash.a += hash.a;
		world.arena_hash.b += hash.b;
	}
}

void memory_store(uint32_t cpu, uint32_t offset, uint32_t bytes, uint64_t value)
{
	version_note(cpu, offset, bytes, value);
	memory_write(offset, bytes, value);
}

uint64_t memory_view(uint32_t cpu, uint32_t offset, uint32_t bytes)
{
	const struct cpu *buffer = &world.cpu[cpu];
	uint8_t view[8] = { 0 };
	uint64_t value;
	uint32_t i;

	memcpy(view, world.arena + offset, bytes);
	for (i = 0; i < buffer->count; i++) {
		const struct store *store = &buffer->store[i];
		uint32_t from = store->offset > offset ? store->offset : offset;
		uint32_t until = store->offset + store->bytes;

		if (!overlap(store->offset, store->bytes, offset, bytes))
			continue;
		if (until > offset + bytes)
			until = offset + bytes;
		memcpy(view + (from - offset),
		       (const uint8_t *)&store->value + (from - store->offset), until - from);
	}
	memcpy(&value, view, sizeof(value));
	return value;
}

uint64_t sched_newest(const uint64_t *address)
{
	uint32_t offset = arena_offset(address, sizeof(*address));
	uint64_t value, memory;
	uint32_t cpu;

	memcpy(&memory, world.arena + offset, sizeof(memory));
	for (cpu = 0; cpu < fixture.cpu_count; cpu++) {
		value = memory_view(cpu, offset, 8);
		if (value != memory)
			return value;
	}
	return memory;
}

static uint32_t group_until(const struct cpu *buffer, uint32_t index)
{
	for (index++; index < buffer->count && !buffer->store[index].first; index++)
		;
	return index;
}

static uint32_t group_begin(const struct cpu *buffer, uint32_t index)
{
	while (!buffer->store[index].first)
		index--;
	return index;
}

static void mark_group(const struct cpu *buffer, uint8_t *mark, uint32_t index)
{
	uint32_t i;

	for (i = group_begin(buffer, index); i < group_until(buffer, index); i++)
		mark[i] = 1;
}

/* Extend mark by the stores that must land before it. Bound: each round marks at least one more. */
static void mark_earlier(const struct cpu *buffer, uint8_t *mark)
{
	uint32_t i, j;
	int again = 1;

	while (again) {
		again = 0;
		for (i = 1; i < buffer->count; i++) {
			const struct store *late = &buffer->store[i];

			for (j = 0; mark[i] && j < i; j++) {
				const struct store *early = &buffer->store[j];

				if (mark[j] ||
				    (!late->release && !overlap(early->offset, early->bytes,
								late->offset, late->bytes)))
					continue;
				mark_group(buffer, mark, j);
				again = 1;
			}
		}
	}
}

static void land_marked(uint32_t cpu, const uint8_t *mark, int detail)
{
	struct cpu *buffer = &world.cpu[cpu];
	uint32_t i, kept = 0, landed = 0;

	for (i = 0; i < buffer->count; i++) {
		struct store *store = &buffer->store[i];

		if (!mark[i]) {
			buffer->store[kept++] = *store;
			continue;
		}
		landed++;
		if (tracing && detail)
			trace_store(cpu, store);
		if (store->unlocks)
			memory_write(store->offset, store->bytes, store->value);
		else
			memory_store(cpu, store->offset, store->bytes, store->value);
	}
	buffer->count = kept;
	if (tracing && landed && !detail)
		fprintf(tracing, "\t  CPU %u: %u stores land\n", cpu, landed);
}

void buffer_land(uint32_t cpu, uint32_t index)
{
	uint8_t mark[STORES_MAX] = { 0 };

	mark_group(&world.cpu[cpu], mark, index);
	mark_earlier(&world.cpu[cpu], mark);
	land_marked(cpu, mark, 1);
}

void buffer_land_all(uint32_t cpu)
{
	uint8_t mark[STORES_MAX];

	if (!world.cpu[cpu].count)
		return;
	memset(mark, 1, sizeof(mark));
	land_marked(cpu, mark, 0);
}

void buffer_land_bytes(uint32_t cpu, uint32_t offset, uint32_t bytes)
{
	uint8_t mark[STORES_MAX] = { 0 };
	uint32_t i;

	for (i = 0; i < world.cpu[cpu].count; i++)
		if (overlap(offset, bytes, world.cpu[cpu].store[i].offset,
			    world.cpu[cpu].store[i].bytes))
			mark_group(&world.cpu[cpu], mark, i);
	mark_earlier(&world.cpu[cpu], mark);
	land_marked(cpu, mark, 0);
}

void buffer_land_ordered(uint32_t cpu)
{
	uint8_t mark[STORES_MAX] = { 0 };
	uint32_t i;

	for (i = 0; i < world.cpu[cpu].count; i++)
		mark[i] = world.cpu[cpu].store[i].ordered;
	land_marked(cpu, mark, 0);
}

void buffer_order(uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < world.cpu[cpu].count; i++)
		world.cpu[cpu].store[i].ordered = 1;
}

void buffer_push(uint32_t cpu, const struct store *store)
{
	struct cpu *buffer = &world.cpu[cpu];

	if (fixture.scenario->memory == SCHED_SC || store->thread == NO_THREAD) {
		memory_write(store->offset, store->bytes, store->value);
		return;
	}
	if (buffer->count == STORES_MAX)
		buffer_land(cpu, 0); /* a full buffer drains from its oldest store */
	buffer->store[buffer->count] = *store;
	/* Stores that only a compiler can reorder still need their light barrier: see OP_HEAVY. */
	buffer->store[buffer->count].release |= fixture.scenario->memory == SCHED_TSO;
	buffer->count++;
}
