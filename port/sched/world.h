/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The simulated machine: everything that a snapshot holds and a state key covers.
 *
 * Private to port/sched. explore.c searches, memory.c, buffer.c and stale.c give accesses their
 * effect, thread.c runs coroutines, state.c saves and names states, visited.c remembers them,
 * trace.c prints schedules.
 */
#ifndef LULL_SCHED_WORLD_H
#define LULL_SCHED_WORLD_H

#include <setjmp.h>
#include "sched.h"

#define STACK_BYTES 16384
#define STORES_MAX 96
#define VERSIONS_MAX 192
#define OWNED_MAX 12
#define PLAIN_MAX 24
#define MOVED_MAX 8
#define NO_THREAD 255u
#define ATTEMPTS_MAX 32u /* counted no further, so that a waiting loop repeats its state */

enum op_kind {
	OP_LOAD,
	OP_LOAD_ACQUIRE,
	OP_STORE,
	OP_STORE_RELEASE,
	OP_CAS,
	OP_ADD,
	OP_COPY,
	OP_ZERO,
	OP_HEAVY,
	OP_PUBLISH,
	OP_CLOCK,
	OP_READ,
	OP_READ_RACING,
	OP_CHOOSE,
	OP_FENCE,
	OP_EXCHANGE,
	OP_LOCK,
	OP_TRYLOCK,
	OP_UNLOCK,
	OP_FUTEX_WAIT,
	OP_FUTEX_WAKE,
	OP_COUNT,
	OP_REPLACE
};

/* The access that a thread is about to make. Pointers lead into its own stack. */
struct op {
	uint32_t kind;
	uint32_t offset; /* into the arena */
	uint32_t bytes;
	uint32_t count; /* of OP_CHOOSE: the values; of OP_HEAVY, OP_COUNT, OP_REPLACE: the CPU */
	uint32_t full; /* of OP_CAS, OP_ADD, OP_EXCHANGE: orders all, whether it succeeds or not */
	uint32_t relaxed; /* of the same: orders nothing */
	uint64_t value;
	uint64_t expect;
	const void *source; /* OP_COPY: bytes; OP_PUBLISH: the reservation */
	void *destination; /* OP_READ */
};

enum thread_state { THREAD_UNUSED, THREAD_IDLE, THREAD_READY, THREAD_DONE, THREAD_DEAD };

struct hash {
	uint64_t a, b;
};

struct thread {
	void *stack_pointer;
	struct op op;
	uint64_t result;
	struct hash stack_hash;
	uint8_t state;
	uint8_t cpu;
	uint8_t host; /* of a handler, else NO_THREAD */
	uint8_t runs_left;
	uint8_t run;
	uint8_t refusals_left;
	uint8_t may_die;
	uint8_t may_migrate;
	uint32_t attempts;
	uint8_t copying; /* its last access was a copy */
	uint8_t light; /* it passed a light barrier since */
	uint8_t asleep; /* on a futex: its pending access is the wait that put it there */
	uint8_t woken; /* by a wake, before it has moved on */
};

/* A store that has not landed. Those of one lull_copy() land together. */
struct store {
	uint32_t offset;
	uint8_t bytes; /* 1..8 */
	uint8_t thread;
	uint8_t first; /* begins a group that lands together */
	uint8_t release; /* lands after all before it */
	uint8_t ordered; /* a light barrier came after it */
	uint8_t unlocks; /* to a word that no load reads */
	uint64_t value;
};

/* What bytes of one aligned word held before another CPU's store landed there (stale.c). */
struct version {
	uint32_t offset;
	uint8_t bytes; /* 1..8 */
	uint8_t spent; /* no load returns it any more */
	uint64_t value;
};

struct cpu {
	uint32_t count;
	uint32_t version_count;
	struct store store[STORES_MAX];
	struct version version[VERSIONS_MAX]; /* oldest first */
};

struct owned {
	uint32_t offset;
	uint32_t bytes;
	uint32_t thread;
};

struct world {
	struct hash arena_hash;
	uint32_t owned_count;
	uint8_t crashes_left;
	uint8_t migrations_left;
	uint8_t preemptions_left;
	uint8_t slices_left;
	uint8_t wakeups_left;
	uint8_t last; /* thread of the last step */
	uint8_t last_on[SCHED_CPUS_MAX]; /* the same of each CPU */
	struct owned owned[OWNED_MAX];
	struct thread thread[SCHED_THREADS_MAX];
	_Alignas(16) uint8_t ghost[SCHED_GHOST_BYTES];
	_Alignas(64) uint8_t arena[SCHED_ARENA_BYTES];
	struct cpu cpu[SCHED_CPUS_MAX];
};

/* What setup fixes: the same in every state. */
struct fixture {
	const struct sched_scenario *scenario;
	uint32_t thread_count;
	uint32_t cpu_count;
	uint32_t arena_bytes;
	uint32_t ghost_bytes;
	uint32_t plain_count;
	struct {
		uint32_t offset;
		uint32_t bytes;
	} plain[PLAIN_MAX];
	uint32_t moved_count;
	struct {
		const void *variable;
		uint8_t *to;
	} moved[MOVED_MAX]; /* rcu_port.h: LULL_SHARED(), LULL_OWN() */
	struct {
		const char *name;
		void (*body)(long argument);
		long argument;
	} thread[SCHED_THREADS_MAX];
};

extern struct world world;
extern struct fixture fixture;
extern uint32_t current; /* the running thread, or NO_THREAD in the explorer */
extern int failed;
extern char failure[200];
extern jmp_buf explorer_return;
extern FILE *tracing; /* where steps are printed while a schedule is replayed, else NULL */

static inline void absorb(struct hash *hash, uint64_t word)
{
	hash->a = (hash->a ^ word) * 0x9E3779B97F4A7C15u;
	hash->a ^= hash->a >> 32;
	hash->b = (hash->b + word) * 0xD6E8FEB86659FD93u;
	hash->b ^= hash->b >> 29;
}

static inline int overlap(uint32_t begin, uint32_t bytes, uint32_t other, uint32_t other_bytes)
{
	return begin < other + other_bytes && other < begin + bytes;
}

/* thread.c */
void thread_resume(uint32_t thread); /* until its next access, its end or a failure */
void thread_start(uint32_t thread);
uint64_t thread_access(const struct op *op); /* called in a thread; returns the result */
uint8_t *thread_stack_top(uint32_t thread);
int thread_interrupted(uint32_t thread); /* is a handler of it running? */
void failure_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* memory.c */
uint64_t op_perform(uint32_t thread, const struct op *op, uint32_t variant);
uint32_t op_variants(uint32_t thread, const struct op *op);
int op_writes(const struct op *op);
int op_loads(const struct op *op); /* its variants are old values */
int op_lands(const struct op *op); /* stores of its CPU, as part of its effect */
int op_blocked(uint32_t thread); /* its pending access waits for another thread */
int op_reads_range(const struct op *op, uint32_t offset, uint32_t bytes);
void arena_hash_all(void);

/* buffer.c */
uint32_t arena_offset(const void *address, size_t bytes);
int arena_plain(uint32_t offset, uint32_t bytes);
uint64_t memory_view(uint32_t cpu, uint32_t offset, uint32_t bytes);
void memory_write(uint32_t offset, uint32_t bytes, uint64_t value); /* that no load reads */
void memory_store(uint32_t cpu, uint32_t offset, uint32_t bytes, uint64_t value);
void buffer_push(uint32_t cpu, const struct store *store);
void buffer_land(uint32_t cpu, uint32_t index); /* a group and what must land before it */
void buffer_land_all(uint32_t cpu);
void buffer_land_bytes(uint32_t cpu, uint32_t offset, uint32_t bytes); /* and what is before */
void buffer_land_ordered(uint32_t cpu);
void buffer_order(uint32_t cpu);

/* stale.c: @age is how many stores have landed since */
void version_note(uint32_t writer, uint32_t offset, uint32_t bytes, uint64_t value);
uint32_t version_count(uint32_t cpu, uint32_t offset, uint32_t bytes);
uint64_t version_view(uint32_t cpu, uint32_t offset, uint32_t bytes, uint32_t age);
void version_spend(uint32_t cpu, uint32_t offset, uint32_t bytes, uint32_t age);
void version_acquire(uint32_t cpu, uint32_t offset, uint32_t bytes);
void version_forget_all(uint32_t cpu);
void version_forget_unread(uint32_t cpu); /* by any thread before it orders its loads */

/* state.c */
size_t state_move(uint8_t *snapshot, int save); /* save or load; returns the size */
struct hash state_key(void);

/* visited.c: paths is -1 while the state is on the path being searched */
void visited_reset(void);
double *visited_find(struct hash key, int *fresh);
uint64_t visited_count(void);

/* trace.c */
void trace_reset(void);
void trace_step(uint32_t thread, const struct op *op, uint32_t variant, uint64_t result);
void trace_event(uint32_t thread, const char *what, uint32_t number);
void trace_store(uint32_t cpu, const struct store *store);

#endif
