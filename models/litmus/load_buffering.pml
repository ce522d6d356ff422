/* SPDX-License-Identifier: MIT */
/*
 * Load buffering: two processors that load and then store cannot both load what the other stores,
 * while instructions are executed in program order. x86-TSO forbids it; POWER and Alpha hardware
 * allow it, and scheduled_shapes.pml shows it. Paper: T 7.5.
 *
 *	processor A		processor B
 *	x = alpha		y = beta
 *	beta = 1		alpha = 1
 * At most 168 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/machine.pml"
#define ALPHA 0
#define BETA 1

byte x, y;

#define FORBIDDEN (x == 1 && y == 1)
#include "outcome.pml"

active proctype processor_A()
{
	x = LOAD(0, ALPHA);
	STORE(0, BETA, 1);
	END
}

active proctype processor_B()
{
	y = LOAD(1, BETA);
	STORE(1, ALPHA, 1);
	END
}
