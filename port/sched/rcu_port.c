// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The accesses, locks and futexes of rcu's freestanding parts as scheduling points.
 *
 * memory.c gives them their effect. Seeded faults of rcu's public headers are here: the
 * barrier of one function becomes a plain store or a light one.
 */
#include <string.h>
#include "rcu_port.h"
#include "world.h"

static uint64_t access_word(uint32_t kind, const void *p, uint32_t bytes, uint64_t value,
			    uint64_t expect)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.offset = arena_offset(p, bytes);
	op.bytes = bytes;
	op.full = 1; /* as memory.h says of its read-modify-writes */
	op.value = value;
	op.expect = expect;
	return thread_access(&op);
}

unsigned long lull_mem_load(const unsigned long *p)
{
	return access_word(OP_LOAD, p, sizeof(*p), 0, 0);
}

unsigned long lull_mem_load_acquire(const unsigned long *p)
{
	return access_word(OP_LOAD_ACQUIRE, p, sizeof(*p), 0, 0);
}

void lull_mem_store(unsigned long *p, unsigned long v)
{
	access_word(OP_STORE, p, sizeof(*p), v, 0);
}

void lull_mem_fence(void)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = OP_FENCE;
	thread_access(&op);
}

unsigned long lull_mem_exchange(unsigned long *p, unsigned long v)
{
	return access_word(OP_EXCHANGE, p, sizeof(*p), v, 0);
}

unsigned long lull_mem_cas(unsigned long *p, unsigned long expect, unsigned long desired)
{
	return access_word(OP_CAS, p, sizeof(*p), desired, expect);
}

unsigned long lull_mem_add(unsigned long *p, unsigned long v)
{
	return access_word(OP_ADD, p, sizeof(*p), v, 0);
}

uint32_t lull_mem_load32(const uint32_t *p)
{
	return (uint32_t)access_word(OP_LOAD, p, sizeof(*p), 0, 0);
}

void lull_mem_store32(uint32_t *p, uint32_t v)
{
	access_word(OP_STORE, p, sizeof(*p), v, 0);
}

uint32_t lull_mem_add32(uint32_t *p, uint32_t v)
{
	return (uint32_t)access_word(OP_ADD, p, sizeof(*p), v, 0);
}

/* Whether a function's barrier is a plain store under the present seeded fault. */
static int relaxed(const char *function)
{
	if (sched_mutant == SCHED_MUTANT_NONE)
		return 0;
	return (LULL_MUTANT(LEAVE_RELAXED) && !strcmp(function, "rcu_reader_leave_light")) ||
	       (LULL_MUTANT(LEAVE_FULL_RELAXED) && !strcmp(function, "rcu_reader_leave_full"));
}

/* Whether a function's full barrier is a light one. */
static int lightened(const char *function)
{
	if (sched_mutant == SCHED_MUTANT_NONE)
		return 0;
	return (LULL_MUTANT(ENTER_FULL_LIGHT) && !strcmp(function, "rcu_reader_enter_full")) ||
	       (LULL_MUTANT(LEAVE_FULL_LIGHT) && !strcmp(function, "rcu_reader_leave_full")) ||
	       (LULL_MUTANT(ONLINE_LIGHT) && !strcmp(function, "rcu_reader_online")) ||
	       (LULL_MUTANT(OFFLINE_LIGHT) && !strcmp(function, "rcu_reader_offline")) ||
	       (LULL_MUTANT(QUIESCENT_LIGHT) && !strcmp(function, "rcu_reader_quiescent"));
}

void sched_mem_fence_light(const char *function)
{
	if (LULL_MUTANT(ENTER_NO_LIGHT) && !strncmp(function, "rcu_reader_enter_", 17))
		return;
	if (LULL_MUTANT(LEAVE_NO_LIGHT) && !strcmp(function, "rcu_reader_leave_light"))
		return;
	lull_barrier_light();
}

void sched_mem_store_release(unsigned long *p, unsigned long v, const char *function)
{
	access_word(relaxed(function) ? OP_STORE : OP_STORE_RELEASE, p, sizeof(*p), v, 0);
}

void sched_mem_store_full(unsigned long *p, unsigned long v, const char *function)
{
	access_word(relaxed(function) ? OP_STORE : OP_STORE_RELEASE, p, sizeof(*p), v, 0);
	if (LULL_MUTANT(ENTER_NESTED_PLAIN) && (v & 0xffff) > 1)
		return;
	if (lightened(function))
		lull_barrier_light();
	else
		lull_mem_fence();
}

void lull_lock_take(struct lull_lock *lock)
{
	access_word(OP_LOCK, &lock->holder, sizeof(lock->holder), 0, 0);
}

int lull_lock_try(struct lull_lock *lock)
{
	return (int)access_word(OP_TRYLOCK, &lock->holder, sizeof(lock->holder), 0, 0);
}

void lull_lock_release(struct lull_lock *lock)
{
	access_word(OP_UNLOCK, &lock->holder, sizeof(lock->holder), 0, 0);
}

void lull_futex_wait(uint32_t *word, uint32_t seen)
{
	access_word(OP_FUTEX_WAIT, word, sizeof(*word), seen, 0);
}

void lull_futex_wake(uint32_t *word, int count)
{
	access_word(OP_FUTEX_WAKE, word, sizeof(*word), (uint64_t)(int64_t)count, 0);
}
