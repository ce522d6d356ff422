/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port to user space for QDo's core: steps of one CPU and the heavy fence.
 *
 * Steps are restartable sequences (rseq); there are none in a thread whose C library registered
 * no area, on other machines than x86-64 and aarch64, and where threads cannot be fenced by a
 * system call. There, every count is a full barrier itself, and lull_qdo_fence_heavy() returns at
 * once on x86-64. Paper: Q 4.8.3; T 6.4.4.
 */
#ifndef LULL_QDO_PORT_H
#define LULL_QDO_PORT_H

/* The host calls this before all else here. Only the first call does anything, and that one is not
 * async-signal-safe. */
void lull_qdo_port_start(void);

/* What QDo's core asks for: port/RCU.md. */
void lull_qdo_fence_heavy(void);
unsigned int lull_qdo_cpu(void);
int lull_qdo_count(unsigned int cpu, unsigned long *counter);
int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired);

/*
 * Runs on every CPU where it may, one after the other, which has the effect of the heavy fence
 * wherever threads are allowed: the kernel switches threads with a full barrier.
 */
/* Return: 0, or a negative errno: the system refuses to run the caller where others may run. */
int lull_qdo_fence_by_visits(void);

#endif
