// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts, softirqs, tasklets, and non-maskable ones.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <linux/interrupt.h>
#include <trace/events/irq.h>
#include <trace/events/nmi.h>
#include "events/fields.h"

LULL_KERNEL_EVENT(irq, irq_handler_entry, TP_PROTO(int irq, struct irqaction *action),
		  lull_i32(irq, irq), lull_str(name, action->name));
LULL_KERNEL_EVENT(irq, irq_handler_exit, TP_PROTO(int irq, struct irqaction *action, int ret),
		  lull_i32(irq, irq), lull_enum(ret, ret, "unhandled=0,handled=1,wake_thread=2"));

#define SOFTIRQ_FIELDS                                      \
	lull_enum(vec, vec_nr,                              \
		  "HI=0,TIMER=1,NET_TX=2,NET_RX=3,BLOCK=4," \
		  "IRQ_POLL=5,TASKLET=6,SCHED=7,HRTIMER=8,RCU=9")

LULL_KERNEL_EVENT(irq, softirq_entry, TP_PROTO(unsigned int vec_nr), SOFTIRQ_FIELDS);
LULL_KERNEL_EVENT(irq, softirq_exit, TP_PROTO(unsigned int vec_nr), SOFTIRQ_FIELDS);
LULL_KERNEL_EVENT(irq, softirq_raise, TP_PROTO(unsigned int vec_nr), SOFTIRQ_FIELDS);

#define TASKLET_FIELDS lull_ptr(tasklet, t), lull_ptr(func, func)

LULL_KERNEL_EVENT(irq, tasklet_entry, TP_PROTO(struct tasklet_struct *t, void *func),
		  TASKLET_FIELDS);
LULL_KERNEL_EVENT(irq, tasklet_exit, TP_PROTO(struct tasklet_struct *t, void *func),
		  TASKLET_FIELDS);

LULL_KERNEL_EVENT(nmi, nmi_handler, TP_PROTO(void *handler, s64 delta_ns, int handled),
		  lull_ptr(handler, handler), lull_i64(delta_ns, delta_ns),
		  lull_i32(handled, handled));
