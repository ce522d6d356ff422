/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The step port: what core/clock asks of its surroundings, for the clock's own tests.
 *
 * Every shared access first calls step_access(), where a test may run another context, as
 * an interrupt or an NMI would: on top of the interrupted one, to its end. It needs no
 * operating system, so it also shows that the clock builds for 32-bit machines.
 * PORT.md lists each name's promise.
 */
#ifndef LULL_PORT_H
#define LULL_PORT_H

#include <stdint.h>
#if __STDC_HOSTED__
#include <errno.h>
#else
#define EINVAL 22
#endif

/* A seeded fault, chosen by the test while it runs. */
#define LULL_MUTANT(name) step_mutant_is(#name)

int step_mutant_is(const char *name);
void step_access(void);

static inline uint32_t lull_load32(const uint32_t *p)
{
	step_access();
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void lull_store32(uint32_t *p, uint32_t v)
{
	step_access();
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline void lull_barrier_light(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#endif
