// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The port's functions as scheduling points, and the calls that threads of a test make.
 *
 * A light barrier is not a step of its own: it has its effect together with its thread's next
 * access, the latest moment possible.
 */
#include <string.h>
#include "world.h"

static uint64_t access_word(uint32_t kind, const void *p, uint32_t bytes, uint64_t value,
			    uint64_t expect)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.offset = arena_offset(p, bytes);
	op.bytes = bytes;
	op.value = value;
	op.expect = expect;
	return thread_access(&op);
}

static uint64_t access_relaxed(uint32_t kind, void *p, uint32_t bytes, uint64_t value,
			       uint64_t expect)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.offset = arena_offset(p, bytes);
	op.bytes = bytes;
	op.relaxed = 1;
	op.value = value;
	op.expect = expect;
	return thread_access(&op);
}

static void access_range(uint32_t kind, const void *p, size_t bytes, const void *source,
			 void *destination)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.offset = arena_offset(p, bytes);
	op.bytes = (uint32_t)bytes;
	op.source = source;
	op.destination = destination;
	thread_access(&op);
}

uint64_t lull_load(const uint64_t *p)
{
	return access_word(OP_LOAD, p, 8, 0, 0);
}

uint64_t lull_load_acquire(const uint64_t *p)
{
	return access_word(OP_LOAD_ACQUIRE, p, 8, 0, 0);
}

void lull_store(uint64_t *p, uint64_t v)
{
	access_word(OP_STORE, p, 8, v, 0);
}

void lull_store_release(uint64_t *p, uint64_t v)
{
	access_word(OP_STORE_RELEASE, p, 8, v, 0);
}

uint32_t lull_load32(const uint32_t *p)
{
	return (uint32_t)access_word(OP_LOAD, p, 4, 0, 0);
}

void lull_store32(uint32_t *p, uint32_t v)
{
	access_word(OP_STORE, p, 4, v, 0);
}

uint32_t lull_load32_acquire(const uint32_t *p)
{
	return (uint32_t)access_word(OP_LOAD_ACQUIRE, p, 4, 0, 0);
}

void lull_store32_release(uint32_t *p, uint32_t v)
{
	access_word(OP_STORE_RELEASE, p, 4, v, 0);
}

void *lull_load_pointer(void *const *p)
{
	return (void *)(uintptr_t)access_word(OP_LOAD, p, sizeof(*p), 0, 0);
}

void lull_store_pointer(void **p, void *v)
{
	access_word(OP_STORE, p, sizeof(*p), (uintptr_t)v, 0);
}

uint64_t lull_cas(uint64_t *p, uint64_t expect, uint64_t desired)
{
	return access_word(OP_CAS, p, 8, desired, expect);
}

uint64_t lull_cas_relaxed(uint64_t *p, uint64_t expect, uint64_t desired)
{
	return access_relaxed(OP_CAS, p, 8, desired, expect);
}

uint32_t lull_cas32(uint32_t *p, uint32_t expect, uint32_t desired)
{
	return (uint32_t)access_word(OP_CAS, p, 4, desired, expect);
}

uint32_t lull_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired)
{
	return (uint32_t)access_relaxed(OP_CAS, p, 4, desired, expect);
}

uint64_t lull_add_relaxed(uint64_t *p, uint64_t v)
{
	return access_relaxed(OP_ADD, p, 8, v, 0);
}

uint32_t lull_add32_relaxed(uint32_t *p, uint32_t v)
{
	return (uint32_t)access_relaxed(OP_ADD, p, 4, v, 0);
}

uint64_t lull_add(uint64_t *p, uint64_t v)
{
	return access_word(OP_ADD, p, 8, v, 0);
}

void lull_copy(void *to, const void *from, size_t bytes)
{
	access_range(OP_COPY, to, bytes, from, NULL);
}

void lull_zero(void *to, size_t bytes)
{
	access_range(OP_ZERO, to, bytes, NULL, NULL);
}

void lull_fetch(void *to, const void *from, size_t bytes)
{
	access_range(OP_READ_RACING, from, bytes, NULL, to);
}

#define EQUAL_BYTES_MAX 64

int lull_equal(const void *shared, const void *own, size_t bytes)
{
	uint8_t found[EQUAL_BYTES_MAX];

	sched_check(bytes <= sizeof(found), "more bytes are compared than EQUAL_BYTES_MAX");
	lull_fetch(found, shared, bytes);
	return !memcmp(found, own, bytes);
}

void lull_barrier_light(void)
{
	if (current != NO_THREAD)
		world.thread[current].light = 1;
}

void lull_barrier_heavy(void)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = OP_HEAVY;
	for (op.count = 0; op.count < fixture.cpu_count; op.count++)
		thread_access(&op);
}

int lull_publish(const struct lull_reservation *r)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = OP_PUBLISH;
	op.offset = arena_offset(&r->shared->write_count, 8);
	op.bytes = 8;
	op.source = r;
	return (int)thread_access(&op);
}

/* Stores to a word of the caller's own stack need no step: no other thread sees the word. */
static void mark(void *to, uint32_t value)
{
	if ((uint8_t *)to >= world.arena && (uint8_t *)to < world.arena + SCHED_ARENA_BYTES)
		lull_store32(to, value);
	else
		memcpy(to, &value, sizeof(value));
}

int lull_publish_plain(const struct lull_reservation *r)
{
	if (lull_cas(&r->shared->write_count, r->expect, r->until) != r->expect)
		return 0;
	mark(r->slot_low, r->mark_low);
	mark(r->slot_high, r->mark_high);
	return 1;
}

uint64_t lull_clock_cycles(void)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = OP_CLOCK;
	return thread_access(&op);
}

/* Clock reads happen in program order here, also where loads may not: each is an ordered one. */
uint64_t lull_clock_cycles_ordered(void)
{
	return lull_clock_cycles();
}

uint32_t lull_cpu(void)
{
	return current == NO_THREAD ? 0 : world.thread[current].cpu;
}

void lull_port_stuck(void)
{
	if (current != NO_THREAD && world.thread[current].attempts < ATTEMPTS_MAX)
		world.thread[current].attempts++;
}

void sched_loads_now(void)
{
	if (current != NO_THREAD)
		version_forget_all(world.thread[current].cpu);
}

void sched_attempts_reset(void)
{
	if (current != NO_THREAD)
		world.thread[current].attempts = 0;
}

uint32_t sched_attempts(void)
{
	return current == NO_THREAD ? 0 : world.thread[current].attempts;
}

int sched_self(void)
{
	return (int)current;
}

int sched_host(int thread)
{
	return world.thread[thread].host == NO_THREAD ? -1 : world.thread[thread].host;
}

uint32_t sched_run_index(void)
{
	return world.thread[current].run - 1u;
}

int sched_dead(int thread)
{
	return world.thread[thread].state == THREAD_DEAD;
}

uint32_t sched_choose(uint32_t count)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = OP_CHOOSE;
	op.count = count;
	return (uint32_t)thread_access(&op);
}

void sched_read(void *to, const void *from, size_t bytes)
{
	access_range(OP_READ, from, bytes, NULL, to);
}

void sched_read_racing(void *to, const void *from, size_t bytes)
{
	access_range(OP_READ_RACING, from, bytes, NULL, to);
}

/* When a thread begins to own bytes, all stores to them but its own CPU's must have landed. */
void sched_own(const void *address, size_t bytes)
{
	uint32_t offset = arena_offset(address, bytes), cpu, i;
	struct owned *owned = &world.owned[world.owned_count];

	if (current == NO_THREAD)
		return;
	for (cpu = 0; cpu < fixture.cpu_count; cpu++)
		for (i = 0; i < world.cpu[cpu].count; i++) {
			const struct store *store = &world.cpu[cpu].store[i];

			sched_check(cpu == world.thread[current].cpu ||
					    !overlap(offset, (uint32_t)bytes, store->offset,
						     store->bytes),
				    "race: %s owns bytes whose store by %s has not landed",
				    fixture.thread[current].name,
				    fixture.thread[store->thread].name);
		}
	for (i = 0; i < world.owned_count; i++)
		sched_check(!overlap(offset, (uint32_t)bytes, world.owned[i].offset,
				     world.owned[i].bytes),
			    "race: %s and %s own the same bytes", fixture.thread[current].name,
			    fixture.thread[world.owned[i].thread].name);
	sched_check(world.owned_count < OWNED_MAX, "more ranges owned than OWNED_MAX");
	*owned = (struct owned){ offset, (uint32_t)bytes, current };
	world.owned_count++;
}

void sched_disown(const void *address, size_t bytes)
{
	uint32_t offset = arena_offset(address, bytes), i;

	if (current == NO_THREAD)
		return;
	for (i = 0; i < world.owned_count; i++)
		if (world.owned[i].offset == offset && world.owned[i].bytes == bytes &&
		    world.owned[i].thread == current)
			break;
	sched_check(i < world.owned_count, "bytes given back that were not owned");
	world.owned[i] = world.owned[--world.owned_count];
}
