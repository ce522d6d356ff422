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

#define HOUR_NS 3600000000000

static uint64_t access_ordered(uint32_t kind, const void *p, uint32_t bytes, uint64_t value,
			       uint64_t expect, uint32_t relaxed)
{
	struct op op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.offset = arena_offset(p, bytes);
	op.bytes = bytes;
	op.full = !relaxed; /* as memory.h says of its read-modify-writes */
	op.relaxed = relaxed;
	op.value = value;
	op.expect = expect;
	return thread_access(&op);
}

static uint64_t access_word(uint32_t kind, const void *p, uint32_t bytes, uint64_t value,
			    uint64_t expect)
{
	return access_ordered(kind, p, bytes, value, expect, 0);
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

uint32_t lull_mem_cas32(uint32_t *p, uint32_t expect, uint32_t desired)
{
	return (uint32_t)access_word(OP_CAS, p, sizeof(*p), desired, expect);
}

uint32_t lull_mem_load32_acquire(const uint32_t *p)
{
	return (uint32_t)access_word(OP_LOAD_ACQUIRE, p, sizeof(*p), 0, 0);
}

void lull_mem_store32_release(uint32_t *p, uint32_t v)
{
	access_word(OP_STORE_RELEASE, p, sizeof(*p), v, 0);
}

void lull_mem_store32_full(uint32_t *p, uint32_t v)
{
	lull_mem_store32_release(p, v);
	lull_mem_fence();
}

void lull_mem_store64(uint64_t *p, uint64_t v)
{
	access_word(OP_STORE, p, sizeof(*p), v, 0);
}

/* As a machine without such a step has it. */
unsigned long lull_mem_or(unsigned long *p, unsigned long bits)
{
	unsigned long expect, found = lull_mem_load(p);

	do {
		expect = found;
		found = lull_mem_cas(p, expect, expect | bits);
	} while (found != expect);
	return found;
}

unsigned long lull_mem_or_relaxed(unsigned long *p, unsigned long bits)
{
	unsigned long expect, found = lull_mem_load(p);

	do {
		expect = found;
		found = lull_mem_cas_relaxed(p, expect, expect | bits);
	} while (found != expect);
	return found;
}

uint32_t lull_mem_exchange32_relaxed(uint32_t *p, uint32_t v)
{
	return (uint32_t)access_ordered(OP_EXCHANGE, p, sizeof(*p), v, 0, 1);
}

unsigned long lull_mem_exchange_relaxed(unsigned long *p, unsigned long v)
{
	return access_ordered(OP_EXCHANGE, p, sizeof(*p), v, 0, 1);
}

unsigned long lull_mem_cas_relaxed(unsigned long *p, unsigned long expect, unsigned long desired)
{
	return access_ordered(OP_CAS, p, sizeof(*p), desired, expect, 1);
}

unsigned long lull_mem_add_relaxed(unsigned long *p, unsigned long v)
{
	return access_ordered(OP_ADD, p, sizeof(*p), v, 0, 1);
}

uint32_t lull_mem_add32_relaxed(uint32_t *p, uint32_t v)
{
	return (uint32_t)access_ordered(OP_ADD, p, sizeof(*p), v, 0, 1);
}

uint32_t lull_mem_cas32_relaxed(uint32_t *p, uint32_t expect, uint32_t desired)
{
	return (uint32_t)access_ordered(OP_CAS, p, sizeof(*p), desired, expect, 1);
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

void lull_lock_renew(struct lull_lock *lock)
{
	access_word(OP_STORE, &lock->holder, sizeof(lock->holder), 0, 0);
}

void lull_futex_wait_for(uint32_t *word, uint32_t seen, int64_t duration_ns)
{
	if (duration_ns >= HOUR_NS)
		lull_futex_wait(word, seen);
	else
		lull_mem_fence(); /* around the look at the word */
}

void *sched_moved(const void *variable, size_t bytes, int own)
{
	const uint32_t copies = own ? SCHED_THREADS_MAX + 1 : 1;
	uint32_t i, copy;

	for (i = 0; i < fixture.moved_count && fixture.moved[i].variable != variable; i++)
		;
	if (i == fixture.moved_count) {
		uint8_t *to;

		sched_check(current == NO_THREAD, "a variable is first used after setup");
		sched_check(i < MOVED_MAX, "more variables than MOVED_MAX");
		bytes = (bytes + 7) / 8 * 8;
		to = own ? sched_ghost(copies * bytes) : sched_alloc(bytes, 64);
		for (copy = 0; copy < copies; copy++)
			memcpy(to + copy * bytes, variable, bytes);
		fixture.moved[i].variable = variable;
		fixture.moved[i].to = to;
		fixture.moved_count++;
	}
	if (!own)
		return fixture.moved[i].to;
	copy = current == NO_THREAD ? SCHED_THREADS_MAX : current;
	return fixture.moved[i].to + copy * ((bytes + 7) / 8 * 8);
}

int lull_thread_start(struct lull_thread *thread, void *(*main)(void *argument), void *argument,
		      int signal)
{
	(void)main;
	(void)argument;
	(void)signal;
	if ((uint8_t *)thread < world.arena || (uint8_t *)thread >= world.arena + SCHED_ARENA_BYTES)
		return 0; /* of a stack: nobody joins it, and it waits for nobody */
	lull_mem_store32_release(&thread->state, 1); /* a beginning is after its start, no more */
	return 0;
}

void lull_thread_join(struct lull_thread *thread)
{
	while (lull_mem_load32_acquire(&thread->state) != 2)
		lull_futex_wait(&thread->state, 1);
}

void sched_thread_run(struct lull_thread *thread, void *(*main)(void *argument), void *argument)
{
	while (lull_mem_load32_acquire(&thread->state) != 1)
		;
	main(argument);
	lull_mem_store32_release(&thread->state, 2);
	lull_futex_wake(&thread->state, 1);
}

int lull_fence_threads(void)
{
	lull_mem_fence();
	lull_barrier_heavy();
	return 1;
}

unsigned int lull_rcu_cpu(void)
{
	return lull_cpu();
}

unsigned int lull_rcu_cpu_count(void)
{
	return SCHED_CPUS_MAX;
}
