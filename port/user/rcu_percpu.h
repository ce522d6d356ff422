/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Steps of one CPU and the heavy fence, in user space: what QDo asks of its port.
 *
 * Steps are restartable sequences (rseq); there are none in a thread whose C library registered
 * no area, on other machines than x86-64 and aarch64, and where threads cannot be fenced by a
 * system call. Paper: Q 4.8.3; T 6.4.4.
 */
#ifndef LULL_RCU_PERCPU_H
#define LULL_RCU_PERCPU_H

/* Called before anything else here, as often as one likes. Async-signal-unsafe the first time. */
void lull_qdo_port_start(void);

/*
 * Every thread of the process has executed a full barrier between call and return. Returns at
 * once where there are no restartable steps: then every count is a full barrier itself.
 */
void lull_qdo_fence_heavy(void);

/* The CPU the caller runs on, perhaps no longer. */
unsigned int lull_qdo_cpu(void);

/*
 * In one step with respect to every thread of that CPU, and only if the caller runs on @cpu:
 * add 1 to *@counter, after all earlier accesses of the caller (release). May fail without
 * cause, finitely often. Return: 1 when done, 0 when not, -1 where there are no such steps.
 */
int lull_qdo_count(unsigned int cpu, unsigned long *counter);

/* In such a step: if *@head is @expect, store @desired there (release). Return: as above. */
int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired);

/*
 * Runs on every CPU where it may, one after the other, which has the effect of the heavy fence
 * wherever threads are allowed: the kernel switches threads with a full barrier.
 */
void lull_qdo_fence_by_visits(void);

#endif
