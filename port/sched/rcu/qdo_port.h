/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sched port for QDo's core: steps of one CPU, and the heavy fence.
 *
 * A step of one CPU is one step of the explorer: it is refused where its thread is on another
 * CPU by now, and a scenario's refusals allow it to fail without cause. Its store goes into its
 * CPU's buffer as a release store: others see it later. port/RCU.md says what each name promises.
 * Paper: Q 4.8.3.
 */
#ifndef LULL_SCHED_QDO_PORT_H
#define LULL_SCHED_QDO_PORT_H

#include <stdint.h>

/* In setup: bit n: thread n has no such steps, each is refused for good. */
extern uint32_t sched_stepless;
/* In setup and finish: the CPU where the caller is. */
extern unsigned int sched_caller_cpu;

void lull_qdo_fence_heavy(void);
unsigned int lull_qdo_cpu(void);
int lull_qdo_count(unsigned int cpu, unsigned long *counter);
int lull_qdo_replace(unsigned int cpu, void **head, void *expect, void *desired);

#endif
