/* SPDX-License-Identifier: MIT */
/*
 * Probes of one object at the sites of another: the papers' markers and tracepoints, where a
 * module connects its probe to a site of the kernel and is unloaded later. Lull's own probes
 * belong to the site's object and need none of this (unload.pml). Paper: T 8.1, 8.2, O 4.1.
 *
 *	the thread that connects        | a site
 *	argument                        | section begins
 *	probe = this one (release)      |   probe (dependency)
 *	...                             |   not none: call it with its argument
 *	probe = none                    | section ends
 *	grace period                    |
 *	the module and its memory go    |
 *
 * Proved, by assertions: no site calls a probe that is gone, or finds its memory used for
 * something else; a probe that runs has its argument.
 *
 * Mutants that an assertion catches: PUBLISH_EARLY (the probe is stored before its argument),
 * PUBLISH_RELAXED (it is stored without release), DEPENDENCY_LOST (it is loaded without acquire;
 * ALPHA shows this), NO_GRACE (the module goes without a grace period).
 *
 * Bounds: one site on one CPU, for ever; handlers nest as sections of the same CPU, which cannot
 * end a grace period. 0.1 s.
 */
#define CPUS 2
#define VARS 2
#define PROBE 0
#define ARGUMENT 1
#include "../machine/machine.pml"
#include "../session/section.pml"

bit loaded; /* the module is in memory */

#ifdef COVER_CALLED
#define COVER_CALL assert(false)
#else
#define COVER_CALL skip
#endif

active proctype site()
{
	bit probe, argument;

end:	do
	::
#ifdef MUTANT_DEPENDENCY_LOST
		probe = LOAD(1, PROBE);
#else
		LOAD_ACQUIRE(1, PROBE, probe);
#endif
		if
		:: probe -> COVER_CALL;
			assert(loaded); /* the jump leads to code */
			argument = LOAD(1, ARGUMENT);
			d_step { assert(loaded && argument); probe = 0; argument = 0 }
		:: else
		fi
	:: SCHEDULE(1)
	od
}

active proctype connect()
{
end:	do
	:: loaded = 1;
#ifdef MUTANT_PUBLISH_EARLY
		STORE(0, PROBE, 1);
		STORE(0, ARGUMENT, 1);
#else
		STORE(0, ARGUMENT, 1);
#ifdef MUTANT_PUBLISH_RELAXED
		STORE(0, PROBE, 1);
#else
		STORE_RELEASE(0, PROBE, 1);
#endif
#endif
		STORE(0, PROBE, 0);
#ifndef MUTANT_NO_GRACE
		synchronize();
#endif
		STORE(0, ARGUMENT, 0); /* its memory gets another use */
		loaded = 0
	od
}
