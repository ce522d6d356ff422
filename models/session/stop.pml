/* SPDX-License-Identifier: MIT */
/*
 * The end of a session, and pauses before it: one flag for all CPUs, then a drain, no grace period.
 * Papers: B 3.4, T 4.6.1. C: user/probe.c reserve(), commit(), core/ring lull_ring_close(). Rust:
 * tools/session set_active(), tools/consumer Consumer::pause_probes(), resume_probes(), finish(),
 * close_rings(), drain_all(), Drain::flush_open(), Drain::rescue().
 *
 *	recorder                             | a thread of a traced process, on each CPU
 *	read each ring now and then          | not active: nothing
 *	  (PAUSE: active = 0, active = 1)    |
 *	active = 0 (finish)                  | reserve, or count the event as lost
 *	read each ring until nothing is      | fill in
 *	  open, or patience is over: what is | commit
 *	  open then is counted lost          | (it may die at any step)
 *	the verdict                          |
 *
 * The ring is a row of slots, each reserved, committed, read or counted in one step: models/ring
 * proves that a ring behaves so. The flag is a word of the machine: a thread may see it late.
 *
 * Proved, by assertions: every event that is reserved before the last active = 0 is stored is in
 * the trace or counted as lost when the verdict is written, even if threads die, and also where a
 * thread sees a pause late and reserves in it; no thread touches memory that is gone, because a
 * process never unmaps its sessions and the recorder only removes names.
 *
 * Not promised without more (STRICT, a run that fails): a thread that found the session active may
 * reserve after the recorder last read its ring, and no count contains that event. With the grace
 * period of the papers' tracer (GRACE), stop waits for these threads and no event is left out.
 *
 * CLOSE, as shipped, ends that without a grace period (lull_ring_close()): a thread loads the
 * ring's write count first and looks at the flag then [session.close:B], and the recorder moves
 * each write count after it has stored active = 0 [session.close:A], on the ring's CPU. A
 * reservation succeeds only if the write count is what was loaded; so either it was there before
 * the recorder moved it, and is read, or the thread loads the write count again, and then sees the
 * flag. FLAG_FIRST: the flag is looked at before the write count is loaded. CLOSED_FROM_AFAR: the
 * recorder moves it from another CPU, unordered.
 *
 * Mutants that an assertion catches: STOP_LAST (the recorder drains before it stores active = 0),
 * LEFT_OPEN (an open slot is not counted as lost), PAUSED_UNREAD (a session that is stopped in a
 * pause is not drained, for nothing is recorded in a pause), UNMAPPED (a process unmaps its
 * sessions), TRUNCATED (the recorder truncates the files).
 *
 * Bounds: two CPUs with a ring and a thread each, EVENTS events per thread, one pause; any
 * patience. Not modelled: --max-size, snapshots, packets. 0.5 million states in 3 s (ALPHA).
 */
#define CPUS 3
#define VARS 1
#define ACTIVE 0
#define RECORDER 0
#include "../machine/machine.pml"
#include "section.pml"

#ifndef EVENTS
#define EVENTS 2
#endif

/* What became of an event. */
#define NONE 0
#define OPEN 1
#define COMMITTED 2
#define READ 3
#define LOST 4
byte slot[2 * EVENTS];
bit early[2 * EVENTS]; /* reserved before active was stored */
#define SLOT(cpu, i) (((cpu) - 1) * EVENTS + (i))

byte position[CPUS]; /* a ring's write count: only what runs on its CPU moves it */
bit begun; /* the session is mapped and active: what comes before is attach.pml's */
bit stopping; /* active was stored */
bit closed[CPUS]; /* the recorder has looked at this ring for the last time */
bit mapped = 1; /* the process has the session's memory */
bit present = 1; /* the files have their pages */
hidden byte i_;
hidden byte open_;

/* Looks at the flag. CLOSE: a reservation succeeds only where its ring has not moved since. */
#ifndef CLOSE
#define LOOK found = LOAD(cpu, ACTIVE)
#define MOVE skip
#define HAS_MOVED false
#else
#define MOVE position[cpu] == seen -> position[cpu]++
#define HAS_MOVED position[cpu] != seen
#ifdef MUTANT_FLAG_FIRST
#define LOOK found = LOAD(cpu, ACTIVE); seen = position[cpu]
#else
#define LOOK seen = position[cpu]; found = LOAD(cpu, ACTIVE)
#endif
#endif

proctype thread(byte cpu)
{
	byte count;
	byte seen;
	bit found;

	begun;
	do
	:: count == EVENTS -> break
	:: count < EVENTS ->
		assert(mapped && present); /* the program is not killed by its tracer */
again:		LOOK;
		if
		:: !found
		:: else -> assert(mapped && present);
			if
			:: HAS_MOVED -> goto again /* and nothing was stored */
			:: atomic { MOVE; slot[SLOT(cpu, count)] = OPEN;
				early[SLOT(cpu, count)] = !stopping;
#ifdef STRICT
				assert(!closed[cpu]); /* else no one would read it */
#endif
				};
				if
				:: d_step { assert(mapped && present);
					if
					:: slot[SLOT(cpu, count)] == OPEN ->
						slot[SLOT(cpu, count)] = COMMITTED
					:: else /* too late, and counted */
					fi }
				:: break /* it dies */
				fi
			:: slot[SLOT(cpu, count)] = LOST /* no room */
			:: break /* it dies */
			fi
		fi;
		d_step { count++; found = 0; seen = 0 }
	:: SCHEDULE(cpu)
	od;
	atomic { count = 0; found = 0; seen = 0 };
end:	do
	:: SCHEDULE(cpu)
	od
}

/* Slots are read in order, up to the first that is open; open_ tells whether there is one. */
inline look(cpu)
{
	open_ = 0;
	for (i_ : 0 .. EVENTS - 1) {
		if
		:: slot[SLOT(cpu, i_)] == OPEN -> open_ = 1
		:: slot[SLOT(cpu, i_)] == COMMITTED && !open_ -> slot[SLOT(cpu, i_)] = READ
		:: else
		fi
	};
	i_ = 0
}

/* Patience is over. */
inline lose(cpu)
{
	for (i_ : 0 .. EVENTS - 1) {
		if
#ifndef MUTANT_LEFT_OPEN
		:: slot[SLOT(cpu, i_)] == OPEN -> slot[SLOT(cpu, i_)] = LOST
#endif
		:: slot[SLOT(cpu, i_)] == COMMITTED -> slot[SLOT(cpu, i_)] = READ
		:: else
		fi
	};
	i_ = 0
}

#ifdef COVER_LOST
#define COVER_LOSE assert(false)
#else
#define COVER_LOSE skip
#endif
#ifdef COVER_WAITED
#define COVER_WAIT assert(!waited)
#else
#define COVER_WAIT skip
#endif

inline drain_to_end(cpu)
{
	do
	:: atomic { d_step { look(cpu) };
		if
		:: !open_ -> COVER_WAIT; waited = 0; closed[cpu] = 1; break
		:: open_ -> waited = 1
		fi }
	:: atomic { waited -> COVER_LOSE; d_step { lose(cpu); waited = 0 };
		closed[cpu] = 1; break }
	od;
	skip /* a d_step may follow, which nothing may jump into */
}

/*
 * The recorder runs on the ring's CPU, and there reserves what is left of a sub-buffer. That it
 * came there is a full barrier on that CPU.
 */
inline close(cpu)
{
#ifdef MUTANT_CLOSED_FROM_AFAR
	position[cpu]++
#else
	d_step { barrier_(RECORDER); barrier_(cpu); position[cpu]++ }
#endif
}

inline stop()
{
	atomic { STORE(RECORDER, ACTIVE, 0); stopping = 1 };
#ifdef GRACE
	synchronize();
#endif
#ifdef CLOSE
	close(1);
	close(2);
#endif
#ifdef MUTANT_UNMAPPED
	mapped = 0 /* by the process, which has seen that it is over */
#else
	skip
#endif
}

#define IS_ACCOUNTED(i) (!early[i] || slot[i] == READ || slot[i] == LOST)

active proctype recorder()
{
	bit waited;
	bit paused;
	bit resumed;

	atomic { STORE(RECORDER, ACTIVE, 1); run thread(1); run thread(2) };
	/* Programs start after it, and so find the session active. */
	d_step { barrier_(RECORDER); barrier_(1); barrier_(2); begun = 1 };
	do
	:: d_step { look(1) }
	:: d_step { look(2) }
#ifdef PAUSE
	:: atomic { !paused && !resumed -> STORE(RECORDER, ACTIVE, 0); paused = 1 }
	:: atomic { paused -> STORE(RECORDER, ACTIVE, 1); paused = 0; resumed = 1 }
#endif
	:: break
	od;
#ifdef MUTANT_STOP_LAST
	drain_to_end(1);
	drain_to_end(2);
	stop();
#else
	stop();
#ifdef MUTANT_PAUSED_UNREAD
	if
	:: paused
	:: else -> drain_to_end(1); drain_to_end(2)
	fi;
#else
	drain_to_end(1);
	drain_to_end(2);
#endif
#endif
	/* The verdict. Every event until the end is there or counted. */
	d_step {
		for (i_ : 0 .. 2 * EVENTS - 1) {
			assert(IS_ACCOUNTED(i_))
		};
		i_ = 0
	};
#ifdef MUTANT_TRUNCATED
	present = 0;
#endif
	skip
}
