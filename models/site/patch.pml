/* SPDX-License-Identifier: MIT */
/*
 * A site is patched while threads run through it: one short store, no breakpoint.
 * Paper: T 8.3, O 4.1; docs/design/20-site.md, docs/adr/0008. C: user/objects.c
 * lull_probe_enable(), text_found(); core/site/patch.c; port/user/text.c;
 * core/include/lull/trace.h LULL_PROBE.
 *
 *	patcher                      | a thread, on another CPU  | a signal handler, on the
 *	                             | (twice: a handler of its) | patcher's CPU
 *	record: id, interface        | fetch the first two bytes | the same
 *	enabled_mask [site.enable:A] |   no-op: go on            |
 *	text_open                    |   short jump:             |
 *	first bytes [site.store:A]   | fetch the other six: jump |
 *	text_close                   | mask [site.probe:A]       |
 *	text_sync [site.sync:A]      |   not 0: id, interface    |
 *	the same, to disable         |                           |
 *
 * Data is in the memory of the machine that is included. Beside it, each CPU has a stale copy of
 * the code that it fetched, which may be renewed at any time, and which only the synchronization of
 * the cores must renew. A copy is two bytes that are renewed together, because they lie in one
 * aligned word; the other six never change. That is x86-64; aarch64 is the same with one word
 * and no second jump. text_sync is a barrier on every CPU, then a renewal on every CPU.
 *
 * Proved, by assertions: in every order of store, fetch and synchronization, each CPU decodes the
 * no-op or the jump, and nothing else; a thread that is between the two jumps arrives; a probe that
 * runs sees its identifier and interface; code that begins after the call returned takes the new
 * way, and with the site enabled finds its mask. With -DNO_SYNC, for a kernel that offers no
 * synchronization, all of this holds but the last.
 *
 * Mutants that an assertion catches:
 *	MASK_EARLY		the mask is stored before the rest of the record
 *	MASK_RELAXED		the mask is stored without release
 *	MASK_READ_RELAXED	the mask is loaded without acquire (ALPHA shows this)
 *	BYTE_BY_BYTE		the two bytes are stored one after the other
 *	STRADDLES		the two bytes lie in different words
 *	TAIL_TOO		the other six bytes change too
 *	WRITE_OR_EXECUTE	the page cannot be executed while it is written
 *	NO_SYNC			text_sync is left out
 *	SYNC_DATA_ONLY		text_sync is a barrier, and renews no copy
 *
 * The store to the text orders nothing. A probe that runs finds its record complete because of the
 * mask, both at sites that are patched and at sites that test their record (SITE_LOAD), where
 * nothing is stored to text and nothing synchronizes.
 *
 * Bounds: one site, one session; enabled, disabled, for ever. Handlers of a thread are a second
 * thread of its CPU, which interleaves more. Not modelled: /proc/self/mem, which is for
 * processes of one thread; the contents of notes, which core/site/note_test.c checks. 260 thousand
 * states in 0.5 s at most (NO_SYNC).
 */
#define CPUS 2
#define VARS 4
#define ID 0
#define INTERFACE 1
#define MASK 2
#define CODE 3
#include "../machine/machine.pml"

/* What CODE holds: a bit for each of the first two bytes that is the jump's. */
#define FORM_NOP 0
#define FORM_JUMP 3

byte fetched[CPUS]; /* CODE, as this CPU last fetched it */
bit core_wanted[CPUS]; /* text_sync waits for this CPU */
bit executable = 1; /* the page of the site can be executed */
bit tail = 1; /* the last five bytes of the site are the jump to the probe */
byte settled; /* what the last call that returned promised; */
#define NOTHING 0 /* a call is under way, or none was made */
#define ENABLED 1
#define DISABLED 2

#ifdef MUTANT_STRADDLES
/* The two bytes lie in different words: they are fetched, and stored, one by one. */
#define FETCH(cpu) \
	:: d_step { fetched[cpu] = (fetched[cpu] & 2) | (LOAD(cpu, CODE) & 1) } \
	:: d_step { fetched[cpu] = (fetched[cpu] & 1) | (LOAD(cpu, CODE) & 2) }
#else
#define FETCH(cpu) :: d_step { fetched[cpu] != LOAD(cpu, CODE) -> fetched[cpu] = LOAD(cpu, CODE) }
#endif

/* Instruction fetch goes its own way, at its own time. */
active proctype cores()
{
end:	do
	FETCH(0)
	FETCH(1)
	:: d_step { core_wanted[0] -> core_wanted[0] = 0; fetched[0] = LOAD(0, CODE) }
	:: d_step { core_wanted[1] -> core_wanted[1] = 0; fetched[1] = LOAD(1, CODE) }
	od
}

#ifdef COVER_BETWEEN_JUMPS
#define COVER_TAIL assert(settled != DISABLED)
#else
#define COVER_TAIL skip
#endif
#ifdef COVER_EMPTY_MASK
#define COVER_MASK assert(mask != 0)
#else
#define COVER_MASK skip
#endif

proctype execute(byte cpu)
{
	byte before, mask;
	bit id, interface;

end:	do
#ifdef SITE_LOAD
	/* LULL_SITE_ENTER: tests the mask, no more. */
	:: mask = LOAD(cpu, MASK);
		if
		:: mask == 0 -> goto end
		:: else -> mask = 0
		fi;
#else
	:: atomic { before = settled;
		assert(executable); /* the program is not killed for running its own text */
		assert(fetched[cpu] == FORM_NOP || fetched[cpu] == FORM_JUMP); /* nor for these */
		assert(before != DISABLED || fetched[cpu] == FORM_NOP);
		assert(before != ENABLED || fetched[cpu] == FORM_JUMP);
		if
		:: fetched[cpu] == FORM_NOP -> before = 0; goto end
		:: else
		fi };
		/* Between the two jumps: this was fetched long before, or is now. */
		atomic { COVER_TAIL; assert(tail) };
#endif
#ifdef MUTANT_MASK_READ_RELAXED
		mask = LOAD(cpu, MASK);
#else
		LOAD_ACQUIRE(cpu, MASK, mask); /* [site.probe:A] */
#endif
		/* Its events are recorded from then on. */
		atomic { COVER_MASK; assert(before != ENABLED || mask); before = 0 };
		if
		:: mask -> mask = 0; id = LOAD(cpu, ID);
			interface = LOAD(cpu, INTERFACE);
			d_step { assert(id && interface); /* an event has its name, not another */
				id = 0; interface = 0 }
		:: else
		fi
	od
}

inline record_set()
{
#ifdef MUTANT_MASK_EARLY
	STORE(0, MASK, 1);
	STORE(0, ID, 1);
	STORE(0, INTERFACE, 1)
#else
	STORE(0, ID, 1);
	STORE(0, INTERFACE, 1);
#ifdef MUTANT_MASK_RELAXED
	STORE(0, MASK, 1)
#else
	STORE_RELEASE(0, MASK, 1) /* [site.enable:A] */
#endif
#endif
}

inline text_store(form)
{
#ifdef MUTANT_WRITE_OR_EXECUTE
	executable = 0;
#endif
#if defined(MUTANT_BYTE_BY_BYTE) || defined(MUTANT_STRADDLES)
	/* Not one store: each byte by itself. */
	STORE(0, CODE, form & 1);
#endif
#ifdef MUTANT_TAIL_TOO
	/* A no-op that does not carry its jump. */
	tail = form & 1;
#endif
	STORE(0, CODE, form); /* [site.store:A] */
#ifdef MUTANT_WRITE_OR_EXECUTE
	executable = 1
#else
	skip
#endif
}

inline text_sync()
{
#ifndef MUTANT_NO_SYNC
#ifndef NO_SYNC
	HEAVY_BEGIN(0); /* [site.sync:A] */
	HEAVY_END(0); /* [site.sync:A] */
#ifndef MUTANT_SYNC_DATA_ONLY
	d_step { core_wanted[0] = 1; core_wanted[1] = 1 }; /* [site.sync:A] */
	d_step { !core_wanted[0] && !core_wanted[1] -> skip };
#endif
#endif
#endif
	skip
}

#ifdef NO_SYNC
#define RETURN(promise) skip
#else
#define RETURN(promise) settled = promise
#endif

proctype patch()
{
	record_set();
#ifndef SITE_LOAD
end:	do
	:: text_store(FORM_JUMP);
		text_sync();
		RETURN(ENABLED);
		settled = NOTHING;
		text_store(FORM_NOP);
		text_sync();
		RETURN(DISABLED);
		settled = NOTHING
	od
#endif
}

init
{
	atomic {
		run patch();
		run execute(0);
		run execute(1);
		run execute(1)
	}
}
