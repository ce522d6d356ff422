/* SPDX-License-Identifier: MIT */
/*
 * Store buffering, for the tests of the runner: what the machines of models/machine do by
 * themselves has to come out of a counter-example in words. The label is the ring's, to have one.
 *
 *	left		right
 *	LEFT = 7	RIGHT = 7
 *	barrier		barrier
 *	read RIGHT	read LEFT
 */
#define CPUS 2
#define VARS 2
#define LEFT 0
#define RIGHT 1
#include "../machine/machine.pml"

byte saw_right;
byte saw_left;
byte done;

active proctype left()
{
	STORE(0, LEFT, 7); /* [ring.commit:B] */
#ifndef MUTANT_NO_BARRIER
	SMP_MB(0);
#endif
	saw_right = LOAD(0, RIGHT);
	done++
}

active proctype right()
{
	STORE(1, RIGHT, 7);
	SMP_MB(1);
	saw_left = LOAD(1, LEFT);
	done++
}

active proctype outcome()
{
	done == 2;
	assert(saw_left == 7 || saw_right == 7)
}
