/* SPDX-License-Identifier: MIT */
/*
 * The words that RCU's reader and updater share, and their contents. Paper: T 6.4.3, 7.6.
 * Included after CPUS and the CPU numbers, by each model that has the two-phase grace period.
 *
 *	GP		rcu_gp_ctr: the phase; its low-order 1 is added where a reader copies it
 *	READER		rcu_reader_gp, written by the reader alone: nesting, and the phase it copied
 *	POINTER		the published entry of the arena
 *	ARENA + entry	the entry's data
 *
 * The arena has two entries, so an update allocates the entry that the previous update reclaimed.
 * Words begin at 0, so that entry 0 is published with good data and entry 1 is poisoned.
 */
#define GP 0
#define READER 1
#define POINTER 2
#define ARENA 3
#define VARS 5
#include "../machine/machine.pml"
#include "../machine/ooisched.pml"

#define GOOD(entry) (entry)
#define POISON(entry) (1 - (entry))

#define PHASE 4
#define NESTING(word) ((word) & (PHASE - 1))

/* rcu_old_gp_ongoing(): the section began in the other phase. */
#define OLD_GP_ONGOING(word, phase) (NESTING(word) != 0 && ((word) & PHASE) != (phase))

/* Equation (7.1): in no section is the entry that a reader holds reclaimed. */
#ifdef COVER_NEW_ENTRY
#define READ_DATA(cpu, pointer) assert(pointer == 0); pointer = 0
#else
#define READ_DATA(cpu, pointer) \
	assert(LOAD(cpu, ARENA + pointer) != POISON(pointer)); pointer = 0
#endif
