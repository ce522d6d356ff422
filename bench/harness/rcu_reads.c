/* SPDX-License-Identifier: MIT */
/*
 * One thread's loops over the read side alone: what entering and leaving a section costs. Nobody
 * updates, so that nothing but the instructions of the read side is measured; and one over the
 * exchange of a pointer, which is what an update comes down to.
 */
#include <string.h>

#include "rcu_subject.h"

/* Loops start on their own cache line, so that code placement favours none of them. */
#define RCU_LOOP static __attribute__((noinline, aligned(64))) void

static struct rcu_object object = { .live = 1 };
struct rcu_shared rcu_shared = { .object = &object };

static inline void keep(unsigned long value)
{
	__asm__ volatile("" ::"r"(value));
}

RCU_LOOP loop_empty(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		keep(i);
}

RCU_LOOP loop_section(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		side_enter(0);
		keep(i);
		side_leave(0);
	}
}

#if SIDE_IS_RCU
RCU_LOOP loop_read(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		rcu_read_lock();
		keep(rcu_dereference(rcu_shared.object)->live);
		rcu_read_unlock();
	}
}

RCU_LOOP loop_nested(uint64_t count)
{
	rcu_read_lock();
	for (uint64_t i = 0; i < count; i++) {
		rcu_read_lock();
		keep(i);
		rcu_read_unlock();
	}
	rcu_read_unlock();
}

RCU_LOOP loop_exchange(uint64_t count)
{
	static struct rcu_shared published;
	struct rcu_object *taken = &object;

	for (uint64_t i = 0; i < count; i++)
		taken = rcu_xchg_pointer(&published.object, taken);
	SUBJECT_OPAQUE(taken);
}

RCU_LOOP loop_quiescent(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		rcu_quiescent_state();
}
#endif

int rcu_answer_loop(const char *name, uint64_t count)
{
	static const struct {
		const char *name;
		void (*loop)(uint64_t count);
	} loops[] = {
		{ "empty", loop_empty },
		{ "section", loop_section },
#if SIDE_IS_RCU
		{ "read", loop_read },
		{ "nested", loop_nested },
		{ "exchange", loop_exchange },
		{ "quiescent", loop_quiescent },
#endif
	};
	struct timing timing;

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (strcmp(loops[i].name, name))
			continue;
		side_register();
		timing_begin(&timing);
		loops[i].loop(count);
		timing_end(&timing);
		side_unregister();
		printf("cpu_ns=%llu wall_ns=%llu count=%llu\n", (unsigned long long)timing.cpu_ns,
		       (unsigned long long)timing.wall_ns, (unsigned long long)count);
		return 0;
	}
	return -1;
}
