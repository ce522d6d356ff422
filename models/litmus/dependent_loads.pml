/* SPDX-License-Identifier: MIT */
/*
 * Dependent loads: a pointer is published, and a reader that follows it finds that its target is
 * written.
 *
 *	writer			reader
 *	second = 1		p = pointer
 *	smp_wmb()		smp_rmb()
 *	pointer = SECOND	d = *p
 *
 * This is the thesis's reason to model the Alpha (T 7.4.1): its caches can return the new pointer
 * and then the old data, so the read barrier is needed there and on no other machine.
 * At most 200 states, 0 seconds.
 */
#define CPUS 2
#define VARS 3
#include "../machine/machine.pml"
#define FIRST 0 /* what the pointer points to at the beginning */
#define SECOND 1
#define POINTER 2

byte pointer, data;

#define FORBIDDEN (pointer == SECOND && data == 0)
#define SEEN (pointer == SECOND && data == 1)
#include "outcome.pml"

active proctype writer()
{
	STORE(0, SECOND, 1);
#ifndef MUTANT_NO_WMB
	SMP_WMB(0);
#endif
	STORE(0, POINTER, SECOND);
	END
}

active proctype reader()
{
	pointer = LOAD(1, POINTER);
#ifndef MUTANT_NO_RMB
	SMP_RMB(1);
#endif
	data = LOAD(1, pointer);
	END
}
