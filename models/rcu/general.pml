/* SPDX-License-Identifier: MIT */
/*
 * General-purpose RCU: full barriers in readers. Paper: T 7.6, tables 7.1 (ALPHA) and 7.2
 * (POWER: Intel, PowerPC); 6.4.3, figures 6.6 and 6.7 (the algorithm).
 *
 *	reader (reader.pml)			updater (updater.pml)
 *	rcu_read_lock(), twice; read;		new entry; smp_wmb(); publish; synchronize_rcu():
 *	rcu_read_unlock(), twice;		smp_mb(); flip, wait; flip, wait; smp_mb();
 *	lock; read; unlock			reclaim the old entry
 *
 * Both are scheduled out of order (OoOisched) over out-of-order memory (OoOmem).
 * Proved: the reader never sees reclaimed or unpublished data (equation (7.1)); each thread
 * progresses under weak fairness. Where T has two updates, the updates here have no end.
 * Not modelled: more readers (the updater waits for one after the other), the updaters' mutex and
 * value speculation (T 7.7).
 * Mutants: NO_MB, NO_WMB, NO_RMB, SINGLE_PHASE and NO_LOOP_MB are T's five; NO_LOCK_MB and
 * NO_UNLOCK_MB remove the reader's own barriers. NO_LOOP_MB fails the claim of progress, because
 * these machines may keep a store or an old line for ever; the others fail an assertion. On POWER
 * NO_RMB passes, because POWER does not reorder dependent loads.
 * Bounds: nesting 2, two sections per scheduling loop, two entries. 93 thousand states, under 1 s;
 * progress 193 thousand, 1 s.
 */
#define CPUS 2
#define READ_CPU 0
#define UPDATER 1
#include "words.pml"
#define UPDATER_MB() SMP_MB(UPDATER)
#include "updater.pml"
#include "reader.pml"
