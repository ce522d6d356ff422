/* SPDX-License-Identifier: MIT */
/*
 * Barriers between accesses, and what the processor offers: liburcu's cmm_ and caa_ names.
 *
 * cmm_smp_...() order accesses to ordinary memory between threads; cmm_mb() and its sisters also
 * order accesses to devices. Every supported processor keeps its caches coherent, so that the
 * cmm_..mc() are barriers for the compiler. Barriers may be stronger than their names ask.
 */
#ifndef LULL_URCU_ARCH_H
#define LULL_URCU_ARCH_H

#include <stdint.h>
#include <time.h>

#include <urcu/compiler.h>
#include <urcu/config.h>
#include <urcu/syscall-compat.h>

#include "lull/rcu/memory.h"

#if defined(__x86_64__)
#define URCU_ARCH_X86 1
#define URCU_ARCH_AMD64 1
#elif defined(__i386__)
#define URCU_ARCH_X86 1
#define URCU_ARCH_I386 1
#elif defined(__aarch64__)
#define URCU_ARCH_AARCH64 1
#elif defined(__arm__)
#define URCU_ARCH_ARM 1
#elif defined(__powerpc64__)
#define URCU_ARCH_PPC 1
#define URCU_ARCH_PPC64 1
#elif defined(__powerpc__)
#define URCU_ARCH_PPC 1
#elif defined(__s390__)
#define URCU_ARCH_S390 1
#elif defined(__riscv)
#define URCU_ARCH_RISCV 1
#endif

/* Two lines of 64 bytes are fetched together on x86; others have lines of up to 128. */
#define CAA_CACHE_LINE_SIZE 128

#define cmm_mb() __sync_synchronize()
#if defined(__x86_64__) || defined(__i386__)
#define cmm_rmb() __extension__({ __asm__ __volatile__("lfence" : : : "memory"); })
#define cmm_wmb() __extension__({ __asm__ __volatile__("sfence" : : : "memory"); })
#else
#define cmm_rmb() __sync_synchronize()
#define cmm_wmb() __sync_synchronize()
#endif
#define cmm_mc() cmm_barrier()
#define cmm_rmc() cmm_barrier()
#define cmm_wmc() cmm_barrier()
#define cmm_read_barrier_depends() ((void)0)

#define cmm_smp_mb() lull_mem_fence()
#define cmm_smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define cmm_smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define cmm_smp_mc() cmm_barrier()
#define cmm_smp_rmc() cmm_barrier()
#define cmm_smp_wmc() cmm_barrier()
#define cmm_smp_read_barrier_depends() ((void)0)

#if defined(__x86_64__) || defined(__i386__)
#define caa_cpu_relax() __extension__({ __asm__ __volatile__("pause" : : : "memory"); })
#elif defined(__aarch64__) || defined(__arm__)
#define caa_cpu_relax() __extension__({ __asm__ __volatile__("yield" : : : "memory"); })
#else
#define caa_cpu_relax() cmm_barrier()
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t caa_cycles_t;

#define HAS_CAA_GET_CYCLES 1
/* A number that grows with time, cheap to read; its unit is the processor's own. */
static inline caa_cycles_t caa_get_cycles(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	caa_cycles_t ticks;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (caa_cycles_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
