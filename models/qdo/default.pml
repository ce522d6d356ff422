/* SPDX-License-Identifier: MIT */
/*
 * The default instance, as shipped: made by the first thread that asks for it, found by the others.
 * C: rcu/qdo/host/instance.c qdo_default(). Paper: Q 3.1.2.
 *
 *	a thread				| another thread, the same
 *	address (acquire) [qdo.default:B]	|
 *	  not 0: use the instance		|
 *	lock; address again			|
 *	  0: make the instance			|
 *	     address (release) [qdo.default:A]	|
 *	unlock; use the instance		|
 *
 * Proved: whoever has the address finds the instance whole, and there is one instance.
 *
 * Mutants: DEFAULT_RELAXED (the address is stored without release), DEFAULT_READ_RELAXED (it is
 * loaded without acquire) and DEFAULT_UNLOCKED (nobody takes the lock) are caught by an assertion.
 *
 * Bounds: two threads, one call each; an instance is one word. Not modelled: an instance that
 * cannot be made. 180 states.
 */
#define CPUS 2
#define VARS 2
#include "../machine/machine.pml"
#define ADDRESS 0
#define INSTANCE 1

bit locked;
byte made;

#ifdef COVER_FOUND
#define COVER_FIND assert(false)
#else
#define COVER_FIND skip
#endif

inline lock()
{
#ifndef MUTANT_DEFAULT_UNLOCKED
	atomic { !locked -> locked = 1; barrier_(cpu) }
#else
	skip
#endif
}

inline unlock()
{
	atomic { barrier_(cpu); locked = 0 }
}

proctype thread(byte cpu)
{
	byte address, instance;

#ifdef MUTANT_DEFAULT_READ_RELAXED
	address = LOAD(cpu, ADDRESS); /* [qdo.default:B] */
#else
	LOAD_ACQUIRE(cpu, ADDRESS, address); /* [qdo.default:B] */
#endif
	if
	:: address -> COVER_FIND
	:: else ->
		lock();
		address = LOAD(cpu, ADDRESS);
		if
		:: address
		:: else ->
			made++;
			assert(made == 1);
			STORE(cpu, INSTANCE, 1);
#ifdef MUTANT_DEFAULT_RELAXED
			STORE(cpu, ADDRESS, 1); /* [qdo.default:A] */
#else
			STORE_RELEASE(cpu, ADDRESS, 1); /* [qdo.default:A] */
#endif
		fi;
		unlock()
	fi;
	instance = LOAD(cpu, INSTANCE);
	assert(instance == 1)
}

init
{
	atomic { run thread(0); run thread(1) }
}
