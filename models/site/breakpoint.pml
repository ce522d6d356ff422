/* SPDX-License-Identifier: MIT */
/*
 * The papers' way to change an instruction of several bytes while CPUs execute it: by a temporary
 * breakpoint. Lull does not use it (docs/adr/0008); this model shows what each of its steps is for,
 * and why Lull does not use it. Paper: T 8.3, 9.1.
 *
 *	patcher                  | a CPU that executes, an NMI on it
 *	first byte: breakpoint   | fetch the first byte
 *	synchronize the cores    |   breakpoint: the handler acts for the instruction
 *	the other bytes: new     |   else fetch the other bytes
 *	synchronize the cores    |   execute the whole
 *	first byte: new          | (synchronization: throw away what was fetched, begin again)
 *	synchronize the cores    |
 *
 * Each CPU has a stale copy of each of the two parts, which is renewed at any time, part by part,
 * and by the synchronization, which also restarts an instruction that is fetched in part. Memory
 * is sequentially consistent: the patcher issues one store at a time and synchronizes between.
 *
 * Proved, by assertions: no CPU executes the first part of one instruction with the second of
 * another; once the call has returned, only the new instruction is executed, and no breakpoint. No
 * CPU that executes waits.
 *
 * Mutants that an assertion catches: NO_BREAKPOINT (the step with the breakpoint is left out),
 * REST_FIRST (the other bytes are stored before it), NO_SYNC_AFTER_BREAKPOINT, NO_SYNC_AFTER_REST
 * and NO_SYNC_AT_END (one synchronization is left out).
 *
 * Two runs that fail show limits. SEVERAL_INSTRUCTIONS: two instructions are replaced, and a thread
 * that was preempted between them returns into the middle of the new one, synchronized or not.
 * SIGNAL_BLOCKED: in user space the breakpoint is a signal, which a thread may block.
 *
 * Bounds: two CPUs that execute, one of them twice (an NMI that interrupts the other anywhere
 * interleaves less); there and back for ever. Not modelled: the handler's own code. 383 thousand
 * states in 1 s.
 */
#define CPUS 2

/* First byte, other bytes: of the instruction numbered 0 or 1; or a breakpoint in its place. */
#define BREAKPOINT 2
byte head;
bit rest;
byte fetched_head[CPUS];
bit fetched_rest[CPUS];
bit restarted[CPUS]; /* what is being fetched on this CPU is thrown away: a bit, two executors */
bit restarted_nmi;
bit core_wanted[CPUS];
byte settled; /* the instruction that the last call to return stored */
#define NOTHING 2

#define SYNCHRONIZED(cpu) \
	:: d_step { core_wanted[cpu] -> core_wanted[cpu] = 0; \
		fetched_head[cpu] = head; fetched_rest[cpu] = rest; \
		restarted[cpu] = 1; restarted_nmi = restarted_nmi || (cpu) == 1 }

active proctype cores()
{
end:	do
	:: d_step { fetched_head[0] != head -> fetched_head[0] = head }
	:: d_step { fetched_rest[0] != rest -> fetched_rest[0] = rest }
	:: d_step { fetched_head[1] != head -> fetched_head[1] = head }
	:: d_step { fetched_rest[1] != rest -> fetched_rest[1] = rest }
	SYNCHRONIZED(0)
	SYNCHRONIZED(1)
	od
}

#ifdef COVER_BYPASS
#define COVER_HANDLER assert(false)
#else
#define COVER_HANDLER skip
#endif

inline execute(cpu, was_restarted)
{
end:	do
	:: d_step { was_restarted = 0; before = settled; found = fetched_head[cpu] };
		if
		:: found == BREAKPOINT ->
#ifdef SIGNAL_BLOCKED
			assert(false); /* the kernel kills a thread that blocks SIGTRAP */
#endif
			COVER_HANDLER;
			assert(before == NOTHING) /* the handler may be taken away again */
#ifdef SEVERAL_INSTRUCTIONS
		:: found == 0 -> /* that was one instruction; here it may be preempted */
			d_step { assert(fetched_rest[cpu] == 0); found = 0 }
		:: found == 1 ->
#else
		:: else ->
#endif
			if
			:: was_restarted && found != BREAKPOINT
			:: atomic { !was_restarted -> assert(fetched_rest[cpu] == found);
				assert(before == NOTHING || before == found) }
			fi
		fi;
		d_step { found = 0; before = 0 }
	od
}

active proctype thread()
{
	byte found, before;

	execute(0, restarted[0])
}

active proctype other()
{
	byte found, before;

	execute(1, restarted[1])
}

active proctype nmi()
{
	byte found, before;

	execute(1, restarted_nmi)
}

inline core_synchronize()
{
	d_step { core_wanted[0] = 1; core_wanted[1] = 1 };
	d_step { !core_wanted[0] && !core_wanted[1] -> skip }
}

inline instruction_change(new)
{
	settled = NOTHING;
#ifdef MUTANT_REST_FIRST
	rest = new;
#endif
#ifndef MUTANT_NO_BREAKPOINT
	head = BREAKPOINT;
#ifndef MUTANT_NO_SYNC_AFTER_BREAKPOINT
	core_synchronize();
#endif
#endif
	rest = new;
#ifndef MUTANT_NO_SYNC_AFTER_REST
	core_synchronize();
#endif
	head = new;
#ifndef MUTANT_NO_SYNC_AT_END
	core_synchronize();
#endif
	settled = new
}

active proctype patch()
{
end:	do
	:: instruction_change(1);
		instruction_change(0)
	od
}
