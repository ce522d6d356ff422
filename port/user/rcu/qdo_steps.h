/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The steps of qdo_port.h in place, without calls: an operation is hardly more than two steps.
 *
 * A thread's area, through which the kernel restarts its steps, lies at the same distance from
 * every thread's pointer; threads without one have one that is on no CPU. Paper: Q 4.8.3.
 */
#ifndef LULL_QDO_STEPS_H
#define LULL_QDO_STEPS_H

#include <linux/rseq.h>
#include <stddef.h>
#include <stdint.h>
#include "qdo_port.h"

/* The thread sanitizer sees no restartable steps: for it operations count themselves atomically. */
#if defined(__SANITIZE_THREAD__)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include "qdo_steps_x86_64.h"
#elif defined(__aarch64__) && !defined(__SANITIZE_THREAD__)
#include "qdo_steps_aarch64.h"
#endif

#ifdef LULL_PERCPU_STEPS
/* From the thread pointer to the area. Set by lull_qdo_port_start(). */
extern ptrdiff_t lull_percpu_offset __attribute__((visibility("hidden")));

static inline struct rseq *lull_percpu_area(void)
{
	ptrdiff_t offset = __atomic_load_n(&lull_percpu_offset, __ATOMIC_RELAXED);

	return (struct rseq *)((char *)__builtin_thread_pointer() + offset);
}

/* The CPU the caller runs on, or a number that no CPU has: it has no area. */
static inline unsigned int lull_percpu_cpu_or_none(void)
{
	return __atomic_load_n(&lull_percpu_area()->cpu_id, __ATOMIC_RELAXED);
}

/* As lull_qdo_count(), once. Return: 1 when done. */
static inline int lull_percpu_try(unsigned int cpu, unsigned long *counter)
{
	return lull_percpu_add(lull_percpu_area(), cpu, counter);
}
#else
static inline unsigned int lull_percpu_cpu_or_none(void)
{
	return ~0u;
}

static inline int lull_percpu_try(unsigned int cpu, unsigned long *counter)
{
	(void)cpu;
	(void)counter;
	return 0;
}
#endif

#endif
