/* SPDX-License-Identifier: MIT */
/*
 * Sections and grace periods as the papers' kernel has them: a section is code with preemption
 * disabled, and a grace period ends once every CPU has passed through its scheduler. Include
 * after machine.pml. Paper: T 4.6.1. (models/grace has the grace period of user space.)
 */
bit wanted[CPUS]; /* a grace period waits for this CPU */

/* Between sections, when a grace period wants it; a context switch is a full barrier. */
#define SCHEDULE(cpu) d_step { wanted[cpu] -> barrier_(cpu); wanted[cpu] = 0 }

/* By CPU 0, which is not within a section itself; the others are those that read. */
inline synchronize()
{
	SMP_MB(0);
#if CPUS > 2
	d_step { wanted[1] = 1; wanted[2] = 1 };
	d_step { !wanted[1] && !wanted[2] -> barrier_(0) }
#else
	wanted[1] = 1;
	d_step { !wanted[1] -> barrier_(0) }
#endif
}
