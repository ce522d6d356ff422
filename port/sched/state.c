// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A state of the simulated machine: its snapshot, and the key that identifies it.
 *
 * The key covers shared memory (its sum is kept up to date by buffer.c), ghost memory, store
 * buffers in order, the old values that may be loaded, each thread's stack and registers, race
 * flags and what is left of the bounds: all that decides what can happen next. States with equal
 * keys are taken for equal.
 */
#include <string.h>
#include "world.h"

static size_t move(uint8_t *snapshot, void *memory, size_t bytes, int save)
{
	if (save)
		memcpy(snapshot, memory, bytes);
	else
		memcpy(memory, snapshot, bytes);
	return bytes;
}

size_t state_move(uint8_t *at, int save)
{
	uint8_t *begin = at;
	uint32_t i;

	at += move(at, &world, offsetof(struct world, arena), save);
	at += move(at, world.arena, fixture.arena_bytes, save);
	for (i = 0; i < fixture.cpu_count; i++) {
		struct cpu *cpu = &world.cpu[i];

		at += move(at, &cpu->count, offsetof(struct cpu, store), save);
		at += move(at, cpu->store, cpu->count * sizeof(cpu->store[0]), save);
		at += move(at, cpu->version, cpu->version_count * sizeof(cpu->version[0]), save);
	}
	for (i = 0; i < fixture.thread_count; i++) {
		uint8_t *from = world.thread[i].stack_pointer;

		if (world.thread[i].state == THREAD_READY)
			at += move(at, from, (size_t)(thread_stack_top(i) - from), save);
	}
	return (size_t)(at - begin);
}

static void absorb_bytes(struct hash *key, const void *from, size_t bytes)
{
	const uint64_t *word = from;

	for (; bytes >= 8; bytes -= 8)
		absorb(key, *word++);
}

struct hash state_key(void)
{
	struct hash key = world.arena_hash;
	uint32_t i, j;

	absorb_bytes(&key, world.ghost, (fixture.ghost_bytes + 7) & ~7ul);
	for (i = 0; i < fixture.plain_count; i++)
		absorb_bytes(&key, world.arena + fixture.plain[i].offset, fixture.plain[i].bytes);
	for (i = 0; i < fixture.thread_count; i++) {
		const struct thread *thread = &world.thread[i];

		absorb(&key, thread->stack_hash.a);
		absorb(&key, thread->stack_hash.b);
		absorb(&key,
		       (uint64_t)thread->state | (uint64_t)thread->cpu << 8 |
			       (uint64_t)thread->runs_left << 16 |
			       (uint64_t)thread->refusals_left << 24 |
			       (uint64_t)thread->copying << 30 | (uint64_t)thread->light << 31 |
			       (uint64_t)thread->asleep << 38 | (uint64_t)thread->woken << 39 |
			       (uint64_t)thread->attempts << 32);
	}
	for (i = 0; i < fixture.cpu_count; i++)
		for (j = 0; j < world.cpu[i].count; j++) {
			const struct store *store = &world.cpu[i].store[j];

			absorb(&key, (uint64_t)store->offset | (uint64_t)store->bytes << 32 |
					     (uint64_t)store->thread << 40 |
					     (uint64_t)store->first << 48 |
					     (uint64_t)store->release << 49 |
					     (uint64_t)store->ordered << 50 | (uint64_t)i << 56);
			absorb(&key, store->value);
		}
	for (i = 0; i < fixture.cpu_count; i++)
		for (j = 0; j < world.cpu[i].version_count; j++) {
			const struct version *version = &world.cpu[i].version[j];

			absorb(&key, (uint64_t)version->offset | (uint64_t)version->bytes << 32 |
					     (uint64_t)version->spent << 40 |
					     (uint64_t)(i + 1) << 56);
			absorb(&key, version->value);
		}
	for (i = 0; i < world.owned_count; i++)
		absorb(&key, (uint64_t)world.owned[i].offset << 32 | world.owned[i].bytes << 8 |
				     world.owned[i].thread);
	absorb(&key, (uint64_t)world.crashes_left | (uint64_t)world.migrations_left << 8 |
			     (uint64_t)world.preemptions_left << 16 |
			     (uint64_t)world.slices_left << 24 | (uint64_t)world.last << 32 |
			     (uint64_t)world.wakeups_left << 40);
	for (i = 0; i < fixture.cpu_count; i++)
		absorb(&key, world.last_on[i]);
	if (!key.a && !key.b)
		key.a = 1;
	return key;
}
