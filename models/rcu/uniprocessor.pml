/* SPDX-License-Identifier: MIT */
/*
 * General-purpose RCU on one processor: each memory barrier is a compiler barrier, and
 * smp_read_barrier_depends() is nothing. Paper: T 7.6.3 (no table).
 *
 *	reader (reader.pml) and updater (updater.pml), which preempt each other on one CPU
 *
 * Only the compiler reorders here, so the barriers keep their tokens and do nothing to memory:
 * there is one cache, in which each store is seen at once (MACHINE_SC). Proved, as in general.pml,
 * whose mutants these are. NO_LOOP_MB: the compiler moves the phase's store behind a loop that then
 * never ends.
 * Bounds: as general.pml's. 2 thousand states, progress 5 thousand, under 1 s.
 */
#define CPUS 1
#define READ_CPU 0
#define UPDATER 0
#define MACHINE_SC
#include "words.pml"
#define UPDATER_MB() SMP_MB(UPDATER)
#include "updater.pml"
#define NO_READ_BARRIER_DEPENDS
#include "reader.pml"
