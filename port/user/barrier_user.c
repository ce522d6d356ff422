/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reader's heavy barrier: membarrier, where stores of one CPU may be seen out of order.
 *
 * The heavy barrier makes each light barrier of the writers as strong as a real one, once per flush
 * instead of once per event (B 4.4). On x86-64 a CPU's stores become visible in order, so there the
 * reader needs only keep its own loads in order, and interrupts no traced CPU.
 */
#include "lull_port.h"
#include "syscall.h"

#if !defined(__x86_64__)
#include <linux/membarrier.h>
#endif

void lull_barrier_heavy(void)
{
#if !defined(__x86_64__)
	/* GLOBAL needs no registration of the writers but waits for every CPU to reschedule. */
	if (lull_syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0, 0, 0, 0) < 0)
		lull_syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0, 0, 0, 0);
#endif
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
