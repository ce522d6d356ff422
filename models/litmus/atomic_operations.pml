/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations on one word by two CPUs lose no update, and a word that only one CPU adds to
 * loses none by ADD_LOCAL.
 *
 *	processor A		processor B
 *	count += 1		count += 1
 *	own += 1, twice		z = own, twice
 *
 * The addition is ADD or ADD_RELEASE or a loop of CAS, chosen for each CPU separately.
 * MUTANT_LOAD_AND_STORE adds by a load and a store, and an assertion catches the lost update.
 * At most 1,464 states, 0 seconds.
 */
#define CPUS 2
#define VARS 2
#include "../machine/machine.pml"
#define COUNT 0
#define OWN 1

byte old_a, old_b, found_a, found_b, z_1, z_2;

#define FORBIDDEN (mem[COUNT] != 2 || mem[OWN] != 2 || z_2 < z_1)
#define SEEN (z_1 == 0 && z_2 == 2)
#include "outcome.pml"

inline add_one(cpu, old, found)
{
#ifdef MUTANT_LOAD_AND_STORE
	old = LOAD(cpu, COUNT);
	STORE(cpu, COUNT, old + 1);
#else
	if
	:: ADD(cpu, COUNT, 1, old)
	:: ADD_RELEASE(cpu, COUNT, 1, old)
	:: do
	   :: old = LOAD(cpu, COUNT);
	      CAS(cpu, COUNT, old, old + 1, found);
	      if
	      :: found == old -> break /* no other store came between */
	      :: else
	      fi
	   od
	fi;
#endif
	old = 0;
	found = 0
}

active proctype processor_A()
{
	add_one(0, old_a, found_a);
	ADD_LOCAL(0, OWN, 1, old_a);
	ADD_LOCAL(0, OWN, 1, old_a);
	old_a = 0;
	END
}

active proctype processor_B()
{
	add_one(1, old_b, found_b);
	z_1 = LOAD(1, OWN);
	z_2 = LOAD(1, OWN);
	END
}
