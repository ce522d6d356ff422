// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What each access of the port does to the simulated machine.
 *
 * In a thread, a lull_ function notes the access and switches to the explorer (thread.c). When the
 * explorer picks that thread, it gives the access its effect here. In setup and finish, the same
 * functions have their effect at once.
 */
#include <stdlib.h>
#include <string.h>
#include "world.h"

#define DIRECT_CPU 0u
#define PUBLISH_STORES 5u

/* Race flags: no other thread accesses the bytes that a thread owns. */
static void owned_check(uint32_t thread, uint32_t offset, uint32_t bytes, const char *verb)
{
	uint32_t i;

	for (i = 0; i < world.owned_count; i++) {
		const struct owned *owned = &world.owned[i];

		if (owned->thread == thread || !overlap(offset, bytes, owned->offset, owned->bytes))
			continue;
		failure_set("race: %s %s bytes that %s owns",
			    thread == NO_THREAD ? "the explorer" : fixture.thread[thread].name,
			    verb, fixture.thread[owned->thread].name);
	}
}

static uint32_t cpu_of(uint32_t thread)
{
	return thread == NO_THREAD ? DIRECT_CPU : world.thread[thread].cpu;
}

/* Memory that only its thread sees: a word of its own stack, or anything in setup and finish. */
static int private(uint32_t thread, uintptr_t at)
{
	uintptr_t stacks = (uintptr_t)thread_stack_top(0) - STACK_BYTES;
	uintptr_t arena = (uintptr_t)world.arena;

	if (at >= arena && at < arena + SCHED_ARENA_BYTES)
		return 0;
	return thread == NO_THREAD ||
	       (at >= stacks && at < stacks + SCHED_THREADS_MAX * STACK_BYTES);
}

/* One store of up to 8 bytes. */
static void put(uint32_t thread, void *to, uint32_t bytes, uint64_t value, int first, int release)
{
	struct store store = { .bytes = (uint8_t)bytes,
			       .thread = (uint8_t)thread,
			       .first = (uint8_t)first,
			       .release = (uint8_t)release };

	if (private(thread, (uintptr_t)to)) {
		memcpy(to, &value, bytes);
		return;
	}
	store.offset = arena_offset(to, bytes);
	memcpy(&store.value, &value, bytes);
	if (failed)
		return;
	owned_check(thread, store.offset, bytes, "writes");
	buffer_push(cpu_of(thread), &store);
}

/* Bytes of one copy or zeroing; 8-byte pieces that land together. */
static void put_range(uint32_t thread, uint32_t offset, const uint8_t *from, uint32_t bytes)
{
	uint32_t done = 0;

	while (done < bytes && !failed) {
		uint32_t piece = 8 - (offset + done) % 8;
		uint64_t value = 0;

		if (piece > bytes - done)
			piece = bytes - done;
		if (from)
			memcpy(&value, from + done, piece);
		put(thread, world.arena + offset + done, piece, value, done == 0, 0);
		done += piece;
	}
}

/* @age: how many of the stores that landed last it does not see. */
static uint64_t load(uint32_t thread, const struct op *op, uint32_t age)
{
	uint64_t found;

	if (thread == NO_THREAD) /* looks on, and leaves all as it is */
		return memory_view(DIRECT_CPU, op->offset, op->bytes);
	found = version_view(world.thread[thread].cpu, op->offset, op->bytes, age);
	if (op->kind == OP_LOAD_ACQUIRE)
		version_acquire(world.thread[thread].cpu, op->offset, op->bytes);
	return found;
}

static uint64_t read_modify_write(uint32_t thread, const struct op *op)
{
	int relaxed = op->relaxed || (op->kind == OP_ADD && LULL_MUTANT(ADD_RELAXED));
	uint32_t cpu = cpu_of(thread);
	uint64_t found;

	if (!relaxed || fixture.scenario->memory == SCHED_TSO)
		buffer_land_all(cpu);
	else
		buffer_land_bytes(cpu, op->offset, op->bytes);
	found = memory_view(cpu, op->offset, op->bytes);
	version_spend(cpu, op->offset, op->bytes, 0);
	if (op->full || (op->kind == OP_CAS && found == op->expect && !op->relaxed))
		version_forget_all(cpu);
	if (op->kind == OP_ADD) {
		owned_check(thread, op->offset, op->bytes, "writes");
		memory_store(cpu, op->offset, op->bytes, found + op->value);
		return found + op->value;
	}
	if (op->kind == OP_EXCHANGE || found == op->expect) {
		owned_check(thread, op->offset, op->bytes, "writes");
		memory_store(cpu, op->offset, op->bytes, op->value);
	}
	return found;
}

/* Only what was stored to the lock itself must have landed: taking it orders nothing earlier. */
static uint64_t lock(uint32_t thread, const struct op *op)
{
	uint32_t cpu = cpu_of(thread);

	if (memory_view(cpu, op->offset, op->bytes))
		return 0;
	buffer_land_bytes(cpu, op->offset, op->bytes);
	memory_write(op->offset, op->bytes, 1u + thread);
	version_forget_all(cpu);
	return 1;
}

static void unlock(uint32_t thread, const struct op *op)
{
	struct store store = { .offset = op->offset,
			       .bytes = (uint8_t)op->bytes,
			       .thread = (uint8_t)thread,
			       .first = 1,
			       .release = 1,
			       .unlocks = 1 };

	if (memory_view(cpu_of(thread), op->offset, op->bytes) != 1u + thread)
		failure_set("a lock is released by a thread that did not take it");
	buffer_push(cpu_of(thread), &store);
}

/* A thread that was woken moves on: a wait either finds another value, or sleeps until a wake. */
static void futex_wait(uint32_t thread, const struct op *op)
{
	struct thread *self = &world.thread[thread];

	version_forget_all(self->cpu);
	if (self->woken) {
		self->woken = 0;
		return;
	}
	buffer_land_all(cpu_of(thread));
	self->asleep = memory_view(cpu_of(thread), op->offset, op->bytes) == op->value;
}

static int sleeps_on(uint32_t thread, const struct op *op)
{
	const struct thread *other = &world.thread[thread];

	return other->asleep && other->op.offset == op->offset;
}

static uint32_t sleeper_count(const struct op *op)
{
	uint32_t i, count = 0;

	for (i = 0; i < fixture.thread_count; i++)
		count += (uint32_t)sleeps_on(i, op);
	return count;
}

/* Wakes all, or one: the @variant-th. */
static void futex_wake(uint32_t thread, const struct op *op, uint32_t variant)
{
	uint32_t i, index = 0, count = sleeper_count(op);

	buffer_land_all(cpu_of(thread));
	if ((int64_t)op->value != 1 && (int64_t)op->value < (int64_t)count)
		failure_set("a wake of some, but neither one nor all");
	for (i = 0; i < fixture.thread_count; i++) {
		if (!sleeps_on(i, op))
			continue;
		if ((int64_t)op->value != 1 || index == variant) {
			world.thread[i].asleep = 0;
			world.thread[i].woken = 1;
		}
		index++;
	}
}

/* Refused after @stores stores when @stores is less than all: what an abort leaves behind. */
static void publish_stores(uint32_t thread, const struct lull_reservation *r, uint32_t stores)
{
	uint32_t physical = arena_offset(&r->shared->physical, 8);

	if (stores > 0)
		put(thread, &r->shared->run, 8, r->run, 1, 0);
	/* Only writers of this CPU look at it, so that storing what is there is no step. */
	if (stores > 1 && memory_view(cpu_of(thread), physical, 8) != r->physical &&
	    !LULL_MUTANT(NO_PHYSICAL))
		put(thread, &r->shared->physical, 8, r->physical, 1, 0);
	if (stores > 1)
		put(thread, &r->shared->last_cycles, 8, r->cycles, 1, 0);
	if (stores > 2 && !LULL_MUTANT(NO_MARK))
		put(thread, r->slot_low, 4, r->mark_low, 1, 0);
	if (stores > 3 && !LULL_MUTANT(NO_MARK))
		put(thread, r->slot_high, 4, r->mark_high, 1, 0);
	buffer_order(cpu_of(thread)); /* one piece of assembly keeps its order: a light barrier */
	if (stores > 4)
		put(thread, &r->shared->write_count, 8, r->until, 1,
		    fixture.scenario->publish_releases);
}

static int publish_possible(uint32_t thread, const struct op *op)
{
	const struct lull_reservation *r = op->source;
	uint32_t cpu = cpu_of(thread);

	return (thread == NO_THREAD || r->cpu == cpu) &&
	       memory_view(cpu, op->offset, 8) == r->expect;
}

static int step_possible(uint32_t thread, const struct op *op)
{
	uint32_t cpu = cpu_of(thread);

	return op->count == cpu &&
	       (op->kind == OP_COUNT || memory_view(cpu, op->offset, op->bytes) == op->expect);
}

/* A step of one CPU (qdo_port.h): one store, or none. */
static uint64_t cpu_step(uint32_t thread, const struct op *op, uint32_t refused)
{
	uint32_t cpu = cpu_of(thread);
	struct store store = { .offset = op->offset,
			       .bytes = (uint8_t)op->bytes,
			       .thread = (uint8_t)thread,
			       .first = 1,
			       .release = op->kind == OP_REPLACE || !LULL_MUTANT(QDO_LEAVE_RELAXED),
			       .value = op->value };

	if (refused)
		world.thread[thread].refusals_left--;
	if (refused || !step_possible(thread, op))
		return 0;
	if (op->kind == OP_COUNT)
		store.value = memory_view(cpu, op->offset, op->bytes) + 1;
	owned_check(thread, op->offset, op->bytes, "writes");
	buffer_push(cpu, &store);
	return 1;
}

/* How many old values a load may return; of a range, all as old as can be are one. */
static uint32_t load_ages(uint32_t thread, const struct op *op)
{
	uint32_t i, piece;

	if (op->kind == OP_LOAD || op->kind == OP_LOAD_ACQUIRE)
		return version_count(cpu_of(thread), op->offset, op->bytes);
	for (i = 0; i < op->bytes; i += piece) {
		piece = op->bytes - i < 8 ? op->bytes - i : 8;
		if (version_count(cpu_of(thread), op->offset + i, piece))
			return 1;
	}
	return 0;
}

/* All as new as can be, or as @old. */
static void read_range(uint32_t thread, const struct op *op, uint32_t old)
{
	uint32_t i, cpu, piece, age;

	if (op->kind == OP_READ)
		owned_check(thread, op->offset, op->bytes, "reads");
	for (cpu = 0; op->kind == OP_READ && cpu < fixture.cpu_count; cpu++)
		for (i = 0; i < world.cpu[cpu].count; i++) {
			const struct store *store = &world.cpu[cpu].store[i];

			if (cpu != cpu_of(thread) &&
			    overlap(op->offset, op->bytes, store->offset, store->bytes))
				failure_set("%s reads bytes whose store by %s has not landed",
					    fixture.thread[thread].name,
					    fixture.thread[store->thread].name);
		}
	for (i = 0; i < op->bytes; i += piece) {
		uint64_t value;

		piece = op->bytes - i < 8 ? op->bytes - i : 8;
		age = old ? version_count(cpu_of(thread), op->offset + i, piece) : 0;
		value = version_view(cpu_of(thread), op->offset + i, piece, age);
		memcpy((uint8_t *)op->destination + i, &value, piece);
	}
}

uint32_t op_variants(uint32_t thread, const struct op *op)
{
	if (op->kind == OP_CHOOSE)
		return op->count;
	if (op_loads(op) && fixture.scenario->memory == SCHED_STALE)
		return 1 + load_ages(thread, op);
	if (op->kind == OP_FUTEX_WAKE && op->value == 1 && sleeper_count(op))
		return sleeper_count(op);
	if (op->kind == OP_PUBLISH && world.thread[thread].refusals_left &&
	    publish_possible(thread, op))
		return 1 + PUBLISH_STORES;
	if ((op->kind == OP_COUNT || op->kind == OP_REPLACE) &&
	    world.thread[thread].refusals_left && step_possible(thread, op))
		return 2;
	return 1;
}

int op_loads(const struct op *op)
{
	return op->kind == OP_LOAD || op->kind == OP_LOAD_ACQUIRE || op->kind == OP_READ ||
	       op->kind == OP_READ_RACING;
}

int op_writes(const struct op *op)
{
	switch (op->kind) {
	case OP_STORE:
	case OP_STORE_RELEASE:
	case OP_CAS:
	case OP_ADD:
	case OP_COPY:
	case OP_ZERO:
	case OP_PUBLISH:
	case OP_EXCHANGE:
	case OP_LOCK:
	case OP_TRYLOCK:
	case OP_UNLOCK:
	case OP_COUNT:
	case OP_REPLACE:
		return 1;
	}
	return 0;
}

int op_lands(const struct op *op)
{
	switch (op->kind) {
	case OP_HEAVY:
	case OP_CAS:
	case OP_ADD:
	case OP_FENCE:
	case OP_EXCHANGE:
	case OP_LOCK:
	case OP_TRYLOCK:
	case OP_FUTEX_WAIT:
	case OP_FUTEX_WAKE:
		return 1;
	}
	return 0;
}

int op_blocked(uint32_t thread)
{
	const struct thread *self = &world.thread[thread];

	return self->asleep || (self->op.kind == OP_LOCK &&
				memory_view(self->cpu, self->op.offset, self->op.bytes) != 0);
}

int op_reads_range(const struct op *op, uint32_t offset, uint32_t bytes)
{
	switch (op->kind) {
	case OP_LOAD:
	case OP_LOAD_ACQUIRE:
	case OP_CAS:
	case OP_ADD:
	case OP_PUBLISH:
	case OP_READ_RACING:
	case OP_EXCHANGE:
	case OP_LOCK:
	case OP_TRYLOCK:
	case OP_FUTEX_WAIT:
	case OP_COUNT:
	case OP_REPLACE:
		return overlap(op->offset, op->bytes, offset, bytes);
	}
	return 0;
}

/* Locks and futexes. */
static uint64_t wait_perform(uint32_t thread, const struct op *op, uint32_t variant)
{
	switch (op->kind) {
	case OP_LOCK:
	case OP_TRYLOCK:
		return lock(thread, op);
	case OP_UNLOCK:
		unlock(thread, op);
		return 0;
	case OP_FUTEX_WAIT:
		futex_wait(thread, op);
		return 0;
	case OP_FUTEX_WAKE:
		futex_wake(thread, op, variant);
		return 0;
	}
	abort();
}

/* The CPU that is visited has a full barrier there and then; so has the caller, until its end. */
static void heavy(uint32_t thread, const struct op *op)
{
	buffer_land_ordered(op->count);
	version_forget_all(op->count);
	version_forget_all(cpu_of(thread));
	if (thread != NO_THREAD && op->count == cpu_of(thread))
		buffer_land_all(op->count);
}

uint64_t op_perform(uint32_t thread, const struct op *op, uint32_t variant)
{
	struct store store = { .offset = op->offset,
			       .bytes = (uint8_t)op->bytes,
			       .thread = (uint8_t)thread,
			       .first = 1,
			       .release = op->kind == OP_STORE_RELEASE,
			       .value = op->value };

	if (thread != NO_THREAD && world.thread[thread].light) {
		buffer_order(cpu_of(thread));
		world.thread[thread].light = 0;
	}
	switch (op->kind) {
	case OP_LOAD:
	case OP_LOAD_ACQUIRE:
		return load(thread, op, variant);
	case OP_STORE:
	case OP_STORE_RELEASE:
		owned_check(thread, op->offset, op->bytes, "writes");
		buffer_push(cpu_of(thread), &store);
		return op->value;
	case OP_CAS:
	case OP_ADD:
	case OP_EXCHANGE:
		return read_modify_write(thread, op);
	case OP_FENCE:
		buffer_land_all(cpu_of(thread));
		version_forget_all(cpu_of(thread));
		return 0;
	case OP_COPY:
	case OP_ZERO:
		put_range(thread, op->offset, op->source, op->bytes);
		return 0;
	case OP_HEAVY:
		heavy(thread, op);
		return 0;
	case OP_PUBLISH:
		if (!publish_possible(thread, op))
			return 0;
		if (variant) {
			world.thread[thread].refusals_left--;
			publish_stores(thread, op->source, variant - 1);
			return 0;
		}
		publish_stores(thread, op->source, PUBLISH_STORES);
		return 1;
	case OP_COUNT:
	case OP_REPLACE:
		return cpu_step(thread, op, variant);
	case OP_CLOCK:
		return fixture.scenario->clock ? fixture.scenario->clock() : 0;
	case OP_READ:
	case OP_READ_RACING:
		read_range(thread, op, variant);
		return 0;
	case OP_CHOOSE:
		return variant;
	}
	return wait_perform(thread, op, variant);
}
